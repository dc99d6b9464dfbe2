"""How often each user was used: a user counts in so many steps, the first ones, and no more.

A user has one canonical id, as in plans: the number 7 is the user "7", whether it is written 7, 7.0
or "7".  A value without such a form is no id: an empty text, a fraction, a boolean, nothing.  Rows
without an id count nowhere; a refusal would tell that somebody has such a row.

>>> limit = UserLimit(1)
>>> [limit.admit([7, "7", None, "ann"]), limit.admit(["ann", "bob"])]
[[0, 0, None, 1], [None, 0]]
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import numpy as np

EXACT = 1 << 53  # below it a float stands for one integer


class UserLimit:
    """Counts the steps in which each user was used; this is as secret as the users themselves."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.used: dict[str, int] = {}  # in how many steps each user was used

    def __repr__(self) -> str:
        return f"<limit of {self._most} steps for each user>"

    def admit(self, users: Iterable[object]) -> list[int | None]:
        """Takes one step: for each row the place of its user among those who may be used."""
        ids = [user_id(user) for user in users]
        fresh = [one for one in dict.fromkeys(ids) if one is not None]
        fresh = [one for one in fresh if self.used.get(one, 0) < self._most]
        for one in fresh:
            self.used[one] = self.used.get(one, 0) + 1
        places: dict[str | None, int] = {one: place for place, one in enumerate(fresh)}
        return [places.get(one) for one in ids]


def user_id(value: object) -> str | None:
    """The canonical id of a user; None if this is no id.

    >>> [user_id(value) for value in (7, 7.0, "7", "", 0.5, True, None)]
    ['7', '7', '7', None, None, None, None]
    """
    match value:
        case str():
            sound = value and "\ufffd" not in value and not any(map(_surrogate, value))
            return str(value) if sound else None
        case bool() | np.bool_():
            return None
        case int() | np.integer():
            try:
                return str(int(value))
            except ValueError:  # more digits than Python agrees to print
                return None
        case float() | np.floating():
            number = float(value)
            exact = abs(number) < EXACT and number == int(number)
            return str(int(number)) if exact else None
        case UUID():
            return str(value)
    return None


def _surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"
