"""Objects of Parquet, read by row groups: only what is needed of an object is fetched.

The bytes that are fetched lie in a file in memory, at the same offsets as in the object; the rest
of that file is a hole.  So DuckDB reads it exactly as it reads a whole file.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb

from ameles.connectors.duck import connect
from ameles.connectors.format import Format
from ameles.connectors.memory_file import memory_file
from ameles.connectors.objects.object_store import ObjectPattern, StoredObject
from ameles.connectors.parquet.piece import ParquetPiece, Rows
from ameles.connectors.parquet.scan import hides_places
from ameles.connectors.parquet.source import ParquetSource
from ameles.connectors.reading import Piece
from ameles.connectors.text.lines import BLOCK
from ameles.measures.fields import literal

AT_ONCE = 64 << 20  # bytes of row groups that are in memory at a time, if groups are not larger
_TAIL = 64 << 10  # bytes of the first look at the end of an object
_LAST = 8  # bytes: the length of the footer, and the magic bytes
_MEMORY = 256 << 20  # to look into a footer


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group: its rows, and its bytes in the object."""

    first: int
    rows: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ParquetObjects:
    """The objects of Parquet that a pattern names, and how their columns are read."""

    place: ObjectPattern
    columns: Mapping[str, str]
    form: Format
    raw: bool = False

    def names(self, each: StoredObject) -> Sequence[str]:
        """The columns of an object."""
        with self._footer(each) as source:
            return source.names()

    def pieces(self, each: StoredObject) -> tuple[Piece, ...]:
        """All rows of an object; refuses one without a column of the plan."""
        with self._footer(each) as source:
            groups = _row_groups(_piece(source).paths[0])
        if not groups:
            return ()
        return ObjectRows(objects=self, each=each, groups=groups, tail=groups[-1].end).cut(AT_ONCE)

    def piece(self, path: Path) -> ParquetPiece:
        """All rows of a file."""
        return _piece(self._source(path))

    def _source(self, path: Path) -> ParquetSource:
        return ParquetSource(path.name, path.parent, self.columns, form=self.form, raw=self.raw)

    @contextmanager
    def _footer(self, each: StoredObject) -> Iterator[ParquetSource]:
        """The object as a source, of which only the footer can be read."""
        path = _path(each, secrets.token_hex(16))
        with memory_file(path) as handle:
            os.ftruncate(handle, each.size)
            start = max(0, each.size - _TAIL)
            tail = self.place.read(each, start, each.size) if each.size else b""
            length = int.from_bytes(tail[-_LAST:-4], "little") + _LAST
            before = max(0, each.size - length)
            if len(tail) >= _LAST and before < start:
                tail, start = self.place.read(each, before, start) + tail, before
            os.pwrite(handle, tail, start)
            yield self._source(path)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ObjectRows(Piece):
    """Some row groups of an object, one after the other."""

    objects: ParquetObjects
    each: StoredObject
    groups: tuple[RowGroup, ...]
    tail: int  # where all row groups end, and the rest of the object begins
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    def __repr__(self) -> str:
        return "<ObjectRows>"

    @property
    def size(self) -> int:
        return self.groups[-1].end - self.groups[0].start

    @property
    def paths(self) -> tuple[str, ...]:
        return (str(self._path),)

    @property
    def _path(self) -> Path:
        """Where its bytes will be in this process."""
        return _path(self.each, self.token)

    def cut(self, size: int) -> tuple[ObjectRows, ...]:
        parts = [[self.groups[0]]]
        for group in self.groups[1:]:
            if group.end - parts[-1][0].start > size:
                parts.append([])
            parts[-1].append(group)
        tokens = [secrets.token_hex(16) for _ in parts]
        return tuple(
            replace(self, groups=tuple(part), token=token)
            for part, token in zip(parts, tokens, strict=True)
        )

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        first, last = self.groups[0], self.groups[-1]
        rows = Rows(first.first, last.first + last.rows - 1, self.size)
        with memory_file(self._path) as handle:
            os.ftruncate(handle, self.each.size)
            for start, end in ((first.start, last.end), (self.tail, self.each.size)):
                for place in range(start, end, BLOCK):
                    some = self.objects.place.read(self.each, place, min(place + BLOCK, end))
                    os.pwrite(handle, some, place)
            piece = self.objects.piece(self._path)
            every = not first.first and last.end == self.tail
            yield from (piece if every else piece.of_rows(rows)).scans(duck)


def _piece(source: ParquetSource) -> ParquetPiece:
    """The only file of a source; refuses one without a column of the plan."""
    reading = source.reading(None)
    if reading.problems:
        raise reading.problems[0]
    (piece,) = reading.pieces
    if not isinstance(piece, ParquetPiece):
        raise TypeError
    return piece


def _path(each: StoredObject, token: str) -> Path:
    """A path of this process for the bytes of an object."""
    folder = Path(tempfile.gettempdir()).resolve() / f"ameles-object-{token}-{os.getpid()}"
    return folder / each.name.rpartition("/")[2]


def _row_groups(path: str) -> tuple[RowGroup, ...]:
    """The row groups of an object; as one if it cannot be cut."""
    begins = (
        "least(coalesce(nullif(dictionary_page_offset, 0), data_page_offset), data_page_offset)"
    )
    asked = (
        f"SELECT any_value(row_group_num_rows), min({begins}), max({begins} + "
        "total_compressed_size), min(bloom_filter_offset), max(bloom_filter_offset), "
        f"list(DISTINCT path_in_schema) FROM parquet_metadata({literal(path)}) "
        "GROUP BY row_group_id ORDER BY row_group_id"
    )
    with closing(connect(zone="UTC", memory=_MEMORY, readable=[path])) as duck:
        return laid_out(duck.execute(asked).fetchall())


def laid_out(found: Sequence[tuple[Any, ...]]) -> tuple[RowGroup, ...]:
    """Row groups from what a footer says of each: rows, first and last byte, first and last byte of
    its filters, and names of columns.

    >>> laid_out([(10, 4, 50, None, None, ["a"]), (10, 50, 90, 95, 99, ["a"])])
    (RowGroup(first=0, rows=10, start=0, end=50), RowGroup(first=10, rows=10, start=50, end=90))

    They are one if a part of one lies elsewhere: among the bytes of another, for example.

    >>> laid_out([(10, 4, 50, 60, 60, ["a"]), (10, 50, 90, None, None, ["a"])])
    (RowGroup(first=0, rows=20, start=0, end=90),)
    """
    if not found:
        return ()
    starts = [0, *(int(start) for _, start, *_ in found[1:])]
    tail = int(found[-1][2])
    groups, first = list[RowGroup](), 0
    for (rows, *_), (start, end) in zip(found, pairwise([*starts, tail]), strict=True):
        groups.append(RowGroup(first, int(rows), start, end))
        first += int(rows)
    fits = all(
        group.start < int(end) <= group.end
        and all(at is None or group.start <= at < group.end or at >= tail for at in filters)
        for group, (_, _, end, *filters, _) in zip(groups, found, strict=True)
    )
    if not fits or hides_places(found[0][-1]):
        return (RowGroup(0, first, 0, max(tail, *(int(end) for _, _, end, *_ in found))),)
    return tuple(groups)
