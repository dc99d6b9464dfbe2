"""Whole tables of a Postgres schema: what a backup reads and a restore replaces.

A number that may be whole or real is one column of a backup and two in Postgres: ``value`` and
``value_real``, of which one is NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ameles.store.migration import table_names
from ameles.store.postgres.connection import Wire
from ameles.store.session import Row

_REAL = "_real"
_CHUNK = 4096
_COLUMNS = (
    "SELECT relname, attname, atttypid::regtype::text FROM pg_class "
    "JOIN pg_attribute ON attrelid = pg_class.oid "
    "WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'meta'::regclass) "
    "AND relkind = 'r' AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
)


def tables(wire: Wire) -> dict[str, tuple[str, ...]]:
    """All tables with their columns, in the order in which migrations make them."""
    found: dict[str, list[str]] = {}
    for table, column, _ in wire.execute(_COLUMNS):
        found.setdefault(table, []).append(column)
    return {
        table: tuple(name for name in found[table] if not _is_second(name, found[table]))
        for table in table_names()
        if table in found
    }


def dump(cursor: Any, table: str, columns: Sequence[str], types: dict[str, str]) -> Iterator[Any]:
    """All rows of a table, some thousands at a time; ``cursor`` is one of the server."""
    chosen = _chosen(columns, types)
    listed = ", ".join(f'"{column}"' for column in chosen)
    cursor.execute(f'SELECT {listed} FROM "{table}"')
    while rows := cursor.fetchmany(_CHUNK):
        yield rows if len(chosen) == len(columns) else [_joined(row, chosen) for row in rows]


def fill(
    wire: Wire, table: str, columns: Sequence[str], rows: Sequence[Row], types: dict[str, str]
) -> None:
    """Inserts rows into a table."""
    chosen = _chosen(columns, types)
    listed = ", ".join(f'"{column}"' for column in chosen)
    with wire.connection.cursor().copy(
        f'COPY "{table}" ({listed}) FROM STDIN (FORMAT BINARY)'
    ) as copy:
        copy.set_types([types[column] for column in chosen])
        for row in rows:
            copy.write_row(_parted(row, columns, types))


def empty(wire: Wire) -> None:
    """Removes all rows of all tables; the triggers that forbid it are on again when it returns.

    Rows are deleted and not truncated: a reader that began before goes on seeing them.
    """
    names = list(tables(wire))
    for table in reversed(names):
        wire.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
        wire.execute(f'DELETE FROM "{table}"')
    for table in names:
        wire.execute(f'ALTER TABLE "{table}" ENABLE TRIGGER USER')


def types_of(wire: Wire, table: str) -> dict[str, str]:
    """The type of each column of a table."""
    return {column: kind for name, column, kind in wire.execute(_COLUMNS) if name == table}


def _is_second(column: str, columns: Sequence[str]) -> bool:
    return column.endswith(_REAL) and column.removesuffix(_REAL) in columns


def _chosen(columns: Sequence[str], types: dict[str, str]) -> list[str]:
    """The columns in Postgres; each second one after its first."""
    both = ((column, f"{column}{_REAL}") for column in columns)
    return [column for pair in both for column in pair if column in types]


def _joined(row: Row, chosen: Sequence[str]) -> Row:
    """A row of a backup from a row of Postgres."""
    joined: list[Any] = []
    for column, value in zip(chosen, row, strict=True):
        if not _is_second(column, chosen):
            joined.append(value)
        elif value is not None:
            joined[-1] = value
    return tuple(joined)


def _parted(row: Row, columns: Sequence[str], types: dict[str, str]) -> list[Any]:
    """A row of Postgres from a row of a backup."""
    parted: list[Any] = []
    for column, value in zip(columns, row, strict=True):
        real = isinstance(value, float)
        if f"{column}{_REAL}" in types:
            parted += [None, value] if real else [value, None]
        else:
            parted.append(value)
    return parted
