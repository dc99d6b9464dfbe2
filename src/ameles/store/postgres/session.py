"""A transaction on a Postgres connection.

Writers take turns: each first locks the table ``meta``, which does not block readers, and only then
reads the store.  Its snapshot begins after the lock, so what it reads cannot change under it, and
noise is never drawn for a commit that loses a race (docs/decisions/store.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from ameles.core.exceptions import StoreRefused
from ameles.store import migration
from ameles.store.columns import Column, Columns, block, height, is_real, rows
from ameles.store.postgres import migration as postgres_migration
from ameles.store.postgres import whole_tables
from ameles.store.postgres.binary_arrays import array
from ameles.store.postgres.connection import DEMANDS, MARK, Wire, unsafe
from ameles.store.postgres.driver import driver
from ameles.store.postgres.problems import READ_ONLY, is_double, refusal, sentence
from ameles.store.postgres.published_sql import ONE_COLUMN, PUBLISHED
from ameles.store.session import Connected, Row
from ameles.store.unavailable import StoreAway

_CHUNK = 4096
_BLOCK = 1 << 16

# The first query comes after the lock: with REPEATABLE READ it takes the snapshot.
_LOOK = (
    f"SELECT (SELECT value FROM meta WHERE name = 'version'), current_setting('{MARK}', true), "
    "current_setting('transaction_read_only'), current_setting('synchronous_commit')"
)
READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_LOOK}"
WRITE = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE meta IN SHARE ROW EXCLUSIVE MODE; " + _LOOK
)


class PostgresSession(Connected[Wire]):
    """From ``begin`` to ``end``."""

    def __init__(self, wire: Wire, where: str, *, writable: bool) -> None:
        super().__init__(wire, where, writable=writable)
        self._psycopg = driver()
        self.failures = (self._psycopg.Error, OverflowError, UnicodeEncodeError)
        self._reading: list[Any] = []

    def begin(self) -> None:
        """Starts the transaction; the moment that it sees is now, not at its first question."""
        wire = self._open()
        try:
            cursor = wire.execute(WRITE if self._writable else READ)
            while cursor.nextset():
                pass
            version, mark, read_only, durable = cursor.fetchone()
        except self.failures as problem:
            raise self._broken(problem) from None
        number = int(version) if str(version).isdecimal() else -1
        migration.check(number, len(postgres_migration.scripts()), self._where)
        if mark != wire.mark:
            raise StoreRefused(
                f"The store '{self._where}' is behind a pooler that switches server connections.",
                why="the locks and settings of a connection must stay with it",
                tip="the address of the server itself, or a pooler in session mode",
            )
        if self._writable and read_only != "off":
            raise sentence(READ_ONLY, self._where)
        expected, why = DEMANDS["synchronous_commit"]
        if self._writable and durable != expected:
            raise unsafe(self._where, "synchronous_commit", expected, why)

    def commit(self) -> None:
        """Keeps everything, durably; refused if a change has failed."""
        self._check_whole()
        wire = self._open()
        try:
            self._close_cursors()
        except self.failures as problem:
            raise self._broken(problem) from None
        try:
            ended = wire.execute("COMMIT").statusmessage
        except self.failures as problem:
            if wire.broken and self._writable:
                raise StoreAway(
                    f"The store '{self._where}' did not confirm the last transaction.",
                    why="the connection broke during the commit: all of it was kept, or nothing",
                    tip="run again: the store then shows what was kept",
                ) from None
            raise self._broken(problem) from None
        if self._writable and ended != "COMMIT":
            # COMMIT after a failed statement is no error in Postgres: it rolls back, and says so.
            self._failed = True
            self._check_whole()

    def end(self) -> bool:
        """Rolls back what was not committed; whether the connection is fit for another one."""
        wire, self._connection = self._connection, None
        if wire is None:
            return False
        idle = self._psycopg.pq.TransactionStatus.IDLE
        try:
            self._close_cursors()
            if not wire.broken and wire.connection.info.transaction_status != idle:
                wire.execute("ROLLBACK")
        except self._psycopg.Error:
            return False
        return not wire.broken and wire.connection.info.transaction_status == idle

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        try:
            rows: list[Row] = self._open().ask(_marked(sql), values or None).fetchall()
        except self.failures as problem:
            raise self._broken(problem) from None
        return rows

    def lookup(self, table: str, keys: Columns, wanted: Sequence[str]) -> list[Row]:
        question, fixed = lookup_sql(table, keys, wanted)
        answer: list[Row] = []
        for first, part in _blocks(keys):
            rows = self.rows(question, [*_arrays(part), *fixed])
            answer += [(first + place - 1, *columns) for place, *columns in rows]
        return answer

    def published(
        self, stream: int, steps: tuple[int, int], series: tuple[int, int]
    ) -> Iterator[list[Row]]:
        wire = self._open()
        try:
            cursor = wire.connection.cursor(f"c{len(self._reading)}", binary=True)
            self._reading.append(cursor)
            cursor.execute(_marked(PUBLISHED), (*series, stream, *steps))
            while chunk := self._more(cursor):
                yield [
                    (
                        *place,
                        value_real if value is None else value,
                        low_real if low is None else low,
                        high_real if high is None else high,
                        label,
                    )
                    for (
                        *place,
                        value,
                        value_real,
                        low,
                        low_real,
                        high,
                        high_real,
                        label,
                    ) in chunk
                ]
        except self.failures as problem:
            raise self._broken(problem) from None

    def published_column(
        self, stream: int, steps: tuple[int, int], series: tuple[int, int], column: str
    ) -> list[Row]:
        return self.rows(ONE_COLUMN[column], (*series, stream, *steps))

    def write(self, sql: str, values: Sequence[Any] = (), *, double: str = "") -> None:
        wire = self._changing()
        try:
            wire.execute(_marked(sql), values or None)
        except self.failures as problem:
            raise self._broken(problem, double) from None

    def append(self, table: str, columns: Columns, *, double: str = "") -> None:
        wire = self._changing()
        names = ", ".join(
            f'"{name}_real"' if is_real(column) else f'"{name}"' for name, column in columns.items()
        )
        statement = f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)"
        try:
            for _, part in _blocks(columns):
                with wire.connection.cursor().copy(statement) as copy:
                    copy_rows(copy, part)
        except BaseException as problem:
            raise self._broken(problem, double) from None

    def replace(self, table: str, columns: Columns, key: Sequence[str]) -> None:
        names = ", ".join(f'"{name}"' for name in columns)
        fixed = {name: value for name, value in columns.items() if isinstance(value, int | str)}
        many = [name for name in columns if name not in fixed]
        chosen = ", ".join("?::bigint" if name in fixed else f'"{name}"' for name in columns)
        given = ", ".join(f'"{name}"' for name in many)
        marks = ", ".join("?" for _ in many)
        keys = ", ".join(f'"{name}"' for name in key)
        changes = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name not in key)
        for _, part in _blocks(columns):
            self.write(
                f"INSERT INTO {table} ({names}) SELECT {chosen} FROM unnest({marks}) "
                f"AS given ({given}) ON CONFLICT ({keys}) DO UPDATE SET {changes}",
                [*fixed.values(), *_arrays(part)],
            )

    def tables(self) -> dict[str, tuple[str, ...]]:
        try:
            return whole_tables.tables(self._open())
        except self.failures as problem:
            raise self._broken(problem) from None

    def dump(self, table: str, columns: Sequence[str]) -> Iterator[list[Row]]:
        wire = self._open()
        try:
            types = whole_tables.types_of(wire, table)
            cursor = wire.connection.cursor(f"c{len(self._reading)}", binary=True)
            self._reading.append(cursor)
            for chunk in whole_tables.dump(cursor, table, columns, types):
                self._open()
                yield chunk
        except self.failures as problem:
            raise self._broken(problem) from None

    def fill(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        wire = self._changing()
        try:
            whole_tables.fill(wire, table, columns, rows, whole_tables.types_of(wire, table))
        except self.failures as problem:
            raise self._broken(problem) from None

    def empty(self) -> None:
        wire = self._changing()
        try:
            self._close_cursors()  # no table may be altered while one is open on it
            whole_tables.empty(wire)
        except self.failures as problem:
            raise self._broken(problem) from None

    def _more(self, cursor: Any) -> list[Row]:
        self._open()
        rows: list[Row] = cursor.fetchmany(_CHUNK)
        return rows

    def _refusal(self, problem: Exception) -> StoreRefused:
        return refusal(problem, self._where)

    def _is_double(self, problem: Exception) -> bool:
        return is_double(problem)

    def _close_cursors(self) -> None:
        for cursor in self._reading:
            cursor.close()
        self._reading.clear()


@lru_cache(maxsize=256)
def _marked(sql: str) -> str:
    """A statement with psycopg's placeholders for its values."""
    return sql.replace("%", "%%").replace("?", "%s")


