"""Tables in databases: those of a DuckDB connection, and of Postgres."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
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
    streamed,
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


# The tables and views with a name: whether each is found without its schema, and the SQL of those
# that are tables of DuckDB's own.
_NAMED = """
SELECT database_name = current_database() AND schema_name = current_schema(),
    CASE WHEN type = 'duckdb' THEN sql END
FROM duckdb_tables() JOIN duckdb_databases() USING (database_name)
WHERE lower(table_name) = lower($1)
UNION ALL SELECT true, NULL FROM duckdb_views() WHERE lower(view_name) = lower($1)
"""


class DuckRows(RowSource, RowsNow):
    """A table or view of an open DuckDB connection.

    Questions run on that connection where its rows are surely the same at each reading, or are read
    once: it has no settings of ours, so all other rows are copied into a connection of our own.
    """

    still = True  # in one of the two ways

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: str,
        columns: Mapping[str, str] | None,
        user: str | None,
    ) -> None:
        self._connection, self._table = connection, qualified(table)
        self._parts = table.split(".")
        self.label, self._called = table, f"The table '{table}'"
        with quiet("looking at a table"), closing(connection.cursor()) as cursor:
            self._types = described(cursor, self._table)
        super().__init__(declared_or_found(columns, self._types, user), user)
        typed_relation(self, self._table, self._types, self._called)
        self._in_place: set[int] = set()  # the identities of cursors that questions run on now

    def rows_now(self) -> RowsNow:
        return self

    @contextmanager
    def connected(self, paths: tuple[str, ...], *, once: bool) -> Iterator[Duck]:
        with self._cursor() as cursor:
            if self._may_stay(cursor, once=once):
                self._in_place.add(id(cursor))
                try:
                    yield cursor
                finally:
                    self._in_place.discard(id(cursor))
                return
        with super().connected(paths, once=once) as duck:
            yield duck

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        relation = typed_relation(self, self._table, self._types, self._called)
        if id(duck) in self._in_place:
            yield f"(SELECT {self._binary} FROM {relation})"
            return
        with self._cursor() as cursor:
            rows = cursor.sql(f"SELECT {self.names} FROM {relation}")
            with streamed(rows, duck) as stream:
                copy = tables.create("rows", f"SELECT * FROM {stream}")
        yield copy

    @contextmanager
    def _cursor(self) -> Iterator[Duck]:
        """A transaction: all that it reads of tables is of one moment."""
        with closing(self._connection.cursor()) as cursor:
            cursor.execute("SET TimeZone = 'UTC'")
            cursor.execute("BEGIN TRANSACTION")
            yield cursor

    def _may_stay(self, cursor: Duck, *, once: bool) -> bool:
        """Whether a question about these rows can run in this transaction.

        A table of DuckDB's own without generated columns is the same at each reading there.  A view
        may be anything, and so may a table of an attached database of another kind, or one that
        shares its name with others.  A collation of the connection cannot be undone.
        """
        [(collation,)] = cursor.execute("SELECT current_setting('default_collation')").fetchall()
        if collation:
            return False
        if once:
            return True
        named = cursor.execute(_NAMED, [self._parts[-1]]).fetchall()
        if len(named) != 1:
            return False
        [(here, written)] = named
        told = here or len(self._parts) > 1
        return told and written is not None and "GENERATED" not in written.upper()

    @property
    def _binary(self) -> str:
        """SQL: the columns, with the collation in which only equal texts are equal."""
        return ", ".join(
            f'{identifier(name)} COLLATE "binary" AS {identifier(name)}' if kind == "text" else
            identifier(name) for name, kind in self.columns.items()
        )  # fmt: skip


class PostgresRows(RowSource, RowsNow):
    """A table of a Postgres database, copied in one read-only transaction.

    Every value is copied as text, and cast by the same rules as in a file.
    """

    still = True

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

    def rows_now(self) -> RowsNow:
        return self

    @contextmanager
    def attached(self, tables: TemporaryTables, duck: Duck) -> Iterator[str]:
        table, kinds = self.empty_table(tables), self.read_kinds
        columns = [Typed(name, kinds[name], identifier(name)) for name in self.columns]
        insert = f"INSERT INTO {table} SELECT {self.names} FROM {typed(columns, _BATCH)}"
        texts = ", ".join(f"CAST({identifier(name)} AS text)" for name in self.columns)
        with self._connected() as connection, connection.cursor("rows") as cursor:
            cursor.itersize = ROWS_AT_ONCE
            cursor.execute(f"SELECT {texts} FROM {self._table}")
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
