"""A Parquet file of all releases: rewritten whole, and replaced in one instant.

Whose file it is, and its last step, stand in the metadata of the file itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from ameles.connectors import durable
from ameles.connectors.duck import connect, quiet
from ameles.connectors.sink import Row, Sink
from ameles.core import codec
from ameles.core.exceptions import PlanError, StoreRefused
from ameles.core.release import COLUMNS
from ameles.measures.fields import identifier, literal

_AT_ONCE = 50_000  # rows in Python's memory
_MEMORY = 1 << 30
_KINDS = {
    "BIGINT": ("step", "entry"),
    "TIMESTAMPTZ": ("start", "end"),
    "DOUBLE": ("value", "low", "high"),
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}
# Quoted, because some are also words of SQL.
_TYPES = {identifier(name): _KIND_OF.get(name, "VARCHAR") for name in COLUMNS}
_KEY = "ameles"


class ParquetSink(Sink):
    """One file; every write needs the rows of all steps."""

    def __init__(self, name: str, path: Path, stream: str, identity: str) -> None:
        self.name = name
        self._path = path.absolute()
        self._fresh = self._path.with_name(path.name + ".new")
        self._stream = stream
        self._identity = identity
        if any(character in str(self._path) for character in "*?["):
            raise PlanError(
                f"The path of the sink {name} has one of the characters * ? [ in it.",
                why="DuckDB would take it for a pattern",
                tip="another name for the file or its folder",
            )
        with durable.writing(name):
            self._last = self._opened()

    def last(self) -> int:
        return self._last

    def first_needed(self, sent: int) -> int:
        # All of them, but only if there is something to write: the engine compares with
        # what it has released, and gives nothing where this is beyond.
        return 1

    def write(self, rows: Iterable[Row], through: int) -> None:
        if through <= self._last:
            return
        with durable.writing(self.name):
            # Made here, so that it has the permissions of any file of this user.
            self._fresh.open("wb").close()
            with closing(self._connect(self._fresh)) as duck, quiet("writing releases"):
                _fill(duck, rows)
                duck.execute(self._copy(through)).fetchall()
            with self._fresh.open("rb") as file:
                os.fsync(file.fileno())
            self._fresh.replace(self._path)
            durable.sync_folder(self._path.parent)
        self._last = through

    def _connect(self, path: Path) -> duckdb.DuckDBPyConnection:
        return connect(zone="UTC", memory=_MEMORY, readable=[str(path)])

    def _copy(self, through: int) -> str:
        note = codec.write(
            "sink",
            1,
            {"stream": self._stream, "identity": self._identity, "last": through},
        )
        # DuckDB's own temporary file would be one that it may not open.
        options = f"FORMAT parquet, USE_TMP_FILE false, KV_METADATA {{{_KEY}: {literal(note)}}}"
        rows = f"SELECT {', '.join(_TYPES)} FROM records ORDER BY place"
        return f"COPY ({rows}) TO {literal(str(self._fresh))} ({options})"

    def _opened(self) -> int:
        """The last step of the file, once it is seen to be ours."""
        if not self._path.exists() or not self._path.stat().st_size:
            return 0
        note = self._note()
        if note is None:
            raise self._refused("was not written by Ameles, or is damaged")
        if note.get("identity") != self._identity:
            raise self._refused(f"belongs to another launch of stream '{note.get('stream')}'")
        last = note.get("last")
        if type(last) is not int or last < 1:
            raise codec.damaged("sink")
        return last

    def _note(self) -> dict[str, Any] | None:
        query = f"SELECT key, value FROM parquet_kv_metadata({literal(str(self._path))})"
        try:
            with closing(self._connect(self._path)) as duck:
                found = dict(duck.execute(query).fetchall())
        except duckdb.Error:
            found = {}
        text = found.get(_KEY.encode())
        return None if text is None else codec.read("sink", 1, text.decode())

    def _refused(self, what: str) -> StoreRefused:
        return StoreRefused(
            f"The file '{self._path.name}' of the sink {self.name} {what}.",
            why="what a sink already has must stay as it was published",
            tip="another name for the sink, or move the file away to have all releases written",
        )


def _fill(duck: duckdb.DuckDBPyConnection, rows: Iterable[Row]) -> None:
    """All rows in a table, with their places, because DuckDB keeps no order by itself."""
    kinds = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
    duck.execute(f"CREATE TABLE records (place BIGINT, {kinds})").fetchall()
    columns = ", ".join(f"CAST({name} AS {kind})" for name, kind in _TYPES.items())
    remaining, done = iter(rows), 0
    while some := list(islice(remaining, _AT_ONCE)):
        held = {name: _texts(some, place) for place, name in enumerate(COLUMNS)}
        held["place"] = np.arange(done, done + len(some))
        duck.register("batch", held)
        duck.execute(f"INSERT INTO records SELECT place, {columns} FROM batch").fetchall()
        duck.unregister("batch")
        done += len(some)


def _texts(rows: list[Row], place: int) -> Any:
    """A column for DuckDB; as texts, because it would guess the type of a mixed one."""
    held = np.empty(len(rows), dtype=object)
    held[:] = [None if row[place] is None else str(row[place]) for row in rows]
    return held
