"""Places for stores: a file of SQLite, or a schema of its own in a Postgres."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests import kept_schemas
from tests.postgres import Server


class Place(ABC):
    """Where one store is, and how programs other than Ameles get there."""

    url: str
    errors: type[Exception]

    @abstractmethod
    def connect(self) -> Any:
        """A connection in which every statement is a transaction; the caller closes it."""

    @abstractmethod
    def tables(self) -> list[str]:
        """The names of the store's tables."""

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """A connection for a while."""
        connection = self.connect()
        try:
            yield connection
        finally:
            connection.close()


class SqlitePlace(Place):
    """A file in a folder."""

    errors = sqlite3.Error

    def __init__(self, folder: Path) -> None:
        self.path = folder / "flu.db"
        self.url = str(self.path)

    def connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None)

    def tables(self) -> list[str]:
        with self.connected() as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return [name for (name,) in rows]


class PostgresPlace(Place):
    """A schema in the database of the tests."""

    errors = psycopg.Error

    def __init__(self, server: Server) -> None:
        self.server = server
        self.schema = f"s{server.number()}"
        self.url = server.url(schema=self.schema)

    def take_spare(self) -> None:
        """Lets an emptied store be here, if nothing is here yet."""
        kept_schemas.take(self.server.url(), self.schema)

    def give_back(self) -> None:
        """Lets the next test have the store that is here."""
        kept_schemas.give_back(self.server.url(), self.schema)

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.url, autocommit=True)

    def tables(self) -> list[str]:
        with self.connected() as connection:
            rows = connection.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND "
                "relnamespace = current_schema()::regnamespace"
            )
            return [name for (name,) in rows]
