"""A transaction on a SQLite connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ameles.core.exceptions import StoreRefused
from ameles.store.problems import is_double, refusal
from ameles.store.session import Row, Session, twice

_CHUNK = 4096
_FAILURES = (sqlite3.Error, OverflowError, UnicodeEncodeError)


class SqliteSession(Session):
    """From ``begin`` to ``end``."""

    def __init__(self, connection: sqlite3.Connection, where: str, *, writable: bool) -> None:
        self._connection: sqlite3.Connection | None = connection
        self._where = where
        self._writable = writable
        self._failed = False
        self._reading: list[sqlite3.Cursor] = []

    def begin(self, how: str) -> None:
        """Starts the transaction; the moment that it sees is now, not at its first question."""
        connection = self._open()
        if connection.in_transaction:  # an earlier try came half way
            connection.execute("ROLLBACK")
        connection.execute(f"PRAGMA query_only = {'OFF' if self._writable else 'ON'}")
        connection.execute(how)
        connection.execute("SELECT count(*) FROM meta").fetchone()

    def commit(self) -> None:
        """Keeps everything, durably; refused if a change has failed."""
        if self._failed and self._writable:
            raise StoreRefused(
                f"Nothing was written to the store '{self._where}'.",
                why="a change inside this transaction had failed, and it is all or nothing",
            )
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
        except _FAILURES as problem:
            raise self._broken(problem) from None

    def chunks(self, sql: str, values: Sequence[Any] = ()) -> Iterator[list[Row]]:
        try:
            cursor = self._open().execute(sql, values)
            self._reading.append(cursor)
            while chunk := self._more(cursor):
                yield chunk
        except _FAILURES as problem:
            raise self._broken(problem) from None

    def write(self, sql: str, values: Sequence[Any] = (), *, double: str = "") -> None:
        connection = self._changing()
        try:
            connection.execute(sql, values)
        except _FAILURES as problem:
            raise self._broken(problem, double) from None

    def write_many(self, sql: str, rows: Iterable[Sequence[Any]], *, double: str = "") -> None:
        connection = self._changing()
        try:
            connection.executemany(sql, rows)
        except _FAILURES as problem:
            raise self._broken(problem, double) from None
        except BaseException:
            self._failed = True  # some of the rows are there
            raise

    def scratch(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        connection = self._open()
        marks = ", ".join("?" for _ in columns.split(","))
        try:
            connection.execute("PRAGMA query_only = OFF")
            connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {table} ({columns})")
            connection.execute(f"DELETE FROM temp.{table}")
            connection.executemany(f"INSERT INTO temp.{table} VALUES ({marks})", rows)
            connection.execute(f"PRAGMA query_only = {'OFF' if self._writable else 'ON'}")
        except _FAILURES as problem:
            raise self._broken(problem) from None

    def _more(self, cursor: sqlite3.Cursor) -> list[Row]:
        self._open()
        return cursor.fetchmany(_CHUNK)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreRefused(
                f"This transaction of the store '{self._where}' has ended.",
                why="what it would read or write now belongs to no moment",
                tip="store.reading() or store.writing()",
            )
        return self._connection

    def _changing(self) -> sqlite3.Connection:
        connection = self._open()
        if not self._writable:
            raise StoreRefused(
                f"This transaction only reads the store '{self._where}'.", tip="store.writing()"
            )
        return connection

    def _broken(self, problem: Exception, double: str = "") -> StoreRefused:
        # Rows before the one that failed may be there: now it is all or nothing.
        self._failed = True
        if double and is_double(problem):
            return twice(double)
        return refusal(problem, self._where)

    def _close_cursors(self) -> None:
        for cursor in self._reading:
            cursor.close()
        self._reading.clear()
