"""A store that is used again is as empty as a new one, and one that was changed is not used."""

from __future__ import annotations

import pytest

from tests import kept_schemas
from tests.postgres import Server
from tests.store.places import PostgresPlace
from tests.store.stores import launch, new_store


def left(server: Server, change: str = "") -> PostgresPlace:
    """A place that a test has left, with a launched stream in it."""
    place = PostgresPlace(server)
    with new_store(place) as store, store.writing() as transaction:
        launch(transaction)
    if change:
        with server.admin(server.database) as connection:
            connection.execute(change.format(place.schema).encode())
    place.give_back()
    return place


def test_it_is_taken_once_and_as_empty_as_a_new_one(postgres: Server) -> None:
    before = left(postgres)
    assert before.tables() == []
    here = PostgresPlace(postgres)
    while kept_schemas.take(postgres.url(), f"other{postgres.number()}"):
        """Until there is none."""
    left(postgres)
    assert kept_schemas.take(postgres.url(), here.schema)
    assert not kept_schemas.take(postgres.url(), PostgresPlace(postgres).schema)
    with here.connected() as connection:
        filled = [
            name
            for name in here.tables()
            if connection.execute(f"SELECT count(*) FROM {name}").fetchone() != (0,)
        ]
    assert filled == ["meta"]
    with new_store(here) as store, store.writing() as transaction:
        launch(transaction)
        assert len(transaction.streams()) == 1


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE {}.entry DISABLE TRIGGER USER",
        "GRANT SELECT ON {}.state TO PUBLIC",
        "GRANT SELECT (stream) ON {}.position TO PUBLIC",
        "ALTER TABLE {}.state ADD COLUMN more INTEGER",
        "CREATE TABLE {}.other (number INTEGER)",
    ],
)
def test_what_was_changed_is_left_alone(postgres: Server, change: str) -> None:
    place = left(postgres, change)
    assert place.tables()
