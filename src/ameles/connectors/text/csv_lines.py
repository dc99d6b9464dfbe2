"""CSV, one event a line: RFC 4180, except that a newline always ends an event.

The plan declares the delimiter and the quote; the defaults are a comma and '"'.  Delimiters inside
quotes are masked before DuckDB splits a line at its delimiters.  A line whose quotes violate RFC
4180 counts nowhere.  An empty field is NULL.
"""

from __future__ import annotations

import copy
import csv
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Self

import numpy as np

from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.text.dialect import LINES, Dialect
from ameles.connectors.text.usual_times import usual_times
from ameles.connectors.typed_columns import Typed, typed
from ameles.core.exceptions import PlanError
from ameles.measures.fields import literal

_NEWLINE = 10
_MASK = 0  # no line has a NUL
_SPACES = "' ' || chr(9)"

# What may be wrong with a line.
OPEN_QUOTE = "open quote"
BAD_QUOTES = "bad quotes"
TRAILING = "trailing delimiter"
TOO_MANY = "too many fields"
TOO_FEW = "too few fields"


class CsvLines(Dialect):
    """Lines of fields; the plan or the first line of a file names them, in any order."""

    def __init__(
        self, columns: Mapping[str, str], form: Format = DEFAULT, *, raw: bool = False
    ) -> None:
        super().__init__(columns, form, raw=raw)
        self.header = not form.header
        self._pattern: tuple[tuple[str, ...], re.Pattern[bytes]] | None = None

    def names(self, first: str) -> tuple[str, ...]:
        if self.form.header:
            return self.form.header
        try:
            reader = csv.reader(
                [first],
                strict=True,
                delimiter=self.form.delimiter,
                quotechar=self.form.quote or None,
                quoting=csv.QUOTE_MINIMAL if self.form.quote else csv.QUOTE_NONE,
                skipinitialspace=self.form.strip,
            )
            fields = next(reader, [])
        except csv.Error:
            fields = []
        return tuple(name.strip() for name in fields)

    def check(self, names: tuple[str, ...], file: str) -> None:
        for name in self.columns:
            if names.count(name) != 1:
                has = "has no column" if name not in names else "has more than one column"
                raise PlanError(
                    f"The file '{file}' {has} {name!r} in its first line.",
                    why="the first line of a CSV file names its columns, and they are read by name",
                    tip=f"a first line such as {self.form.delimiter.join(self.columns)} in the "
                    "file; or delimiter, encoding or header as the file is written (in a plan, "
                    "before a launch: in [stream])",
                )

    def prepared(self, chunk: bytes) -> tuple[bytes, bool]:
        quote = self.form.quote.encode("ascii")
        if not quote or quote not in chunk:
            return chunk, False
        return _masked(chunk, quote[0], ord(self.form.delimiter)), True

    def relation(self, names: tuple[str, ...], *, slower: bool) -> str:
        kept = "line <> ''"
        if slower:
            quote = literal(self.form.quote)
            kept += f" AND (NOT contains(line, {quote}) OR regexp_full_match(line, {self._sound}))"
        delimiter = literal(self.form.delimiter)
        split = f"SELECT string_split(line, {delimiter}) AS fields FROM {LINES} WHERE {kept}"
        events = f"(SELECT fields FROM ({split}) WHERE len(fields) = {len(names)})"
        columns = [
            Typed(name, kind, self._field(names.index(name) + 1, slower))
            for name, kind in self.columns.items()
        ]
        return typed(columns, events, self.form, raw=self.raw, usual=self.usual)

    def steady_relation(self, names: tuple[str, ...], chunks: Sequence[bytes], slower: bool) -> str:
        if len(chunks) == 1 and not slower and self._has_usual_times(names, chunks[0]):
            return self._usual.written_relation(names, slower)
        return super().steady_relation(names, chunks, slower)

    def _has_usual_times(self, names: tuple[str, ...], chunk: bytes) -> bool:
        times = [names.index(name) for name, kind in self.columns.items() if kind == "timestamp"]
        if not times or self.form.time_format or self.form.strip:
            return False
        if self._pattern is None or self._pattern[0] != names:
            self._pattern = names, usual_times(self.form.delimiter, len(names), times)
        return self._pattern[1].fullmatch(chunk) is not None

    @cached_property
    def _usual(self) -> Self:
        """The same dialect, for lines with times in the usual form."""
        other = copy.copy(self)
        other.usual, other._relations = True, {}
        return other

    @property
    def _sound(self) -> str:
        """SQL: the regular expression of a line whose quotes are sound."""
        quote, delimiter = (f"\\x{{{ord(c):x}}}" for c in (self.form.quote, self.form.delimiter))
        field = f"({quote}([^{quote}]|{quote}{quote})*{quote}|[^{quote}{delimiter}]*)"
        if self.form.strip:
            field = f"[ \\t]*{field}[ \\t]*"
        return literal(f"{field}({delimiter}{field})*")

    def _field(self, place: int, quoted: bool) -> str:
        field = f"fields[{place}]"
        if self.form.strip:
            field = f"trim({field}, {_SPACES})"
        if quoted:
            quote, twice = literal(self.form.quote), literal(self.form.quote * 2)
            inner = f"substring({field}, 2, length({field}) - 2)"
            delimiter = literal(self.form.delimiter)
            plain = f"replace(replace({inner}, {twice}, {quote}), chr({_MASK}), {delimiter})"
            if self.form.strip:
                plain = f"trim({plain}, {_SPACES})"
            field = f"CASE WHEN starts_with({field}, {quote}) THEN {plain} ELSE {field} END"
        return f"nullif({field}, '')"

    def flaws(self, names: tuple[str, ...]) -> Mapping[str, str]:
        delimiter = literal(self.form.delimiter)
        count, fields = len(names), f"len(string_split(line, {delimiter}))"
        flaws = {
            TRAILING: f"{fields} = {count + 1} AND ends_with(line, {delimiter})",
            TOO_MANY: f"{fields} > {count}",
            TOO_FEW: f"{fields} < {count}",
        }
        if not self.form.quote:
            return flaws
        quote = literal(self.form.quote)
        return {
            OPEN_QUOTE: f"(length(line) - length(replace(line, {quote}, ''))) % 2 = 1",
            BAD_QUOTES: f"contains(line, {quote}) AND NOT regexp_full_match(line, {self._sound})",
            **flaws,
        }


def _masked(chunk: bytes, quote: int, delimiter: int) -> bytes:
    """The chunk with NULs instead of delimiters that follow an odd number of quotes in their
    line."""
    held = np.frombuffer(chunk, dtype=np.uint8).copy()
    quotes = np.cumsum(held == quote, dtype=np.int32)
    ends = np.flatnonzero(held == _NEWLINE)
    before = np.concatenate([[0], quotes[ends[:-1]]])  # in all earlier lines
    lengths = np.diff(ends, prepend=-1)
    inside = (quotes - np.repeat(before, lengths)) & 1 == 1
    held[(held == delimiter) & inside] = _MASK
    return held.tobytes()
