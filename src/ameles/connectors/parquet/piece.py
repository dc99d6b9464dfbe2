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
from ameles.connectors.parquet.footer import memory_path, new_token, without_types
from ameles.connectors.parquet.raw_millis import converts, parts_of, raw_copy, restored
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

    ``millis`` are its columns of times in milliseconds, with their types.  If one of their values
    would fail the scan, the rows are read ``raw``: from a copy in memory with integers instead.
    """

    relation: str
    files: tuple[tuple[NamedFile, Mark], ...]
    sound: tuple[tuple[str, ...], str] | None = None
    rows: Rows | None = None
    millis: tuple[tuple[str, str], ...] = ()
    raw: bool = False
    token: str = field(default_factory=new_token, compare=False)

    def __repr__(self) -> str:
        return "<ParquetPiece>"

    @property
    def size(self) -> int:
        if self.rows is not None:
            return self.rows.size
        return sum(mark.offset for _, mark in self.files)

    @property
    def single(self) -> bool:
        return not self.millis

    @property
    def paths(self) -> tuple[str, ...]:
        own = tuple(path_of(file) for file, _ in self.files)
        return (*own, str(memory_path(self.token))) if self.millis else own

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
        return self._with(replace(self, files=files, token=new_token()))

    def of_rows(self, rows: Rows) -> ParquetPiece:
        """Some rows of its only file."""
        return self._with(replace(self, rows=rows, token=new_token()))

    def _with(self, part: ParquetPiece) -> ParquetPiece:
        """The part of this piece, whose relations still scan all of it."""

        def of_it(relation: str) -> str:
            for broken in ("replace", "ignore"):
                relation = relation.replace(self._scan(broken), part._scan(broken))
            return relation

        sound = self.sound and (self.sound[0], of_it(self.sound[1]))
        return replace(part, relation=of_it(self.relation), sound=sound)

    @property
    def _range(self) -> tuple[int, int] | None:
        return None if self.rows is None else (self.rows.first, self.rows.last)

    def _scan(self, broken: str = "replace") -> str:
        rows = self._range
        if self.raw:
            return restored(scan([str(memory_path(self.token))], broken, rows), self.millis)
        return scan([path_of(file) for file, _ in self.files], broken, rows)

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        if self.millis and not converts(duck, self._scan(), self.millis):
            yield from self._raw_scans(duck)
        else:
            yield self._sound(duck)
        for file, mark in self.files:
            with readable(file), file.path.open("rb", buffering=0) as raw:
                if not mark.fits_parquet(raw.fileno()):
                    raise changed(file.name)

    def _raw_scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        for file, mark in self.files:
            path = path_of(file)
            for groups, every in parts_of(path, self._range):
                last = groups[-1]
                rows = Rows(groups[0].first, last.first + last.rows - 1, 0)
                hidden = every and self.sound is None  # perhaps rows have no numbers
                some = replace(self, files=((file, mark),), rows=None if hidden else rows, raw=True)
                with raw_copy(path, groups, memory_path(self.token)):
                    yield self._with(some)._sound(duck)

    def _sound(self, duck: duckdb.DuckDBPyConnection) -> str:
        if self.sound is not None:
            columns, relation = self.sound
            if may_be_broken(duck, self._scan(), columns):
                return relation
        return self.relation


def _row_ranges(path: str, size: int) -> Iterator[Rows]:
    """Row groups of a file, in parts of about so many bytes; none if it cannot be cut."""
    with (
        without_types(path, memory_path(new_token())) as bare,
        closing(connect(zone="UTC", memory=_MEMORY, readable=[bare])) as duck,
    ):
        columns = f"SELECT DISTINCT path_in_schema FROM parquet_metadata({literal(bare)})"
        groups = (
            "SELECT any_value(row_group_num_rows), sum(total_compressed_size) "
            f"FROM parquet_metadata({literal(bare)}) GROUP BY row_group_id ORDER BY row_group_id"
        )
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
