"""Temporary DuckDB tables with an owner, which drops them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Self

import duckdb

_NUMBERS = count(1)  # no two tables of a process share a name
_OWN = os.urandom(8).hex()  # nor does a table of a person, on whose connection they may be


class TemporaryTables:
    """Creates tables; drops all of them at the end of the ``with`` block."""

    def __init__(self, duck: duckdb.DuckDBPyConnection) -> None:
        self._duck = duck
        self._names: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drops all of them."""
        for name in self._names[::-1]:
            with suppress(duckdb.Error):  # the connection may already be closed
                self.drop(name)
        self._names.clear()

    def create(self, what: str, query: str) -> str:
        """Creates a table from the rows of a query; returns its name."""
        name = self._named(what)
        self.run(f"CREATE TEMP TABLE {name} AS {query}")
        return name

    def create_empty(self, what: str, columns: str) -> str:
        """Creates a table without rows; returns its name."""
        name = self._named(what)
        self.run(f"CREATE TEMP TABLE {name} ({columns})")
        return name

    def create_from(self, what: str, columns: Mapping[str, Any], query: str) -> str:
        """Creates a table from the rows of a query, in which {} stands for these columns."""
        given = _unused("given")
        self._duck.register(given, dict(columns))
        try:
            return self.create(what, query.format(given))
        finally:
            self._duck.unregister(given)

    def insert(self, name: str, query: str) -> None:
        """Adds the rows of a query to a table."""
        self.run(f"INSERT INTO {name} {query}")

    def rename(self, name: str, kept: str) -> None:
        """Gives a table another name, under which it is not dropped at the end."""
        self.run(f"ALTER TABLE {name} RENAME TO {kept}")
        self._names.remove(name)

    def drop(self, name: str) -> None:
        """Drops one table early, to free its memory."""
        self.run(f"DROP TABLE IF EXISTS {name}")

    def run(self, query: str) -> None:
        """Runs a statement that changes a table; all of them come through here."""
        self._duck.execute(query)

    def fetched(self, query: str, parameters: Sequence[object] = ()) -> dict[str, Any]:
        """The rows of a query, as arrays."""
        return self._duck.execute(query, list(parameters)).fetchnumpy()

    def any(self, query: str) -> bool:
        """Whether a query has rows."""
        # read all of it: an unread result blocks the connection
        ((there,),) = self._duck.execute(f"SELECT count(*) > 0 FROM ({query})").fetchall()
        return bool(there)

    def _named(self, what: str) -> str:
        self._names.append(_unused(what))
        return self._names[-1]


def _unused(what: str) -> str:
    return f"{what}_{_OWN}_{next(_NUMBERS)}"
