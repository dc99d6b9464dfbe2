"""Releases as the bytes of a Parquet file, and back.

DuckDB opens files by their paths, and would follow a link.  So it writes to a nameless file, which
it opens through its descriptor; the caller, who has opened the right place safely, copies the
content.
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
# Quoted, because some are also SQL keywords.
_TYPES = {identifier(name): _KIND_OF.get(name, "VARCHAR") for name in COLUMNS}
# Created again for each file, because deleted rows would stay in memory.
_TABLE = (
    "CREATE OR REPLACE TABLE records (place BIGINT, "
    + ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
    + ")"
)
_KEY = "ameles"
_NUMBERS = ("value", "low", "high")
_REMEMBERED = ("release", "key", "step", *_NUMBERS, "label")


class ParquetRows:
    """The rows of one file that is still growing."""

    def __init__(self) -> None:
        self.size = 0
        self._waiting: list[Row] = []
        self._placed = 0
        self._handle = _nameless()
        self._duck: duckdb.DuckDBPyConnection | None = None

    def __del__(self) -> None:
        os.close(self._handle)

    def add(self, rows: Iterable[Row]) -> None:
        """Adds rows at the end."""
        self._waiting.extend(rows)
        self.size = self._placed + len(self._waiting)
        if len(self._waiting) >= _AT_ONCE:
            self._place()

    def clear(self) -> None:
        """Removes all rows."""
        self._waiting, self._placed, self.size = [], 0, 0
        if self._duck is not None:
            with quiet("writing releases"):
                self._duck.execute(_TABLE).fetchall()

    def content(self, note: str) -> bytes:
        """The bytes of a Parquet file with all rows, and with a note in its metadata."""
        self._place()
        # DuckDB is not allowed to open a temporary file of its own.
        options = f"FORMAT parquet, USE_TMP_FILE false, KV_METADATA {{{_KEY}: {literal(note)}}}"
        rows = f"SELECT {', '.join(_TYPES)} FROM records ORDER BY place"
        os.ftruncate(self._handle, 0)
        with quiet("writing releases"):
            target = literal(_path(self._handle))
            self._connected().execute(f"COPY ({rows}) TO {target} ({options})").fetchall()
        size = os.fstat(self._handle).st_size
        return os.pread(self._handle, size, 0)

    def _place(self) -> None:
        """Puts the rows into a table with their places, because DuckDB does not keep an order."""
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
    """A file that was written before, opened for a check."""

    def __init__(self, duck: duckdb.DuckDBPyConnection, path: str) -> None:
        self._duck = duck
        self._path = literal(path)

    def note(self) -> str | None:
        """The note in its metadata; None if it has none, or is not a Parquet file."""
        metadata = dict(
            self._asked(f"SELECT key, value FROM parquet_kv_metadata({self._path})") or []
        )
        text = metadata.get(_KEY.encode())
        return None if text is None else bytes(text).decode("utf-8", errors="replace")

    def digest(self, step: int) -> str | None:
        """The ``digest`` of its rows of one step; None if they cannot be read."""
        columns = ", ".join(identifier(name) for name in _REMEMBERED)
        rows = self._asked(
            f"SELECT {columns} FROM read_parquet({self._path}, file_row_number = true) "
            f"WHERE step = {step} ORDER BY file_row_number"
        )
        return None if rows is None else _digest(rows)

    def _asked(self, query: str) -> list[tuple[Any, ...]] | None:
        try:
            return self._duck.execute(query).fetchall()
        except duckdb.Error:
            return None


@contextmanager
def reading(handle: int) -> Iterator[ParquetFile]:
    """Reads a file that is already open."""
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
    """A digest of the rows of a step; it does not depend on the file that holds them."""
    places = [COLUMNS.index(name) for name in _REMEMBERED]
    return _digest(tuple(row[place] for place in places) for row in rows)


def _digest(rows: Iterable[tuple[Any, ...]]) -> str:
    mark = hashlib.sha256()
    for release, key, step, value, low, high, label in rows:
        numbers = [None if number is None else float(number) for number in (value, low, high)]
        mark.update(repr((release, key, int(step), *numbers, label)).encode())
    return mark.hexdigest()


def _path(handle: int) -> str:
    """The path by which DuckDB opens a descriptor that has no file name."""
    own = f"/proc/{os.getpid()}/fd"
    return f"{own}/{handle}" if Path(own).is_dir() else f"/dev/fd/{handle}"


def _nameless() -> int:
    """A file that nobody else can open; in memory, if the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("ameles", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _texts(rows: list[Row], place: int) -> Any:
    """A column for DuckDB, as texts, because DuckDB would guess the type of a mixed column."""
    held = np.empty(len(rows), dtype=object)
    held[:] = [None if row[place] is None else str(row[place]) for row in rows]
    return held
