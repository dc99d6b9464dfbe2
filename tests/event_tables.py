"""Tables of events in a real Postgres, as the docs say that they are made."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from ameles.connectors.declarations import Declarations
from ameles.connectors.postgres.source import PostgresSource
from ameles.connectors.reading import Reading
from ameles.connectors.sources import open_source
from tests.connectors.reading import rows_of
from tests.postgres import OWNER, SIGN_IN, Server

COLUMNS = {"who": "text id", "amount": "number", "at": "timestamp"}
AT = "2026-01-02T10:00:00Z"
TX = "tx xid8 NOT NULL DEFAULT pg_current_xact_id()"
STAY = (
    "CREATE OR REPLACE FUNCTION rows_stay() RETURNS trigger LANGUAGE plpgsql AS "
    "$$BEGIN RAISE EXCEPTION 'rows are only added'; END$$"
)
GUARD = (
    "CREATE TRIGGER rows_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {} EXECUTE FUNCTION "
    "rows_stay()"
)
_names = count()


class EventTable:
    """A table of its own, and how far it was read."""

    def __init__(self, server: Server, base: Path) -> None:
        self.server = server
        self.base = base
        self.name = f"visits_{next(_names)}"
        self.position: str | None = None
        self.secret = secret_file(base)
        self.connection = self.connect()
        self.connection.execute(
            f"CREATE TABLE {self.name} (who text, amount numeric, at timestamptz, {TX})"
        )
        self.connection.execute(STAY)
        self.connection.execute(GUARD.format(self.name))
        self.connection.execute(f"CREATE INDEX ON {self.name} (tx)")

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Another writer, each of whose statements is a transaction."""
        kept = "-c synchronous_commit=on"  # what is committed survives a crash of the server
        return psycopg.connect(self.server.url(), autocommit=True, options=kept)

    def add(self, *people: str, by: psycopg.Connection[tuple[Any, ...]] | None = None) -> None:
        writer = self.connection if by is None else by
        for who in people:
            writer.execute(
                f"INSERT INTO {self.name} (who, amount, at) VALUES (%s, 1, %s)", (who, AT)
            )

    def unguarded(self, statement: str) -> None:
        """What an owner does who removes the guard for a moment."""
        self.connection.execute(f"ALTER TABLE {self.name} DISABLE TRIGGER rows_stay")
        self.connection.execute(statement)
        self.connection.execute(f"ALTER TABLE {self.name} ENABLE TRIGGER rows_stay")

    @property
    def url(self) -> str:
        return url_of(self.server, self.name)

    def source(self, columns: dict[str, str] = COLUMNS, **declared: Any) -> PostgresSource:
        opened = open_source(
            self.url,
            columns,
            self.base,
            waiting=True,
            declarations=Declarations(**declared),
            connection=self.secret,
        )
        assert isinstance(opened, PostgresSource)
        return opened

    def launch(self) -> EventTable:
        self.position = self.source().at_launch()
        return self

    def take(self, reading: Reading) -> list[str]:
        new = sorted(row[0] for row in rows_of(reading, COLUMNS))
        self.position = reading.position
        return new

    def read(self, **declared: Any) -> list[str]:
        """Who is new."""
        return self.take(self.source(**declared).reading(self.position))


def secret_file(folder: Path) -> Path:
    """A connection file with the password of the tests' server."""
    secret = folder / "postgres.toml"
    secret.write_text(f'password = "{SIGN_IN}"\n')
    secret.chmod(0o600)
    return secret


def url_of(server: Server, table: str, *, user: str = OWNER, database: str = "") -> str:
    """The address of a table, without a password."""
    host = quote(str(server.folder), safe="")
    return f"postgresql://{user}@/{database or server.database}?host={host}&table={table}"
