"""Objects of Parquet, read by row groups: only what is needed of an object is fetched.

The bytes that are fetched lie in a file in memory, at the same offsets as in the object; the rest
of that file is a hole.  So DuckDB reads it exactly as it reads a whole file.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from ameles.connectors.format import Format
from ameles.connectors.memory_file import memory_file
from ameles.connectors.objects.object_store import ObjectPattern, StoredObject
from ameles.connectors.parquet.footer import memory_path
from ameles.connectors.parquet.piece import ParquetPiece, Rows
from ameles.connectors.parquet.row_groups import RowGroup, row_groups
from ameles.connectors.parquet.source import ParquetSource
from ameles.connectors.reading import Piece
from ameles.connectors.text.lines import BLOCK

AT_ONCE = 64 << 20  # bytes of row groups that are in memory at a time, if groups are not larger
_TAIL = 64 << 10  # bytes of the first look at the end of an object
_LAST = 8  # bytes: the length of the footer, and the magic bytes


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
            groups = row_groups(_piece(source).paths[0])
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
        return str(self._path), str(memory_path(self.token))

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
            piece = piece if every else piece.of_rows(rows)
            yield from replace(piece, token=self.token).scans(duck)


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
