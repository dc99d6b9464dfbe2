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
from ameles.core.exceptions import BadInput, SourceUnreadable
from ameles.engine.gathering.temporary_tables import TemporaryTables
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
        # looked at now, so that a missing file or column is refused before anything is paid
        source = self._source()
        missing = [name for name in self.columns if name not in source.names()]
        if missing:
            raise SourceUnreadable(
                f"'{self._path}' has no column '{missing[0]}'.",
                tip=f"one of {', '.join(source.names())[:200]}",
            )

    def rows_now(self) -> RowsNow:
        return _Files(self, self._reading())

    def _reading(self) -> Reading:
        reading = self._source().reading(None)
        if reading.problems:
            raise reading.problems[0]
        return reading

    def _source(self) -> SeekableSource[Any]:
        source = open_source(
            self._path, self.read_kinds, self._base, form=self._form, take_last=True
        )
        if not isinstance(source, SeekableSource):
            raise BadInput(
                "A table must be in a file, which can be read again.",
                tip="a path that ends in .csv, .jsonl or .parquet",
            )
        return source


@dataclass(frozen=True)
class _Files(RowsNow):
    source: FileRows
    reading: Reading

    @property
    def paths(self) -> tuple[str, ...]:
        return self.reading.paths

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        scans = self.reading.scans(duck)
        if self.reading.single:
            yield next(scans)
        else:
            table = self.source.empty_table(tables)
            for scan in scans:
                tables.insert(table, f"SELECT {self.source.names} FROM {scan}")
            yield table
        for _ in scans:  # fails if the file changed while it was read
            pass
