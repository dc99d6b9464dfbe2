"""A piece of Parquet files: whole files, or some row groups of one file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

import duckdb

from ameles.connectors.duck import connect
from ameles.connectors.files.file_marks import Mark
from ameles.connectors.files.identity import changed, readable
from ameles.connectors.files.named_files import NamedFile
from ameles.connectors.parquet.columns import path_of
from ameles.connectors.parquet.scan import hides_places, may_be_broken, scan
from ameles.connectors.reading import Piece
from ameles.measures.fields import literal

_MEMORY = 256 << 20  # to look into a footer


@dataclass(frozen=True, slots=True)
class Rows:
    """Some row groups of a file: its rows from ``first`` to ``last``, in about ``size`` bytes."""

    first: int
    last: int
    size: int = field(compare=False)


@dataclass(frozen=True, slots=True, repr=False)
class ParquetPiece(Piece):
    """New files with the same columns, as one scan; or some ``rows`` of one of them.

    If ids of users or keys are texts, ``sound`` has their columns, and the relation that leaves out
    broken ones; it is slower.
    """

    relation: str
    files: tuple[tuple[NamedFile, Mark], ...]
    sound: tuple[tuple[str, ...], str] | None = None
    rows: Rows | None = None

    def __repr__(self) -> str:
        return "<ParquetPiece>"

    @property
    def size(self) -> int:
        if self.rows is not None:
            return self.rows.size
        return sum(mark.offset for _, mark in self.files)

    @property
    def single(self) -> bool:
        return True

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(path_of(file) for file, _ in self.files)

    def cut(self, size: int) -> tuple[ParquetPiece, ...]:
        """By files, and a large file by row groups."""
        groups = [self._of(some) for some in _grouped(self.files, size)]
        return tuple(part for group in groups for part in group._cut_by_rows(size))

    def _cut_by_rows(self, size: int) -> tuple[ParquetPiece, ...]:
        if len(self.files) > 1 or self.rows is not None or self.size <= size:
            return (self,)
        parts = [*_row_ranges(self.paths[0], size)]
        return tuple(map(self.of_rows, parts)) if len(parts) > 1 else (self,)

    def _of(self, files: tuple[tuple[NamedFile, Mark], ...]) -> ParquetPiece:
        """The rows of some of its files."""
        if files == self.files:
            return self
        return self._with(replace(self, files=files))

    def of_rows(self, rows: Rows) -> ParquetPiece:
        """Some rows of its only file."""
        return self._with(replace(self, rows=rows))

    def _with(self, part: ParquetPiece) -> ParquetPiece:
        """The part of this piece, whose relations still scan all of it."""

        def of_it(relation: str) -> str:
            for broken in ("replace", "ignore"):
                relation = relation.replace(self._scan(broken), part._scan(broken))
            return relation

        sound = self.sound and (self.sound[0], of_it(self.sound[1]))
        return replace(part, relation=of_it(self.relation), sound=sound)

    def _scan(self, broken: str = "replace") -> str:
        rows = None if self.rows is None else (self.rows.first, self.rows.last)
        return scan(self.paths, broken, rows)

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        yield self._sound(duck)
        for file, mark in self.files:
            with readable(file), file.path.open("rb", buffering=0) as raw:
                if not mark.fits_parquet(raw.fileno()):
                    raise changed(file.name)

    def _sound(self, duck: duckdb.DuckDBPyConnection) -> str:
        if self.sound is not None:
            columns, relation = self.sound
            if may_be_broken(duck, self._scan(), columns):
                return relation
        return self.relation


def _row_ranges(path: str, size: int) -> Iterator[Rows]:
    """Row groups of a file, in parts of about so many bytes; none if it cannot be cut."""
    columns = f"SELECT DISTINCT path_in_schema FROM parquet_metadata({literal(path)})"
    groups = (
        "SELECT any_value(row_group_num_rows), sum(total_compressed_size) "
        f"FROM parquet_metadata({literal(path)}) GROUP BY row_group_id ORDER BY row_group_id"
    )
    with closing(connect(zone="UTC", memory=_MEMORY, readable=[path])) as duck:
        try:
            names = [name for (name,) in duck.execute(columns).fetchall()]
            found = duck.execute(groups).fetchall()
        except duckdb.Error:
            return  # whoever reads it says what is wrong
    if hides_places(names):
        return
    first = last = held = 0
    for rows, stored in found:
        if held and held + int(stored) > size:
            yield Rows(first, last - 1, held)
            first, held = last, 0
        last, held = last + int(rows), held + int(stored)
    yield Rows(first, last - 1, held)


def _grouped(
    files: tuple[tuple[NamedFile, Mark], ...], size: int
) -> Iterator[tuple[tuple[NamedFile, Mark], ...]]:
    """Files in groups of about so many bytes."""
    group, held = list[tuple[NamedFile, Mark]](), 0
    for file, mark in files:
        if group and held + mark.offset > size:
            yield tuple(group)
            group, held = [], 0
        group.append((file, mark))
        held += mark.offset
    yield tuple(group)
