"""Declared keys: the public cells that an event may count in, as texts, indices and SQL.

An event is in exactly one cell of the product of its columns, or in none.  A key that appears as
soon as data has it would reveal who is in the data.  So keys are declared, or discovered by a
mechanism (``discovering.py``).

>>> keys = Keys({"region": ("north", "south"), "adult": ("true", "false")}, other=False)
>>> keys.names
('north/true', 'north/false', 'south/true', 'south/false')
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

from ameles.measures.bins import Bins
from ameles.measures.fields import identifier, literal

OTHER = "other"
DISCOVERED = "discovered"  # instead of a list of declared keys
MOST_BYTES = 256  # of a discovered key
# Control characters, ends of lines, and those that turn the direction of writing.
_CONTROLS = r"[\p{Cc}\p{Zl}\p{Zp}\x{061C}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2066}-\x{2069}]"
MOST = 1 << 20


@dataclass(frozen=True)
class Keys:
    """The product of the declared values of some columns and the bins of one more column.

    ``other`` adds one value to each column, but not to clamped bins, which every value is in.
    What every step asks for is found once: there may be a million keys.
    """

    columns: Mapping[str, tuple[str, ...]]
    other: bool
    bins: Bins | None = None

    @cached_property
    def values(self) -> tuple[tuple[str, ...], ...]:
        """For each column its values, with "other" last."""
        more = (OTHER,) if self.other else ()
        columns = [(*declared, *more) for declared in self.columns.values()]
        if self.bins is not None:
            columns.append((*self.bins.labels, *(() if self.bins.clamped else more)))
        return tuple(columns)

    @cached_property
    def size(self) -> int:
        """The number of cells; one if nothing is declared."""
        return math.prod(len(values) for values in self.values)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Each cell's key as one text, in the order of the cells."""
        return tuple("/".join(cell) for cell in product(*self.values))

    @cached_property
    def cell(self) -> str:
        """SQL: the number of an event's cell, from 0; NULL if it is in no cell."""
        # A cast to an ENUM is one hash look-up, however many keys there are.
        places = [
            f"CAST(enum_code(TRY_CAST(CAST({identifier(column)} AS VARCHAR) AS "
            f"ENUM ({listed(declared)}))) AS BIGINT)"
            for column, declared in self.columns.items()
        ]
        return self.cell_of(places, None if self.bins is None else self.bins.code)

    def cell_of(self, places: Sequence[str], bin_code: str | None) -> str:
        """SQL: the cell, from the SQL of each value's place among the declared ones, or NULL.

        ``bin_code`` is the SQL of the number of the bin, or NULL outside of all bins.
        """
        codes = [
            f"coalesce({place}, {len(declared)})" if self.other else place
            for place, declared in zip(places, self.columns.values(), strict=True)
        ]
        if self.bins is not None:
            beyond = self.other and not self.bins.clamped
            code = f"({bin_code})"
            codes.append(f"coalesce({code}, {self.bins.size})" if beyond else code)
        cell = "0"
        for code, values in zip(codes, self.values, strict=True):
            cell = code if cell == "0" else f"({cell}) * {len(values)} + {code}"
        return cell


def word_of(column: str, *, joined: bool) -> str:
    """SQL: the text of a key that is discovered in a column; NULL if it can be no key.

    Empty and long texts and those with control characters are no keys, for the sake of everything
    that shows them; also none with a slash, if keys of several columns are joined.
    """
    text = f"CAST({identifier(column)} AS VARCHAR)"
    return f"CASE WHEN {no_key(text, joined=joined)} THEN NULL ELSE {text} END"


def no_key(text: str, *, joined: bool) -> str:
    """SQL: whether a text can be no key that is discovered, in a stream or in a table."""
    slash = f" OR contains({text}, '/')" if joined else ""
    return (
        f"{text} = '' OR strlen({text}) > {MOST_BYTES} "
        f"OR regexp_matches({text}, '{_CONTROLS}'){slash}"
    )


@lru_cache(maxsize=16)
def listed(values: tuple[str, ...]) -> str:
    """SQL: texts, separated by commas; kept, because there may be a million of them."""
    return ", ".join(literal(value) for value in values)
