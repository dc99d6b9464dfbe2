"""What a source gives, as plain rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from ameles.connectors.duck import connect
from ameles.connectors.reading import Reading
from ameles.connectors.source import SeekableSource
from ameles.measures.fields import identifier
from tests.connectors.opening import open_files

MEMORY = 256 << 20


def rows(
    source: SeekableSource[Any],
    columns: dict[str, str],
    position: str | None = None,
    *,
    zone: str = "UTC",
) -> list[tuple[Any, ...]]:
    """All rows beyond a position, sorted; times as microseconds."""
    return rows_of(source.reading(position), columns, zone=zone)


def rows_of(
    reading: Reading, columns: dict[str, str], *, zone: str = "UTC"
) -> list[tuple[Any, ...]]:
    asked = ", ".join(
        f"epoch_us({identifier(name)})" if kind == "timestamp" else identifier(name)
        for name, kind in columns.items()
    )
    rows: list[tuple[Any, ...]] = []
    with connected(zone, reading.paths) as duck:
        for relation in reading.scans(duck):
            rows += duck.execute(f"SELECT {asked} FROM {relation}").fetchall()
    return sorted(rows, key=repr)


@contextmanager
def connected(zone: str, readable: tuple[str, ...]) -> Iterator[duckdb.DuckDBPyConnection]:
    """One that may open some files, or a shared one that may open none, as a session's is."""
    if not readable:
        yield shared(zone)
        return
    with closing(connect(zone=zone, memory=MEMORY, readable=readable)) as duck:
        yield duck


@cache
def shared(zone: str = "UTC") -> duckdb.DuckDBPyConnection:
    """For all readings that hand over what they read: to connect takes longer than most of them."""
    return connect(zone=zone, memory=MEMORY)


def rows_in(
    file: Path, content: bytes, columns: dict[str, str], *, zone: str = "UTC"
) -> list[tuple[Any, ...]]:
    """The rows of a file with this content."""
    file.write_bytes(content)
    source = open_files(file.name, columns, file.parent, take_last=True)
    return rows(source, columns, zone=zone)
