"""The Postgres store: what it shows, and what it does when pages rot or the server is gone."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from tests.postgres import Server
from tests.store.places import PostgresPlace
from tests.store.stores import launch, minutes, new_store


def test_what_is_printed_has_no_password(schema: PostgresPlace) -> None:
    with new_store(schema) as store, store.reading() as transaction:
        shown = f"postgresql://owner@{schema.server.folder}/{schema.server.database}"
        assert repr(store) == f"<PostgresStore '{shown}, schema {schema.schema}'>"
        assert repr(transaction) == "<Transaction>"


def test_a_server_that_is_away_is_refused_and_used_again_later(
    postgres: Server, schema: PostgresPlace
) -> None:
    with new_store(schema) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        postgres.stop(signal.SIGQUIT)  # as a crash
        try:
            for use in (store.reading, store.writing, lambda: store.holding("flu")):
                with pytest.raises(StoreRefused, match="cannot be reached"), use():
                    pass
            with pytest.raises(StoreRefused, match="cannot be reached"):
                new_store(schema)
        finally:
            postgres.start()
        with store.holding("flu"), store.writing() as transaction:
            assert transaction.streams() == (stream,)


def test_a_damaged_store_is_refused(postgres: Server, schema: PostgresPlace) -> None:
    with new_store(schema) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.add_steps(stream, minutes(1, 3000))
        store.check()
    with schema.connected() as connection:
        row = connection.execute("SELECT pg_relation_filepath('step')").fetchone()
    postgres.stop()
    path = postgres.data / Path(row[0])
    whole = path.read_bytes()
    try:
        path.write_bytes(whole[:8192] + b"\xa5" * 8192 + whole[16384:])
        postgres.start()
        with (
            new_store(schema) as store,
            pytest.raises(StoreRefused, match="damaged"),
        ):
            store.check()
    finally:
        postgres.stop()
        path.write_bytes(whole)
        postgres.start()


def test_releases_without_a_step_are_damage(schema: PostgresPlace) -> None:
    with new_store(schema) as store:
        with store.writing() as transaction:
            launch(transaction)
        with schema.connected() as connection:
            connection.execute(
                "INSERT INTO release (stream, step, series, label) VALUES (1, 9, 1, '')"
            )
        with pytest.raises(StoreRefused, match="contradict each other"):
            store.check()


def test_the_log_of_the_server_has_no_secret(postgres: Server, schema: PostgresPlace) -> None:
    log = postgres.folder / "log"
    before = log.stat().st_size  # other tests make the server log what they ask for themselves
    with new_store(schema) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        with (
            pytest.raises(StoreRefused),
            store.writing() as transaction,
        ):
            transaction.set_sent(stream, "CANARY of a sink", 2**63)
    assert b"CANARY" not in log.read_bytes()[before:]
