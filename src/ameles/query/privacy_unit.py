"""Who a table protects: single rows, or users with a bound on how much each may add.

Users are bounded at the source, before anything is filtered, joined or grouped: which rows of a
user count depends on that user's rows alone.

>>> RowUnit().stability, UserUnit(user="id", max_rows=3).stability
(1, 3)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, USER, Unit
from ameles.core.parameters import refuse, whole

MOST_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class RowUnit:
    """Each row belongs to a different person: nobody can tell whether one row is in the table."""

    @property
    def unit(self) -> Unit:
        """As ledgers call it."""
        return EVENT

    @property
    def user(self) -> None:
        """Rows have no users."""
        return None

    @property
    def stability(self) -> int:
        """How many rows one unit may change."""
        return 1

    @property
    def max_groups(self) -> int:
        """How many parts of a partition one unit may be in."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for the question that is stored."""
        return {"unit": "row"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UserUnit:
    """All rows of a user together: at most ``max_rows`` of them count.

    ``max_groups`` is the most parts of a partition that rows of one user may be in.
    """

    user: str
    max_rows: int
    max_groups: int = 0  # 0: as many as rows

    def __post_init__(self) -> None:
        if not self.user:
            raise refuse("user", "the name of a column", self.user)
        rows = whole(self.max_rows, "max_rows", low=1, high=MOST_ROWS)
        object.__setattr__(self, "max_rows", rows)
        groups = whole(self.max_groups or rows, "max_groups", low=1, high=rows)
        object.__setattr__(self, "max_groups", groups)

    @property
    def unit(self) -> Unit:
        """As ledgers call it."""
        return USER

    @property
    def stability(self) -> int:
        """How many rows one unit may change."""
        return self.max_rows

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for the question that is stored."""
        return {
            "unit": "user",
            "user": self.user,
            "max_rows": self.max_rows,
            "max_groups": self.max_groups,
        }


PrivacyUnit = RowUnit | UserUnit


def privacy_unit(
    unit: str, *, user: str | None, max_rows: int | None, max_groups: int | None
) -> PrivacyUnit:
    """The unit that these arguments describe; missing and unused arguments are refused."""
    if unit == "row":
        if (user, max_rows, max_groups) != (None, None, None):
            raise BadInput(
                "The unit 'row' has no user, max_rows or max_groups.",
                why="every row is protected by itself",
                tip='unit="user" if several rows may belong to one person',
            )
        return RowUnit()
    if unit != "user":
        raise refuse("unit", '"row" or "user"', unit)
    if user is None or max_rows is None:
        raise BadInput(
            "The unit 'user' needs the column that names the user, and max_rows.",
            why="without a bound one person could have any number of rows, which no noise hides",
            tip='unit="user", user="id", max_rows=3',
        )
    return UserUnit(user=user, max_rows=max_rows, max_groups=max_groups or 0)
