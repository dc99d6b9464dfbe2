"""Connections: durable whatever the server's defaults are, or refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import open_store
from ameles.store.postgres.address import address_of
from ameles.store.postgres.connection import MARK, SETTINGS, Wire, connect
from ameles.store.postgres.store import PostgresStore
from tests.postgres import Server
from tests.store.places import PostgresPlace
from tests.store.stores import new_store


def setting(wire: Wire, name: str) -> str:
    return str(wire.execute("SELECT current_setting(%s)", (name,)).fetchone()[0])


def test_a_careless_server_is_no_careless_store(schema: PostgresPlace) -> None:
    with schema.connected() as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
    wire = connect(address_of(schema.url), 2.5)
    for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
        assert setting(wire, name) == "0"
    assert setting(wire, "synchronous_commit") == "on"
    assert setting(wire, "lock_timeout") == "2500ms"
    assert setting(wire, "search_path") == f'"{schema.schema}", pg_temp'
    wire.close()
    assert wire.broken


def test_a_setting_that_does_not_take_is_refused(
    schema: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SETTINGS, "synchronous_commit", "local")
    with pytest.raises(StoreRefused, match="cannot be used safely: synchronous_commit is not on"):
        new_store(schema)


def test_every_writer_asks_again(schema: PostgresPlace) -> None:
    with PostgresStore(schema.url) as store:
        wire, _ = store._pool.take()
        wire.execute("SET synchronous_commit = off")
        store._pool.put_back(wire)
        with pytest.raises(StoreRefused, match="synchronous_commit is not on"), store.writing():
            pass
        with store.reading() as transaction:
            assert transaction.streams() == ()


def test_a_connection_that_leads_elsewhere_is_refused(schema: PostgresPlace) -> None:
    # as behind a pooler that mixes the transactions of its clients
    with PostgresStore(schema.url) as store:
        wire, _ = store._pool.take()
        store._pool.put_back(Wire(wire.connection, "of another"))
        with pytest.raises(StoreRefused, match="switches server connections"), store.writing():
            pass


def test_a_session_that_is_shared_with_another_program_is_noticed(schema: PostgresPlace) -> None:
    # as behind a pooler with one connection to the server: the same process, and the same locks
    with PostgresStore(schema.url) as store:
        wire, _ = store._pool.take()
        wire.execute("SELECT set_config(%s, 'of another', false)", (MARK,))
        store._pool.put_back(wire)
        with pytest.raises(StoreRefused, match="switches server connections"), store.writing():
            pass


def test_a_server_that_does_not_sync_is_refused(postgres: Server, schema: PostgresPlace) -> None:
    new_store(schema).close()
    try:
        postgres.restart(fsync="off")
        with pytest.raises(StoreRefused, match="fsync is not on there"):
            new_store(schema)
    finally:
        postgres.restart()
    new_store(schema).close()


def test_other_encodings_and_old_servers_are_refused(
    postgres: Server, schema: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.admin() as connection:
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 OWNER owner")
    with pytest.raises(StoreRefused, match="server_encoding is not UTF8"):
        open_store(postgres.url("latin"))
    monkeypatch.setattr("ameles.store.postgres.connection.OLDEST", 990000)
    with pytest.raises(StoreRefused, match="older than Postgres 99"):
        new_store(schema)


def test_the_driver_is_loaded_when_a_server_is_asked_and_not_before(tmp_path: Path) -> None:
    program = (
        "import sys, ameles.store\n"
        "ameles.store.open_store(sys.argv[1]).close()\n"
        "assert 'psycopg' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "flu.db")], check=True)
