"""CSV, one event a line: RFC 4180 with commas, except that a newline always ends an event.

Commas inside quotes are masked before DuckDB splits a line at its commas; where the quotes of a
line are not those of RFC 4180, the line counts nowhere.  A field that is empty is NULL.
"""

from __future__ import annotations

import csv

import numpy as np

from ameles.connectors.text import LINES, Dialect
from ameles.connectors.typed import Typed, typed
from ameles.core.exceptions import PlanError

_COMMA, _QUOTE, _NEWLINE = b',"\n'
_MASK = 0  # no line has a NUL

_FIELD = '("([^"]|"")*"|[^",]*)'
_SOUND = f"'{_FIELD}(,{_FIELD})*'"


class CsvLines(Dialect):
    """Lines of fields; the first line of a file names them, in any order."""

    header = True

    def names(self, first: str) -> tuple[str, ...]:
        try:
            fields = next(csv.reader([first], strict=True), [])
        except csv.Error:
            fields = []
        return tuple(name.strip() for name in fields)

    def check(self, names: tuple[str, ...], file: str) -> None:
        for name in self.columns:
            if names.count(name) != 1:
                has = "has no column" if name not in names else "has more than one column"
                raise PlanError(
                    f"The file '{file}' {has} {name!r} in its first line.",
                    why="the first line of a CSV file names its columns, and the plan's are "
                    "read by name",
                    tip=f"a first line such as {','.join(self.columns)}",
                )

    def prepared(self, chunk: bytes) -> tuple[bytes, bool]:
        return (_masked(chunk), True) if b'"' in chunk else (chunk, False)

    def relation(self, names: tuple[str, ...], *, slower: bool) -> str:
        kept = "line <> ''"
        if slower:
            kept += f" AND (NOT contains(line, '\"') OR regexp_full_match(line, {_SOUND}))"
        split = f"SELECT string_split(line, ',') AS fields FROM {LINES} WHERE {kept}"
        events = f"(SELECT fields FROM ({split}) WHERE len(fields) = {len(names)})"
        return typed(
            [
                Typed(name, kind, _field(names.index(name) + 1, slower))
                for name, kind in self.columns.items()
            ],
            events,
        )


def _field(place: int, quoted: bool) -> str:
    field = f"fields[{place}]"
    if quoted:
        inner = f"substring({field}, 2, length({field}) - 2)"
        plain = f"replace(replace({inner}, '\"\"', '\"'), chr({_MASK}), ',')"
        field = f"CASE WHEN starts_with({field}, '\"') THEN {plain} ELSE {field} END"
    return f"nullif({field}, '')"


def _masked(chunk: bytes) -> bytes:
    """Commas after an odd number of quotes in their line, as NULs."""
    held = np.frombuffer(chunk, dtype=np.uint8).copy()
    quotes = np.cumsum(held == _QUOTE, dtype=np.int32)
    ends = np.flatnonzero(held == _NEWLINE)
    before = np.concatenate([[0], quotes[ends[:-1]]])  # in all earlier lines
    lengths = np.diff(ends, prepend=-1)
    inside = (quotes - np.repeat(before, lengths)) & 1 == 1
    held[(held == _COMMA) & inside] = _MASK
    return held.tobytes()
