"""DuckDB's databases, kept from one test to the next: to make one takes longer than most tests.

What the engine creates in a database is temporary, so it belongs to one connection and goes with
it.  A connection to a kept database therefore starts as empty as one to a new database, and
``connect`` reads its settings back as always.  Databases that may open files are locked to these
files, and a test with little memory is about that limit: both get a new database.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import duckdb
import pytest

from ameles.connectors import duck

PLENTY = 64 << 20  # bytes; a smaller limit is what its test is about
MAKE: Callable[[str, int, tuple[str, ...], int | None], duckdb.DuckDBPyConnection] = (
    duck.locked_database
)


@pytest.fixture(scope="session", autouse=True)
def kept_databases() -> Iterator[None]:
    """While tests run, connections are to databases that stay."""
    kept: dict[tuple[int, str, int, int | None], duckdb.DuckDBPyConnection] = {}

    def connected(
        zone: str, memory: int, readable: tuple[str, ...], threads: int | None = None
    ) -> duckdb.DuckDBPyConnection:
        if readable or memory < PLENTY:
            return MAKE(zone, memory, readable, threads)
        # a forked process has none of the database's threads
        where = os.getpid(), zone, memory, threads
        if where not in kept:
            kept[where] = MAKE(zone, memory, readable, threads)
        return kept[where].cursor()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(duck, "locked_database", connected)
        yield
    for (process, *_), database in kept.items():
        if process == os.getpid():
            database.close()
    kept.clear()


@pytest.fixture
def new_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that are about the database itself."""
    monkeypatch.setattr(duck, "locked_database", MAKE)
