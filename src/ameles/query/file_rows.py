"""Tables in files: CSV, JSON lines and Parquet, read exactly as plans read theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ameles.connectors.format import DEFAULT, Format, kind_of
from ameles.connectors.reading import Reading
from ameles.connectors.source import SeekableSource
from ameles.connectors.sources import open_source
from ameles.connectors.text.dialect import undecided
from ameles.connectors.typed_columns import KEY
from ameles.core.exceptions import BadInput, PlanError
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.query.kept_rows import KeptRows, Stamp, stamp_of
from ameles.query.row_source import Duck, RowsNow, RowSource


class FileRows(RowSource):
    """The rows of a file, or of all files that match a pattern."""

    def __init__(
        self, path: str | Path, columns: Mapping[str, str], user: str | None, form: Format = DEFAULT
    ) -> None:
        super().__init__(columns, user)
        self._path, self._form = str(path), form
        self.label = Path(path).stem
        self.coded = kind_of(self._path) == "parquet"
        self._base = Path.cwd()
        self._kept = KeptRows()
        # looked at now, so that a missing file or column is refused before anything is paid
        with _in_words_of_tables():
            source = self._source()
            if source.dialect is not None and (refusal := undecided(source.dialect)):
                raise refusal
            source.names()

    def rows_now(self) -> RowsNow:
        return self._rows(self.read_kinds)

    def rows_for_keys(self) -> RowsNow:
        # to tell broken texts of Parquet from others takes another look at them
        return self._rows(self._key_kinds)

    def _rows(self, kinds: Mapping[str, str]) -> RowsNow:
        # before the files are read: if they change later, the stamp is an old one
        stamp = stamp_of(self._path, self._base)
        if self.coded:
            return _Files(self, self.reading(kinds), stamp)
        return _Texts(self, self._kept, stamp)

    @property
    def _key_kinds(self) -> dict[str, str]:
        """All texts may be keys: a broken one is missing."""
        return {name: KEY if kind == "text" else kind for name, kind in self.read_kinds.items()}

    def reading(self, kinds: Mapping[str, str] | None = None) -> Reading:
        """What the files have now; texts may be keys unless ``kinds`` says otherwise."""
        with _in_words_of_tables():
            reading = self._source(kinds).reading(None)
            if reading.problems:
                raise reading.problems[0]
        return reading

    def load(self, reading: Reading, tables: TemporaryTables, duck: Duck) -> str:
        """A table with all rows of a reading."""
        table = self.empty_table(tables)
        for scan in reading.scans(duck):  # fails if a file changed while it was read
            tables.insert(table, f"SELECT {self.names} FROM {scan}")
        return table

    def _source(self, kinds: Mapping[str, str] | None = None) -> SeekableSource[Any]:
        source = open_source(
            self._path,
            self._key_kinds if kinds is None else kinds,
            self._base,
            form=self._form,
            take_last=True,
            waiting=True,
        )
        if not isinstance(source, SeekableSource):
            raise BadInput(
                "A table must be in a file, which can be read again.",
                tip="a path that ends in .csv, .jsonl or .parquet",
            )
        if source.missing() is not None:
            raise BadInput(
                f"No file matches {self._path[:200]!r}.",
                why="the path or pattern of a table is relative to the current folder",
                tip="the path of a file that is there",
            )
        return source


@contextmanager
def _in_words_of_tables() -> Iterator[None]:
    """A file that would be refused in a plan is refused as the input of a table."""
    try:
        yield
    except PlanError as refusal:
        raise BadInput(refusal.what, why=refusal.why, tip=refusal.tip) from None


@dataclass(frozen=True)
class _Files(RowsNow):
    """Parquet files, read where they are.

    A question whose file was written meanwhile fails, as its inode, size and times tell: so if the
    last write was not a moment ago, an answer is about rows that were the same at each reading.
    """

    source: FileRows
    reading: Reading
    stamp: Stamp | None

    @property
    def still(self) -> bool:
        return self.stamp is not None or not self.reading.single

    @property
    def paths(self) -> tuple[str, ...]:
        return self.reading.paths

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        if not self.reading.single:
            yield self.source.load(self.reading, tables, duck)
            return
        scans = self.reading.scans(duck)
        yield next(scans)
        for _ in scans:  # fails if the file changed while it was read
            pass


@dataclass(frozen=True)
class _Texts(RowsNow):
    """CSV files or JSON lines, copied into a table."""

    source: FileRows
    kept: KeptRows
    stamp: Stamp | None
    still = True

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        yield self.kept.table(
            duck,
            tables,
            self.stamp if self.source.owns(duck) else None,
            lambda: self.source.load(self.source.reading(), tables, duck),
        )
