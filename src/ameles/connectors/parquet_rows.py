"""Releases as the bytes of a Parquet file, and back.

DuckDB opens files by their paths, and would follow a link.  So it is given a file without a name,
by its descriptor, and what it wrote there is copied by whoever has opened the right place.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from ameles.connectors.duck import connect, quiet
from ameles.connectors.sink import Row
from ameles.core.release import COLUMNS
from ameles.measures.fields import identifier, literal

_AT_ONCE = 50_000  # rows in Python's memory
_MEMORY = 1 << 30
_PIECE = 1 << 20  # bytes that are copied at once
_KINDS = {
    "BIGINT": ("step", "entry"),
    "TIMESTAMPTZ": ("start", "end"),
    "DOUBLE": ("value", "low", "high"),
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
# Quoted, because some are also words of SQL.
_TYPES = {identifier(name): _KIND_OF.get(name, "VARCHAR") for name in COLUMNS}
# Made anew for each file: rows that are only deleted stay in memory.
_TABLE = (
    "CREATE OR REPLACE TABLE records (place BIGINT, "
    + ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
    + ")"
)
_KEY = "ameles"
_NUMBERS = ("value", "low", "high")
_REMEMBERED = ("release", "key", "step", *_NUMBERS, "label")


class ParquetRows:
    """The rows of one file, which is still growing."""

    def __init__(self) -> None:
        self.size = 0
        self._waiting: list[Row] = []
        self._placed = 0
        self._handle = _nameless()
        self._duck: duckdb.DuckDBPyConnection | None = None

    def __del__(self) -> None:
        os.close(self._handle)

    def add(self, rows: Iterable[Row]) -> None:
        """More rows, after those that are there."""
        self._waiting.extend(rows)
        self.size = self._placed + len(self._waiting)
        if len(self._waiting) >= _AT_ONCE:
            self._place()

    def clear(self) -> None:
        """No rows any more."""
        self._waiting, self._placed, self.size = [], 0, 0
        if self._duck is not None:
            with quiet("writing releases"):
                self._duck.execute(_TABLE).fetchall()

    def content(self, note: str) -> bytes:
        """The file of all rows, with a note in its metadata."""
        self._place()
        # DuckDB's own temporary file would be one that it may not open.
        options = f"FORMAT parquet, USE_TMP_FILE false, KV_METADATA {{{_KEY}: {literal(note)}}}"
        rows = f"SELECT {', '.join(_TYPES)} FROM records ORDER BY place"
        os.ftruncate(self._handle, 0)
        with quiet("writing releases"):
            target = literal(_path(self._handle))
            self._connected().execute(f"COPY ({rows}) TO {target} ({options})").fetchall()
        size = os.fstat(self._handle).st_size
        return os.pread(self._handle, size, 0)

    def _place(self) -> None:
        """Rows go into a table with their places, because DuckDB keeps no order by itself."""
        rows, self._waiting = self._waiting, []
        if not rows:
            return
        columns = ", ".join(f"CAST({name} AS {kind})" for name, kind in _TYPES.items())
        held = {name: _texts(rows, place) for place, name in enumerate(COLUMNS)}
        held["place"] = np.arange(self._placed, self._placed + len(rows))
        with quiet("writing releases"):
            duck = self._connected()
            duck.register("batch", held)
            duck.execute(f"INSERT INTO records SELECT place, {columns} FROM batch").fetchall()
            duck.unregister("batch")
        self._placed += len(rows)

    def _connected(self) -> duckdb.DuckDBPyConnection:
        if self._duck is None:
            self._duck = connect(zone="UTC", memory=_MEMORY, readable=[_path(self._handle)])
            self._duck.execute(_TABLE).fetchall()
        return self._duck


class ParquetFile:
    """A file that was written before, for a look at it."""

    def __init__(self, duck: duckdb.DuckDBPyConnection, path: str) -> None:
        self._duck = duck
        self._path = literal(path)

    def note(self) -> str | None:
        """The note in its metadata; None if it has none, or is no Parquet file."""
        found = dict(self._asked(f"SELECT key, value FROM parquet_kv_metadata({self._path})") or [])
        text = found.get(_KEY.encode())
        return None if text is None else bytes(text).decode("utf-8", errors="replace")

    def digest(self, step: int) -> str | None:
        """What ``digest`` gives for its rows of one step; None if they cannot be read."""
        columns = ", ".join(identifier(name) for name in _REMEMBERED)
        found = self._asked(
            f"SELECT {columns} FROM read_parquet({self._path}, file_row_number = true) "
            f"WHERE step = {step} ORDER BY file_row_number"
        )
        return None if found is None else _digest(found)

    def _asked(self, query: str) -> list[tuple[Any, ...]] | None:
        try:
            return self._duck.execute(query).fetchall()
        except duckdb.Error:
            return None


@contextmanager
def reading(handle: int) -> Iterator[ParquetFile]:
    """A look into a file that is open."""
    copy = _nameless()
    try:
        place = 0
        while piece := os.pread(handle, _PIECE, place):
            place += os.pwrite(copy, piece, place)
        path = _path(copy)
        with closing(connect(zone="UTC", memory=_MEMORY, readable=[path])) as duck:
            yield ParquetFile(duck, path)
    finally:
        os.close(copy)


def digest(rows: Iterable[Row]) -> str:
    """By which the rows of a step are known again, whatever they are kept in."""
    places = [COLUMNS.index(name) for name in _REMEMBERED]
    return _digest(tuple(row[place] for place in places) for row in rows)


def _digest(rows: Iterable[tuple[Any, ...]]) -> str:
    mark = hashlib.sha256()
    for release, key, step, value, low, high, label in rows:
        numbers = [None if number is None else float(number) for number in (value, low, high)]
        mark.update(repr((release, key, int(step), *numbers, label)).encode())
    return mark.hexdigest()


def _path(handle: int) -> str:
    """By which DuckDB opens what has no name and is open already."""
    own = f"/proc/{os.getpid()}/fd"
    return f"{own}/{handle}" if Path(own).is_dir() else f"/dev/fd/{handle}"


def _nameless() -> int:
    """A file that nobody else can open: in memory, where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("ameles", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _texts(rows: list[Row], place: int) -> Any:
    """A column for DuckDB; as texts, because it would guess the type of a mixed one."""
    held = np.empty(len(rows), dtype=object)
    held[:] = [None if row[place] is None else str(row[place]) for row in rows]
    return held
