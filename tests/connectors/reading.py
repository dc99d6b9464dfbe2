"""What a source gives, as plain rows."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from ameles.connectors.duck import connect
from ameles.connectors.source import Reading, Source, open_source
from ameles.measures.fields import identifier

MEMORY = 256 << 20


def rows(
    source: Source, columns: dict[str, str], position: str | None = None, *, zone: str = "UTC"
) -> list[tuple[Any, ...]]:
    """All rows beyond a position, sorted; times as microseconds."""
    return rows_of(source, source.reading(position), columns, zone=zone)


def rows_of(
    source: Source, reading: Reading, columns: dict[str, str], *, zone: str = "UTC"
) -> list[tuple[Any, ...]]:
    asked = ", ".join(
        f"epoch_us({identifier(name)})" if kind == "timestamp" else identifier(name)
        for name, kind in columns.items()
    )
    found: list[tuple[Any, ...]] = []
    with closing(connect(zone=zone, memory=MEMORY, readable=source.paths())) as duck:
        for relation in reading.scans(duck):
            found += duck.execute(f"SELECT {asked} FROM {relation}").fetchall()
    return sorted(found, key=repr)


def rows_in(
    file: Path, content: bytes, columns: dict[str, str], *, zone: str = "UTC"
) -> list[tuple[Any, ...]]:
    """The rows of a file with this content."""
    file.write_bytes(content)
    source = open_source(file.name, columns, file.parent, take_last=True)
    return rows(source, columns, zone=zone)
