"""Declared keys: the public cells that an event may count in, as texts, indices and SQL.

An event is in exactly one cell of the product of its columns, or in none.  A key that appears only
when data arrives would reveal who is in the data, so all keys are declared.

>>> keys = Keys({"region": ("north", "south"), "adult": ("true", "false")}, other=False)
>>> keys.names
('north/true', 'north/false', 'south/true', 'south/false')
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from ameles.measures.bins import Bins
from ameles.measures.fields import identifier, literal

OTHER = "other"
MOST = 1 << 20


@dataclass(frozen=True)
class Keys:
    """The product of the declared values of some columns and the bins of one more column.

    ``other`` adds one value to each column, but not to clamped bins, which every value is in.
    """

    columns: Mapping[str, tuple[str, ...]]
    other: bool
    bins: Bins | None = None

    @property
    def values(self) -> tuple[tuple[str, ...], ...]:
        """For each column its values, with "other" last."""
        more = (OTHER,) if self.other else ()
        columns = [(*declared, *more) for declared in self.columns.values()]
        if self.bins is not None:
            columns.append((*self.bins.labels, *(() if self.bins.clamped else more)))
        return tuple(columns)

    @property
    def size(self) -> int:
        """The number of cells; one if nothing is declared."""
        return math.prod(len(values) for values in self.values)

    @property
    def names(self) -> tuple[str, ...]:
        """Each cell's key as one text, in the order of the cells."""
        return tuple("/".join(cell) for cell in product(*self.values))

    @property
    def cell(self) -> str:
        """SQL: the number of an event's cell, from 0; NULL if it is in no cell."""
        place = "0"
        for code, values in zip(self._codes, self.values, strict=True):
            place = code if place == "0" else f"({place}) * {len(values)} + {code}"
        return place

    @property
    def _codes(self) -> list[str]:
        """SQL: the number of an event's value in each column, from 0, or NULL."""
        codes = []
        for column, declared in self.columns.items():
            # A cast to an ENUM is one hash look-up, however many keys there are.
            listed = ", ".join(literal(value) for value in declared)
            text = f"CAST({identifier(column)} AS VARCHAR)"
            code = f"CAST(enum_code(TRY_CAST({text} AS ENUM ({listed}))) AS BIGINT)"
            codes.append(f"coalesce({code}, {len(declared)})" if self.other else code)
        if self.bins is not None:
            code = f"({self.bins.code})"
            whole = self.other and not self.bins.clamped
            codes.append(f"coalesce({code}, {self.bins.size})" if whole else code)
        return codes
