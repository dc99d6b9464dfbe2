"""Tables in databases: those of a DuckDB connection, and of Postgres."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import duckdb
import numpy as np

from ameles.connectors.duck import quiet
from ameles.connectors.typed_columns import Typed, typed
from ameles.core.exceptions import BadInput, SourceUnreadable
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.measures.fields import identifier
from ameles.query.row_source import (
    Duck,
    RowsNow,
    RowSource,
    declared_or_found,
    described,
    typed_relation,
)
from ameles.store.postgres.driver import driver

ROWS_AT_ONCE = 1 << 17
_BATCH = "batch_of_texts"


def qualified(table: str) -> str:
    """SQL: the name of a table, or of a table in a schema.

    >>> qualified("clinic.visits")
    '"clinic"."visits"'
    """
    return ".".join(identifier(part) for part in table.split("."))


class CopiedRows(RowSource, RowsNow):
    """Rows that can be copied, every value as text and cast by the same rules as in a file."""

    def rows_now(self) -> RowsNow:
        return self

    def _texts(self, kind: str) -> str:
        """SQL: the columns as texts; ``kind`` is the database's name of that type."""
        return ", ".join(f"CAST({identifier(name)} AS {kind})" for name in self.columns)

    def _insert_texts(self, table: str) -> str:
        """SQL that inserts a batch of texts into a table."""
        kinds = self.read_kinds
        columns = [Typed(name, kinds[name], identifier(name)) for name in self.columns]
        return f"INSERT INTO {table} SELECT {self.names} FROM {typed(columns, _BATCH)}"


class DuckRows(CopiedRows):
    """A table or view of an open DuckDB connection; queries run there."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: str,
        columns: Mapping[str, str] | None,
        user: str | None,
    ) -> None:
        self._connection, self._table = connection, qualified(table)
        self.label, self._called = table, f"The table '{table}'"
        with quiet("looking at a table"), closing(connection.cursor()) as cursor:
            self._types = described(cursor, self._table)
        super().__init__(declared_or_found(columns, self._types, user), user)
        typed_relation(self, self._table, self._types, self._called)

    def connected(self, paths: tuple[str, ...]) -> AbstractContextManager[Duck]:
        cursor = self._connection.cursor()
        cursor.execute("SET TimeZone = 'UTC'")
        # Rows are read more than once: without a transaction a user whose rows come meanwhile
        # could keep more than the bound.
        cursor.execute("BEGIN TRANSACTION")
        return closing(cursor)

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        relation = typed_relation(self, self._table, self._types, self._called)
        if self._reaches(duck):
            yield relation
            return
        # asked together with rows of another connection
        table = self.empty_table(tables)
        insert = self._insert_texts(table)
        with self.connected(()) as cursor:
            cursor.execute(f"SELECT {self._texts('VARCHAR')} FROM {relation}")
            while batch := cursor.fetchmany(ROWS_AT_ONCE):
                insert_texts(duck, insert, list(self.columns), batch)
        yield table

    def _reaches(self, duck: Duck) -> bool:
        try:
            return described(duck, self._table) == self._types
        except duckdb.Error:
            return False


class PostgresRows(CopiedRows):
    """A table of a Postgres database, read in one read-only transaction."""

    def __init__(
        self, url: str, table: str, columns: Mapping[str, str] | None, user: str | None
    ) -> None:
        self._url, self._table = url, qualified(table)
        self.label, self._called = table, f"The table '{table}'"
        with self._connected() as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {self._table} LIMIT 0")
            types = {one.name: _duck_type(one.type_display) for one in cursor.description}
        super().__init__(declared_or_found(columns, types, user), user)
        missing = [name for name in self.columns if name not in types]
        if missing:
            raise BadInput(
                f"{self._called} has no column '{missing[0]}'.",
                tip=f"one of {', '.join(types)[:200]}",
            )

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        table = self.empty_table(tables)
        insert = self._insert_texts(table)
        with self._connected() as connection, connection.cursor("rows") as cursor:
            cursor.itersize = ROWS_AT_ONCE
            cursor.execute(f"SELECT {self._texts('text')} FROM {self._table}")
            while batch := cursor.fetchmany(ROWS_AT_ONCE):
                insert_texts(duck, insert, list(self.columns), batch)
        yield table

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        psycopg = driver()
        try:
            with psycopg.connect(self._url) as connection:
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                connection.read_only = True
                for setting, value in _TEXTS.items():
                    connection.execute(f"SET LOCAL {setting} = '{value}'")
                yield connection
        except psycopg.Error as error:
            kind = type(error).__name__
        else:
            return
        raise SourceUnreadable(
            f"Postgres cannot read {self._called[0].lower()}{self._called[1:]}.",
            why=f"it reports a {kind}; its own message is hidden, because it may quote rows",
            tip="the address of the database, the name of the table, and the right to read it",
        )


# How Postgres writes values as texts, whatever the settings of the server and the role are.
_TEXTS = {"datestyle": "ISO, YMD", "timezone": "UTC", "extra_float_digits": "1"}

# Postgres's own names of types, as DuckDB's.
_POSTGRES = {
    "text": "VARCHAR",
    "varchar": "VARCHAR",
    "bpchar": "VARCHAR",
    "uuid": "UUID",
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "numeric": "DECIMAL(38,10)",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}


def _duck_type(shown: str) -> str:
    """DuckDB's name of a type of Postgres; empty if a column of it has no kind.

    >>> _duck_type("varchar(20)"), _duck_type("numeric(10,2)"), _duck_type("int4[]")
    ('VARCHAR', 'DECIMAL(38,10)', '')
    """
    return "" if shown.endswith("]") else _POSTGRES.get(shown.partition("(")[0], "")


def insert_texts(duck: Duck, insert: str, names: Sequence[str], batch: Sequence[Any]) -> None:
    """Inserts a batch of rows, given as texts."""
    columns = zip(names, zip(*batch, strict=True), strict=True)
    duck.register(_BATCH, {name: np.array(one, dtype=object) for name, one in columns})
    try:
        duck.execute(insert)
    finally:
        duck.unregister(_BATCH)
