"""DuckDB databases that a server keeps for the processes that it forks: to make one takes longer
than most of what tests do with it.

A process opens its own connection to one of these, and sets and checks its limits itself.  It uses
each of them once, and makes its own when there are no more.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import duckdb

FIRST = "SELECT epoch_us(CAST('2020-01-01' AS TIMESTAMPTZ)), count(*), sum(1) FROM range(2)"


class SpareDatabases:
    """As many as a process needs: one for the source, and one or two for each Parquet file."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._spare: list[duckdb.DuckDBPyConnection] = []

    def fill(self) -> None:
        """In the server, before it forks."""
        while len(self._spare) < self._count:
            duck = duckdb.connect(":memory:", config={"threads": 1})  # a fork has no other threads
            duck.execute("SET TimeZone = 'UTC'").fetchall()
            duck.execute(FIRST).fetchall()
            self._spare.append(duck)

    def give(self) -> None:
        """In a fork: let DuckDB hand out the databases that are already open."""
        real, spare = duckdb.connect, iter(self._spare)  # which are kept: closed, one would crash

        def connect(place: str = ":memory:", **options: Any) -> duckdb.DuckDBPyConnection:
            database = next(spare, None) if place == ":memory:" and not options else None
            return real(place, **options) if database is None else database.cursor()

        mock.patch.object(duckdb, "connect", connect).start()
