"""Endings: what is asked of a relation, which mechanism answers it, and what is published.

An ending is checked against the columns of its relation before anything is paid.  It names one
mechanism, which the account buys.  Then ``answer`` looks at the data, gives exact numbers to the
run, and turns what it releases into rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from ameles.core.guarantee import EVENT, Neighbours, Unit
from ameles.core.loss import EpsilonLoss
from ameles.core.words import brief
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.run import Run
from ameles.query.look import TableLook
from ameles.query.row_set import RowSet

AnyRun = Run[Any, Any]
Value = int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """One published value; the true one is from ``low`` to ``high`` with probability 95%.

    Without ``high`` the interval has no end; without ``low`` there is none.  The interval is about
    the value, unless ``interval_of`` of the answer says otherwise.
    """

    key: tuple[str, ...] = ()
    value: Value
    low: int | float | None = None
    high: int | float | None = None

    @property
    def value_in_words(self) -> str:
        """The value as people read it."""
        return self.value if isinstance(self.value, str) else brief(self.value)

    @property
    def interval_in_words(self) -> str:
        """The interval as people read it; empty if there is none."""
        if self.low is None:
            return ""
        return f"{brief(self.low)} " + (
            "or more" if self.high is None else f"to {brief(self.high)}"
        )


def key_of(text: str, columns: int) -> tuple[str, ...]:
    """The values of a cell's key, one for each column.

    >>> key_of("north/true", 2), key_of("and/or", 1), key_of("", 0)
    (('north', 'true'), ('and/or',), ())
    """
    if columns == 0:
        return ()
    return (text,) if columns == 1 else tuple(text.split("/"))


def comes_and_goes(unit: Unit) -> Neighbours:
    """The neighbours of tables: a row, or a user with all rows, is added or removed.

    >>> comes_and_goes(EVENT).value, comes_and_goes(Unit.tagged("user")).value
    ('add-remove', 'user-presence')
    """
    return Neighbours.ADD_REMOVE if unit == EVENT else Neighbours.USER_PRESENCE


class Ending(ABC):
    """The end of a query."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The method that a person called."""

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the columns of a row's key."""
        return ()

    @property
    def value_name(self) -> str:
        """What the value is, in a table of answers."""
        return "value"

    @property
    def interval_of(self) -> str:
        """What the published interval is about, if it is not the value."""
        return ""

    @property
    def interval_if(self) -> str:
        """The public assumption that the published interval needs, if there is one."""
        return ""

    @abstractmethod
    def check(self, relation: RowSet, unit: Unit) -> None:
        """Refuses a question that this relation cannot answer."""

    @abstractmethod
    def recipe(self, relation: RowSet, unit: Unit, loss: EpsilonLoss) -> AnyMechanism:
        """The mechanism that answers, with a loss of at most ``loss``."""

    @abstractmethod
    def answer(self, look: TableLook, recipe: AnyMechanism, run: AnyRun) -> tuple[AnswerRow, ...]:
        """What is published."""

    @abstractmethod
    def half_width(self, relation: RowSet, recipe: AnyMechanism) -> float:
        """The half-width of the interval of the quantity that ``about`` names, before there is
        data."""

    @property
    def per_row(self) -> bool:
        """Whether the interval shrinks with the number of rows, like that of an average."""
        return False

    @property
    def about(self) -> str:
        """The quantity that ``half_width`` is about."""
        return "the value"

    def interval_in_words(self, recipe: AnyMechanism, half: float) -> str:
        """The interval, before there is data."""
        return f"{self.about}, give or take {brief(half)}, with 95%"

    def notes(self, recipe: AnyMechanism) -> tuple[tuple[str, str], ...]:
        """Further lines of an explanation: what each is about, and what it says."""
        return ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What was asked, as plain public data."""
