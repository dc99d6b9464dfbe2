"""Where a test's store is: every test that asks for a place runs on SQLite and on Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ameles.store import Store
from tests.postgres import Server
from tests.store.places import Place, PostgresPlace, SqlitePlace
from tests.store.stores import new_store, open_visitors


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty place for a store, in each database."""
    if request.param == "sqlite":
        yield SqlitePlace(tmp_path)
        return
    server: Server = request.getfixturevalue("postgres")
    here = PostgresPlace(server)
    yield here
    here.give_back()


@pytest.fixture
def schema(postgres: Server) -> Iterator[PostgresPlace]:
    """An empty place in Postgres, for what only that has."""
    here = PostgresPlace(postgres)
    yield here
    here.give_back()


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    """A store with the population of visitors."""
    with new_store(place) as opened:
        with opened.writing() as transaction:
            open_visitors(transaction)
        yield opened
