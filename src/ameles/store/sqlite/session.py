"""A transaction on a SQLite connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ameles.core.exceptions import StoreRefused
from ameles.store.columns import Columns, height, rows
from ameles.store.session import Connected, Row
from ameles.store.sqlite import whole_tables
from ameles.store.sqlite.connection import StoreConnection
from ameles.store.sqlite.problems import is_double, refusal

_CHUNK = 4096
# The most rows of one INSERT.  Each call of SQLite lets other threads run, and then waits until
# they let it go on; so a few large calls are much quicker than many small ones.
_AT_ONCE = 64

# The outer loop is over steps, the inner one over releases: rows come in order, without sorting.
# For SQLite, CROSS JOIN fixes the order of the loops.  The plus keeps it from using the range of
# steps a second time, which would read all rows of the range for each step.
PUBLISHED = (
    "SELECT step.step, step.start_us, step.end_us, release.series, release.value, release.low, "
    "release.high, release.label FROM step CROSS JOIN release WHERE step.stream = ? "
    "AND step.step BETWEEN ? AND ? AND release.stream = step.stream "
    "AND release.step = +step.step AND release.series BETWEEN ? AND ? "
    "ORDER BY step.step, release.series"
)
ONE_COLUMN = {
    name: f"SELECT release.{name} FROM step CROSS JOIN release WHERE step.stream = ? "
    "AND step.step BETWEEN ? AND ? AND release.stream = step.stream "
    "AND release.step = +step.step AND release.series BETWEEN ? AND ? "
    "ORDER BY step.step, release.series"
    for name in ("value", "low", "high", "label")
}


class SqliteSession(Connected[StoreConnection]):
    """From ``begin`` to ``end``."""

    failures = (sqlite3.Error, OverflowError, UnicodeEncodeError)

    def __init__(self, connection: StoreConnection, where: str, *, writable: bool) -> None:
        super().__init__(connection, where, writable=writable)
        self._reading: list[sqlite3.Cursor] = []

    def begin(self, how: str) -> None:
        """Starts the transaction; the moment that it sees is now, not at its first question."""
        connection = self._open()
        if connection.in_transaction:  # an earlier try failed halfway
            connection.execute("ROLLBACK")
        connection.only_read(not self._writable)
        connection.execute(how)
        if not self._writable:  # who may write sees the moment at which it was let in
            connection.execute("SELECT count(*) FROM meta").fetchone()

    def commit(self) -> None:
        """Keeps everything, durably; refused if a change has failed."""
        self._check_whole()
        self._close_cursors()
        try:
            self._open().execute("COMMIT")
        except sqlite3.Error as problem:
            raise refusal(problem, self._where) from None

    def end(self) -> bool:
        """Rolls back what was not committed; whether the connection is fit for another one."""
        connection, self._connection = self._connection, None
        if connection is None:
            return False
        try:
            self._close_cursors()
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            return False
        return not connection.in_transaction and not self._failed

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        try:
            return self._open().execute(sql, values).fetchall()
        except self.failures as problem:
            raise self._broken(problem) from None

    def lookup(self, table: str, keys: Columns, wanted: Sequence[str]) -> list[Row]:
        connection = self._open()
        given = {"place": np.arange(height(keys)), **keys}
        try:
            connection.only_read(False)
            names = _names(tuple(given))
            connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS asked_{table} ({names})")
            connection.execute(f"DELETE FROM temp.asked_{table}")
            _insert(connection, f"temp.asked_{table}", given)
            connection.only_read(not self._writable)
        except self.failures as problem:
            raise self._broken(problem) from None
        return self.rows(lookup_sql(table, tuple(keys), wanted))

    def published(
        self, stream: int, steps: tuple[int, int], series: tuple[int, int]
    ) -> Iterator[list[Row]]:
        try:
            cursor = self._open().execute(PUBLISHED, (stream, *steps, *series))
            self._reading.append(cursor)
            while chunk := self._more(cursor):
                yield chunk
        except self.failures as problem:
            raise self._broken(problem) from None

    def published_column(
        self, stream: int, steps: tuple[int, int], series: tuple[int, int], column: str
    ) -> list[Row]:
        return self.rows(ONE_COLUMN[column], (stream, *steps, *series))

    def write(self, sql: str, values: Sequence[Any] = (), *, double: str = "") -> None:
        connection = self._changing()
        try:
            connection.execute(sql, values)
        except self.failures as problem:
            raise self._broken(problem, double) from None

    def append(self, table: str, columns: Columns, *, double: str = "") -> None:
        self._write_many(table, columns, double=double)

    def replace(self, table: str, columns: Columns, key: Sequence[str]) -> None:
        self._write_many(table, columns, tuple(key))

    def copy_into(self, path: Path) -> None:
        """Copies the database, as this transaction sees it, into an empty file."""
        try:
            whole_tables.copy_into(self._open(), path)
        except self.failures as problem:
            raise self._broken(problem) from None

    def tables(self) -> dict[str, tuple[str, ...]]:
        return whole_tables.tables(self._open())

    def dump(self, table: str, columns: Sequence[str]) -> Iterator[list[Row]]:
        try:
            cursor = self._open().execute(whole_tables.everything(table, columns))
            self._reading.append(cursor)
            while chunk := self._more(cursor):
                yield chunk
        except self.failures as problem:
            raise self._broken(problem) from None

    def fill(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        connection = self._changing()
        try:
            whole_tables.fill(connection, table, columns, rows)
        except self.failures as problem:
            raise self._broken(problem) from None

    def empty(self) -> None:
        connection = self._changing()
        try:
            whole_tables.empty(connection)
        except self.failures as problem:
            raise self._broken(problem) from None

    def _write_many(
        self, table: str, columns: Columns, key: tuple[str, ...] = (), *, double: str = ""
    ) -> None:
        connection = self._changing()
        try:
            _insert(connection, table, columns, key)
        except BaseException as problem:
            raise self._broken(problem, double) from None

    def _more(self, cursor: sqlite3.Cursor) -> list[Row]:
        self._open()
        return cursor.fetchmany(_CHUNK)

    def _refusal(self, problem: Exception) -> StoreRefused:
        return refusal(problem, self._where)

    def _is_double(self, problem: Exception) -> bool:
        return is_double(problem)

    def _close_cursors(self) -> None:
        for cursor in self._reading:
            cursor.close()
        self._reading.clear()


def _insert(
    connection: sqlite3.Connection, table: str, columns: Columns, key: tuple[str, ...] = ()
) -> None:
    """Inserts rows, many with each call; replaces those with the same key, if one is given."""
    (full, rest), given = divmod(height(columns), _AT_ONCE), rows(columns)
    names = tuple(columns)
    if full:
        some = (tuple(chain.from_iterable(islice(given, _AT_ONCE))) for _ in range(full))
        connection.executemany(_rows_sql(table, names, key, _AT_ONCE), some)
    if rest:
        connection.execute(_rows_sql(table, names, key, rest), tuple(chain.from_iterable(given)))


@lru_cache(maxsize=256)
def _rows_sql(table: str, names: tuple[str, ...], key: tuple[str, ...], count: int) -> str:
    """The INSERT of so many rows; the same text each time, for which SQLite keeps its plan."""
    row = f"({', '.join('?' for _ in names)})"
    sql = f"INSERT INTO {table} ({_names(names)}) VALUES {', '.join([row] * count)}"
    if not key:
        return sql
    changes = ", ".join(f'"{name}" = excluded."{name}"' for name in names if name not in key)
    return f"{sql} ON CONFLICT ({_names(key)}) DO UPDATE SET {changes}"


def lookup_sql(table: str, keys: Sequence[str], wanted: Sequence[str]) -> str:
    """SQL that looks up the rows of a table by the keys in its ``asked``."""
    columns = "".join(f', {table}."{name}"' for name in wanted)
    equal = " AND ".join(f'{table}."{name}" = asked."{name}"' for name in keys)
    return (
        f"SELECT asked.place{columns} FROM temp.asked_{table} AS asked CROSS JOIN {table} "
        f"WHERE {equal}"
    )


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)