def lookup_sql(table: str, keys: Columns, wanted: Sequence[str]) -> tuple[str, list[int | str]]:
    """The query that looks up many keys, and the values in it that are the same for all keys."""
    many = [name for name, column in keys.items() if not isinstance(column, int | str)]
    given = ", ".join(f'"{name}"' for name in many)
    marks = ", ".join("?" for _ in many)
    columns = ", ".join(f'"{name}"' for name in wanted)
    equal = " AND ".join(
        f'{table}."{name}" = ' + (f'asked."{name}"' if name in many else "?") for name in keys
    )
    question = (
        f"SELECT asked.place, rows.* FROM unnest({marks}) WITH ORDINALITY AS asked ({given}, "
        f"place) CROSS JOIN LATERAL (SELECT {columns} FROM {table} WHERE {equal} OFFSET 0) AS rows"
    )
    return question, [column for column in keys.values() if isinstance(column, int | str)]


def copy_rows(copy: Any, columns: Columns) -> None:
    """Writes rows into a binary COPY that is open."""
    copy.set_types([_type_of(column) for column in columns.values()])
    for row in rows(columns):
        copy.write_row(row)


def _type_of(column: Column) -> str:
    """The type of a column in Postgres."""
    if is_real(column):
        return "float8"
    first = column if isinstance(column, int | str) else column[0]
    if isinstance(first, str):
        return "text"
    return "bytea" if isinstance(first, bytes) else "int8"


def _blocks(columns: Columns) -> Iterator[tuple[int, Columns]]:
    """Blocks that fit into one statement, with the place of their first row."""
    for first in range(0, height(columns), _BLOCK):
        yield first, block(columns, first, first + _BLOCK)


def _arrays(columns: Columns) -> list[bytes]:
    return [array(column) for column in columns.values() if not isinstance(column, int | str)]
