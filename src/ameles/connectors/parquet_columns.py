"""The columns of a Parquet file, looked up once as long as the file does not change."""

from __future__ import annotations

import glob
import os
import time
from contextlib import closing
from dataclasses import dataclass

import duckdb

from ameles.connectors.duck import connect
from ameles.connectors.named_files import NamedFile
from ameles.connectors.parquet_scan import scan
from ameles.core.exceptions import PlanError, SourceUnreadable
from ameles.measures.fields import literal

_MEMORY = 256 << 20  # to look into a footer
_MOST = 1024  # files that are remembered
# A file that was written a moment ago may be written again without a new time.
_SETTLED_NS = 2 * 10**9

_Signature = tuple[str, int, int, int, int, int]
_known: dict[_Signature, _Columns] = {}


def path_of(file: NamedFile) -> str:
    """The path for DuckDB; refuses characters that DuckDB would take for a pattern."""
    path = str(file.path.resolve())
    if glob.has_magic(path):
        raise PlanError(
            f"The path of the file '{file.name}' has one of the characters * ? [ in it.",
            why="DuckDB would take it for a pattern",
            tip="another name for the file or its folder",
        )
    return path


@dataclass(frozen=True, slots=True)
class _Columns:
    types: dict[str, str]
    longest: dict[str, int]


def types_of(file: NamedFile) -> dict[str, str]:
    """The columns of a file with DuckDB's types."""
    return dict(_columns_of(file).types)


def longest_of(file: NamedFile) -> dict[str, int]:
    """The most bytes that a text in each column can have.

    A value has no more bytes than its part of the column before compression, whose size is in the
    footer.  A column that has no such size there is left out.
    """
    return dict(_columns_of(file).longest)


def _columns_of(file: NamedFile) -> _Columns:
    path, now = path_of(file), time.time_ns()
    before = _signature(path)
    if before is not None and before in _known:
        return _known[before]
    columns = _looked_up(path, file.name)
    if before is not None and before == _signature(path) and max(before[-2:]) < now - _SETTLED_NS:
        if len(_known) >= _MOST:
            _known.clear()
        _known[before] = columns
    return columns


def _signature(path: str) -> _Signature | None:
    try:
        held = os.stat(path)
    except OSError:
        return None
    return path, held.st_dev, held.st_ino, held.st_size, held.st_mtime_ns, held.st_ctime_ns


def _looked_up(path: str, name: str) -> _Columns:
    sizes = (
        "SELECT path_in_schema, max(total_uncompressed_size) FROM "
        f"parquet_metadata({literal(path)}) GROUP BY 1"
    )
    try:
        with closing(connect(zone="UTC", memory=_MEMORY, readable=[path])) as duck:
            rows = duck.execute(f"DESCRIBE SELECT * FROM {scan([path])}").fetchall()
            longest = dict(duck.execute(sizes).fetchall())
    except duckdb.Error:
        rows = []
    if not rows:
        raise SourceUnreadable(
            f"The file '{name}' cannot be read as Parquet.",
            why="it is damaged, incomplete or something else; nothing of it was counted",
            tip="write to another name, and rename the file to .parquet when it is complete",
        )
    return _Columns({name: kind for name, kind, *_ in rows}, longest)
