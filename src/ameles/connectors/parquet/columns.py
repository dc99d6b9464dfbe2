"""The columns of Parquet files, looked up once as long as a file does not change.

To open a database of DuckDB takes longer than to read a footer: all files of a reading share one.
"""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import duckdb

from ameles.connectors.duck import connect
from ameles.connectors.files.named_files import NamedFile
from ameles.connectors.parquet.footer import Footer, memory_path, new_token, without_types
from ameles.connectors.parquet.scan import scan
from ameles.core.exceptions import PlanError, SourceUnreadable
from ameles.measures.fields import literal

_MEMORY = 256 << 20  # to look into a footer
_MOST = 1024  # files that are remembered
# A file that was written a moment ago may be written again without a new time.
_SETTLED_NS = 2 * 10**9

_Signature = tuple[str, int, int, int, int, int]
_known: dict[_Signature, Columns] = {}


def path_of(file: NamedFile) -> str:
    """The path for DuckDB; refuses characters that DuckDB would take for a pattern."""
    resolved = file.path.resolve()
    # A file that is only in memory has no path but the link to it.
    path = str(resolved if resolved.exists() else file.path.absolute())
    if glob.has_magic(path):
        raise PlanError(
            f"The path of the file '{file.name}' has one of the characters * ? [ in it.",
            why="DuckDB would take it for a pattern",
            tip="another name for the file or its folder",
        )
    return path


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file.

    ``types`` are DuckDB's types.  ``longest`` are the most bytes that a text in each column can
    have.  A value has no more bytes than its part of the column before compression, whose size is
    in the footer.  A column that has no such size there is left out.  ``millis`` are times in
    milliseconds, in which one value can fail the scan of all.
    """

    types: dict[str, str]
    longest: dict[str, int]
    millis: frozenset[str] = frozenset()


class Footers:
    """What the footers of these files say; closed, it frees the database that reads them."""

    def __init__(self, files: Iterable[NamedFile]) -> None:
        self._files = tuple(files)
        self._duck: duckdb.DuckDBPyConnection | None = None
        self._bare: dict[str, Path] = {}  # where the footer of each file is without types

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def columns_of(self, file: NamedFile) -> Columns:
        """The columns of one of the files; refuses a file that is not Parquet."""
        path, now = path_of(file), time.time_ns()
        before = _signature(path)
        columns = _known.get(before) if before is not None else None
        if columns is None:
            columns = self._looked_up(path, file.name)
            settled = before is not None and max(before[-2:]) < now - _SETTLED_NS
            if before is not None and settled and before == _signature(path):
                if len(_known) >= _MOST:
                    _known.clear()
                _known[before] = columns
        return Columns(dict(columns.types), dict(columns.longest), columns.millis)

    def _looked_up(self, path: str, name: str) -> Columns:
        try:
            duck = self._connected()
            rows = duck.execute(f"DESCRIBE SELECT * FROM {scan([path])}").fetchall()
            longest = self._longest(duck, path)
        except duckdb.Error:
            self._close()  # a failure may have ended the database; the next file gets a new one
            rows = []
        if not rows:
            raise SourceUnreadable(
                f"The file '{name}' cannot be read as Parquet.",
                why="it is damaged, incomplete or something else; nothing of it was counted",
                tip="write to another name, and rename the file to .parquet when it is complete",
            )
        return Columns({name: kind for name, kind, *_ in rows}, longest, _millis(path))

    def _longest(self, duck: duckdb.DuckDBPyConnection, path: str) -> dict[str, int]:
        # The statistics of a column without its type always have a text.
        with without_types(path, self._bare[path]) as bare:
            sizes = (
                "SELECT path_in_schema, max(total_uncompressed_size) FROM "
                f"parquet_metadata({literal(bare)}) GROUP BY 1"
            )
            return dict(duck.execute(sizes).fetchall())

    def _connected(self) -> duckdb.DuckDBPyConnection:
        """A connection that may open these files alone."""
        if self._duck is None:
            paths: list[str] = []
            for file in self._files:
                with suppress(PlanError):  # it is refused when its own turn comes
                    paths.append(path_of(file))
            self._bare = {path: memory_path(new_token()) for path in paths}
            readable = [*paths, *map(str, self._bare.values())]
            self._duck = connect(zone="UTC", memory=_MEMORY, readable=readable)
        return self._duck

    def _close(self) -> None:
        if self._duck is not None:
            self._duck.close()
            self._duck = None


def _millis(path: str) -> frozenset[str]:
    try:
        return Footer(path).millis()
    except (ValueError, OSError):
        return frozenset()


def _signature(path: str) -> _Signature | None:
    try:
        held = os.stat(path)
    except OSError:
        return None
    return path, held.st_dev, held.st_ino, held.st_size, held.st_mtime_ns, held.st_ctime_ns
