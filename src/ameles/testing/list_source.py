"""A source whose events are rows in a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any, Self, TypeAlias

import duckdb
import numpy as np

from ameles.connectors.duck import quiet
from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.reading import Piece, Reading
from ameles.connectors.source import SeekableSource, SourceRequest
from ameles.connectors.typed_columns import Typed, typed
from ameles.core.exceptions import BadInput
from ameles.testing.crashes import Crash

Event: TypeAlias = Mapping[str, Any]
Texts: TypeAlias = tuple[str | None, ...]  # of one event, in the order of the columns
_VIEW = "ameles_rows"
_BYTES_A_ROW = 64  # about; decides in how many passes users are bounded


class ListSource(SeekableSource[int]):
    """Rows in memory; ``columns`` are those of the plan with their kinds, and every row has them.

    Values are those of Python: texts, numbers, booleans, dates and times, or None for a missing
    one.  They are cast like the values of a file, so a text may stand for a number, and a value
    that does not fit counts as missing.  The format of files (``delimiter``, ``decimal``,
    ``time_format``) does not apply here: a number has a point, and a time is ISO 8601.

    The position is the number of rows that were taken.  So append rows, and never remove any.

    With ``crash_next`` set, the next reading raises ``Crash`` after half of its rows.

    >>> source = ListSource({"region": "text"})
    >>> source.add({"region": "north"}, {"region": None})
    >>> source.reading("1").position
    '2'
    """

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.rows: list[Texts] = []
        self.crash_next = False
        self._columns = dict(columns)

    def __repr__(self) -> str:
        return "<ListSource>"

    @classmethod
    def claims(cls, text: str) -> bool:
        """No plan names a list."""
        return False

    @classmethod
    def open(cls, request: SourceRequest) -> Self:
        return cls(request.columns)

    def add(self, *rows: Event) -> None:
        """Append events, or none of them if one lacks a column."""
        for row in rows:
            missing = [name for name in self._columns if name not in row]
            if missing:
                raise BadInput(
                    f"The row has no column {', '.join(repr(name) for name in missing)}.",
                    why="a row has every column that the plan names",
                    tip="None, if there is no value",
                )
        self.rows += [tuple(_text(row[name]) for name in self._columns) for row in rows]

    def names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def ends(self) -> int:
        return len(self.rows)

    def at_launch(self) -> str:
        return "0"

    def reading(self, position: str | None, ends: int | None = None) -> Reading:
        first, end = int(position or 0), len(self.rows) if ends is None else ends
        if first > len(self.rows):
            raise BadInput(
                f"The list has {len(self.rows)} rows, and {first} of them were taken.",
                why="a position in a list is a number of rows",
                tip="a list that only grows, or a new folder for the test",
            )
        return self.slice(first, end)

    def slice(self, first: int, end: int) -> Reading:
        """The rows from ``first`` up to ``end``, for a source that hands each row out once."""
        rows, crashes = self.rows[first:end], self.crash_next
        self.crash_next = False
        read = rows[: len(rows) // 2] if crashes else rows
        pieces: tuple[Piece, ...] = (RowsPiece(self._columns, tuple(read)),) if read else ()
        return Reading((*pieces, CrashPiece()) if crashes else pieces, str(end))


@dataclass(frozen=True, slots=True, repr=False)
class RowsPiece(Piece):
    """Rows of a list."""

    columns: dict[str, str]
    rows: tuple[Texts, ...]
    form: Format = DEFAULT

    def __repr__(self) -> str:
        return "<RowsPiece>"

    @property
    def size(self) -> int:
        return _BYTES_A_ROW * len(self.rows)

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        held: dict[str, np.ndarray[Any, np.dtype[np.object_]]] = {}
        given = []
        for place, (name, kind) in enumerate(self.columns.items()):
            held[f"text_{place}"] = np.array([row[place] for row in self.rows], dtype=object)
            given.append(Typed(name, kind, f"text_{place}"))
        try:
            with quiet("reading rows"):
                duck.register(_VIEW, held)
            yield typed(given, _VIEW, self.form)
        finally:
            with suppress(duckdb.Error):  # the connection may be closed by now
                duck.unregister(_VIEW)


class CrashPiece(Piece):
    """Rows at which the reading crashes."""

    @property
    def size(self) -> int:
        return _BYTES_A_ROW

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        raise Crash


def _text(value: Any) -> str | None:
    """A value as a file would contain it."""
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case date():  # a datetime is one, too
            return value.isoformat()
    return str(value)
