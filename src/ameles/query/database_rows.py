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


# Each table and view that a connection sees: its place, whether it is temporary, and a view.
_SEEN = """
SELECT database_name, schema_name, table_name, temporary, false FROM duckdb_tables()
UNION ALL SELECT database_name, schema_name, view_name, temporary, true FROM duckdb_views()
"""
_PLACE = "SELECT current_database(), current_schema(), current_setting('search_path')"

# The SQL of a table of DuckDB's own.
_WRITTEN = """
SELECT sql FROM duckdb_tables() JOIN duckdb_databases() USING (database_name)
WHERE type = 'duckdb' AND database_name = $1 AND schema_name = $2 AND table_name = $3
"""


def _meant(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """The database, schema and name of the table or view that a connection means.

    A cursor of the connection has neither its current schema nor its temporary tables, and would
    find another table of this name.
    """
    with quiet("looking for a table"):
        [(database, schema, path)] = connection.sql(_PLACE).fetchall()
        seen = connection.sql(_SEEN).fetchall()
    *inside, called = table.lower().split(".")

    def is_meant(one: tuple[Any, ...]) -> bool:
        d, s, name = (text.lower() for text in one[:3])
        here = d == database.lower()
        match inside:
            case []:
                place = one[3] or (here and s == schema.lower())
            case [within]:
                place = within == d or (within == s and (here or one[3]))
            case _:
                place = inside == [d, s]
        return name == called and bool(place)

    meant = [one for one in seen if is_meant(one)]
    hides = {one[2].lower() for one in seen if one[3]}
    if called in hides and any(one[3] for one in meant):
        raise _hidden(f"'{table}' is temporary: a temporary table or view, or a registered object.")
    if len(meant) != 1 or ("," in path and len(inside) < 2):
        raise BadInput(
            f"The name '{table}' does not lead to one table or view of the connection.",
            why="it is looked for in the current database and schema, and in no others",
            tip='a name with its database and schema, such as "clinic.main.visits"',
        )
    [(*names, _, view)] = meant
    if view and any(one[2].lower() in hides for one in seen if not one[3]):
        raise _hidden(f"The view '{table}' may read a table that a temporary one hides.")
    return names


def _hidden(what: str) -> BadInput:
    return BadInput(
        what,
        why="questions run on a cursor of the connection, which has no temporary tables and would "
        "read another table",
        tip="a table that is not temporary, or Table.from_dataframe with the frame itself",
    )


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
        self._connection, self._parts = connection, _meant(connection, table)
        self._table = ".".join(map(identifier, self._parts))
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
        may be anything, and so may a table of an attached database of another kind.  A collation of
        the connection cannot be undone.
        """
        [(collation,)] = cursor.execute("SELECT current_setting('default_collation')").fetchall()
        if collation:
            return False
        if once:
            return True
        written = cursor.execute(_WRITTEN, self._parts).fetchall()
        return len(written) == 1 and "GENERATED" not in written[0][0].upper()

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
        ours = SourceUnreadable(
            f"Postgres cannot read {self._called[0].lower()}{self._called[1:]}.",
            why=f"it reports a {kind}; its own message is hidden, because it may quote rows",
            tip="the address of the database, the name of the table, and the right to read it",
        )
        try:
            raise ours from None
        finally:
            ours.__context__ = None  # "from None" would only hide an error that quotes rows


# How Postgres writes values as texts, whatever the settings of the server and the role are.
_TEXTS = {
    "client_encoding": "UTF8",
    "datestyle": "ISO, YMD",
    "timezone": "UTC",
    "extra_float_digits": "1",
}

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
