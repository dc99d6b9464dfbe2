"""The options of ``ameles query`` that say several things at once: age=0:120, region=north,south.

>>> bounds_of(["age=0:120"])["age"].upper, keys_of(["region=north,south"])
(Fraction(120, 1), {'region': ['north', 'south']})
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from ameles.core.exceptions import BadInput
from ameles.core.parameters import exact
from ameles.query.sql_questions import ColumnBounds


def bounds_of(given: Sequence[str] | None) -> dict[str, ColumnBounds]:
    """Ranges of columns, with the steps in which their values are counted."""
    bounds = {}
    for column, text in _pairs(given, "--bounds", "age=0:120"):
        ends = text.split(":")
        if len(ends) not in (2, 3):
            raise _unclear("--bounds", f"{column}={text}", "age=0:120, or age=0:120:0.5 with steps")
        low, high, *step = (exact(end, f"bounds of {column}") for end in ends)
        bounds[column] = ColumnBounds(low, high, step[0] if step else Fraction(1))
    return bounds


def keys_of(given: Sequence[str] | None) -> dict[str, list[str]]:
    """Public keys of columns."""
    pairs = _pairs(given, "--keys", "region=north,south")
    return {column: text.split(",") for column, text in pairs}


def kinds_of(given: Sequence[str] | None) -> dict[str, str]:
    """Kinds of columns; one option may name several."""
    parts = [part for text in given or () for part in text.split(",")]
    return dict(_pairs(parts, "--columns", "age=integer,fever=boolean"))


def tables_of(given: Sequence[str] | None) -> dict[str, str]:
    """More tables, by the names that the SQL has for them."""
    return dict(_pairs(given, "--also", "u=stays.csv"))


def _pairs(given: Sequence[str] | None, option: str, example: str) -> Iterator[tuple[str, str]]:
    seen = set()
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise _unclear(option, text, example)
        if name in seen:
            raise BadInput(f"{option} names '{name}' twice.", tip=f"{option} {example}")
        seen.add(name)
        yield name, value


def _unclear(option: str, text: str, example: str) -> BadInput:
    return BadInput(f"{option} cannot be {text[:80]!r}.", tip=f"{option} {example}")
