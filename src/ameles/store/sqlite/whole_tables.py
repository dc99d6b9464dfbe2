"""Whole tables of a SQLite database: what a backup reads and a restore replaces."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ameles.store.migration import table_names
from ameles.store.session import Row

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"


_JOURNAL = 18  # the place of two bytes in the head of a database: 2 with a write-ahead log, else 1


def copy_into(connection: sqlite3.Connection, path: Path) -> None:
    """Copies a database into an empty file: all pages in one step, of one moment.

    The copy needs no log beside it.
    """
    with closing(raw(path)) as copy:
        try:
            connection.backup(copy)
        except sqlite3.OperationalError as problem:
            raise of_file(problem) from None
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.pwrite(handle, b"\x01\x01", _JOURNAL)
    finally:
        os.close(handle)


def of_file(problem: sqlite3.Error) -> Exception:
    """The error of a file that cannot be written, as the operating system says it."""
    numbers = {sqlite3.SQLITE_FULL: errno.ENOSPC, sqlite3.SQLITE_IOERR: errno.EIO}
    number = numbers.get(getattr(problem, "sqlite_errorcode", 0) & 0xFF)
    return problem if number is None else OSError(number, os.strerror(number))


def raw(path: Path) -> sqlite3.Connection:
    """A connection to a file of which nothing must be kept if it fails: no journal, no syncs."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)
    connection.isolation_level = None
    for setting in ("journal_mode = OFF", "synchronous = OFF", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def tables(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """All tables with their columns, in the order in which migrations make them."""
    there = {name for (name,) in connection.execute(_TABLES)}
    return {
        name: tuple(row[1] for row in connection.execute(f"PRAGMA table_info({name})"))
        for name in table_names()
        if name in there
    }


def everything(table: str, columns: Sequence[str]) -> str:
    """The query for all rows of a table."""
    return f"SELECT {_list(columns)} FROM {table}"


def fill(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[Row]
) -> None:
    """Inserts rows into a table."""
    marks = ", ".join("?" for _ in columns)
    connection.executemany(f"INSERT INTO {table} ({_list(columns)}) VALUES ({marks})", rows)


def empty(connection: sqlite3.Connection) -> None:
    """Removes all rows of all tables; the triggers that forbid it are back when it returns."""
    triggers = connection.execute(_TRIGGERS).fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("PRAGMA defer_foreign_keys = ON")  # until the end of this transaction
    for table in reversed(tables(connection)):
        connection.execute(f"DELETE FROM {table}")
    for _, text in triggers:
        connection.execute(text)


def _list(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)
