"""Two sets of rows made into one: all rows, sets of rows, pairs of rows with the same key."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.measures.fields import identifier
from ameles.query.row_set import Attached, BoundedRows, RowSet, fair_rows, stable
from ameles.query.row_source import RowSource


@dataclass(frozen=True, eq=False)
class TwoSets(RowSet, ABC):
    """What is made of two relations."""

    left: RowSet
    right: RowSet

    @property
    def sources(self) -> tuple[BoundedRows, ...]:
        return (*self.left.sources, *self.right.sources)

    @property
    def read(self) -> tuple[RowSource, ...]:
        return (*self.left.read, *self.right.read)

    @property
    def payer(self) -> object | None:
        return self.left.payer if self.left.payer is self.right.payer else None


@dataclass(frozen=True, eq=False)
class Combined(TwoSets):
    """Two relations with the same columns: all rows of both, or a set made of them."""

    how: str

    def __post_init__(self) -> None:
        if dict(self.left.columns) != dict(self.right.columns):
            raise BadInput(
                f"Both sides of {self.how} must have the same columns, of the same kinds.",
                tip="select(...) the same columns on both sides",
            )

    @property
    def columns(self) -> Mapping[str, str]:
        return self.left.columns

    @property
    def stability(self) -> int:
        return stable(self.left.stability + self.right.stability)

    @property
    def monotone(self) -> bool:
        return self.how != "except" and self.left.monotone and self.right.monotone

    @property
    def user(self) -> str | None:
        return self.left.user if self.left.user == self.right.user else None

    def sql(self, attached: Attached) -> str:
        word = {"union": "UNION ALL", "intersect": "INTERSECT", "except": "EXCEPT"}[self.how]
        left, right = (
            f"SELECT {self.listed} FROM (SELECT {side.alike} FROM ({side.sql(attached)}))"
            for side in (self.left, self.right)
        )
        return f"({left}) {word} ({right})"

    def to_dict(self) -> dict[str, Any]:
        return {self.how: [self.left.to_dict(), self.right.to_dict()]}


@dataclass(frozen=True, eq=False)
class Join(TwoSets):
    """Pairs of rows with the same key, of at most ``at_most`` rows of a key on each side."""

    on: tuple[str, ...]
    at_most: tuple[int, int] | None  # None: on the user, whose rows are bounded already

    @property
    def columns(self) -> Mapping[str, str]:
        right = {n: k for n, k in self.right.columns.items() if n not in self.on}
        return {**self.left.columns, **right}

    @property
    def stability(self) -> int:
        left, right = self.left.stability, self.right.stability
        if self.at_most is None:
            return stable(left * right)
        most_left, most_right = self.at_most
        return stable(2 * left * most_right + 2 * right * most_left)

    @property
    def monotone(self) -> bool:
        return self.at_most is None and self.left.monotone and self.right.monotone

    @property
    def user(self) -> str | None:
        both = self.left.user is not None and self.left.user == self.right.user
        return self.left.user if both and self.left.user in self.on else None

    @property
    def read(self) -> tuple[RowSource, ...]:
        once = super().read
        # rows of a key are counted before they are chosen
        return once if self.at_most is None else once * 2

    def sql(self, attached: Attached) -> str:
        keys = ", ".join(identifier(key) for key in self.on)
        sides = []
        for place, side in enumerate((self.left, self.right)):
            rows = side.sql(attached)
            if self.at_most is not None:
                salt, most = side.sources[0].salt, self.at_most[place]
                rows = fair_rows(attached.tables, side, rows, self.on, most, salt)
            sides.append(f"({rows}) AS side_{place}")
        return f"SELECT {self.listed} FROM {sides[0]} JOIN {sides[1]} USING ({keys})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "join": [self.left.to_dict(), self.right.to_dict()],
            "on": list(self.on),
            "at_most": None if self.at_most is None else list(self.at_most),
        }
