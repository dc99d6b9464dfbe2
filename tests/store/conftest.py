"""Where a test's store is: every test that asks for a place runs on SQLite and on Postgres."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres import Server
from tests.store.places import Place, PostgresPlace, SqlitePlace


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place for a store, in each database."""
    if request.param == "sqlite":
        return SqlitePlace(tmp_path)
    server: Server = request.getfixturevalue("postgres")
    return PostgresPlace(server)


@pytest.fixture
def schema(postgres: Server) -> PostgresPlace:
    """An empty place in Postgres, for what only that has."""
    return PostgresPlace(postgres)
