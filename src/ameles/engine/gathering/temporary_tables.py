"""Temporary tables of DuckDB that have an owner, who drops them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Self

import duckdb

_NUMBERS = count(1)  # no two tables of a process have one name


class TemporaryTables:
    """The tables that were made here; at the end of the ``with`` block they are gone."""

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
            with suppress(duckdb.Error):  # the connection may be closed by now
                self.drop(name)
        self._names.clear()

    def create(self, what: str, query: str) -> str:
        """A table with the rows of a query; gives its name."""
        name = self._named(what)
        self.run(f"CREATE TEMP TABLE {name} AS {query}")
        return name

    def create_empty(self, what: str, columns: str) -> str:
        """A table without rows; gives its name."""
        name = self._named(what)
        self.run(f"CREATE TEMP TABLE {name} ({columns})")
        return name

    def create_from(self, what: str, columns: Mapping[str, Any], query: str) -> str:
        """A table with the rows of a query, in which {} stands for these columns."""
        given = f"given_{next(_NUMBERS)}"
        self._duck.register(given, dict(columns))
        try:
            return self.create(what, query.format(given))
        finally:
            self._duck.unregister(given)

    def insert(self, name: str, query: str) -> None:
        """Adds the rows of a query to a table."""
        self.run(f"INSERT INTO {name} {query}")

    def drop(self, name: str) -> None:
        """Drops one of them early: what comes next needs the memory."""
        self.run(f"DROP TABLE IF EXISTS {name}")

    def run(self, query: str) -> None:
        """Everything that changes a table comes through here."""
        self._duck.execute(query)

    def fetched(self, query: str) -> dict[str, Any]:
        """The rows of a query, as arrays."""
        return self._duck.execute(query).fetchnumpy()

    def any(self, query: str) -> bool:
        """Whether a query has rows."""
        # all of it, since a result that is not read to its end blocks the connection
        ((found,),) = self._duck.execute(f"SELECT count(*) > 0 FROM ({query})").fetchall()
        return bool(found)

    def _named(self, what: str) -> str:
        self._names.append(f"{what}_{next(_NUMBERS)}")
        return self._names[-1]
