"""Connections that tests use again: nothing of the store before is left on them."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from ameles.store.postgres import connection as earnest
from ameles.store.postgres.address import Address, address_of
from tests.kept_connections import connect, disconnect
from tests.postgres import SIGN_IN, Server, quick_secret

PATIENCE = 600.0  # seconds, on any machine


@pytest.fixture
def address(postgres: Server) -> Iterator[Address]:
    yield address_of(postgres.url(schema="one"))
    disconnect()


def session_of(wire: earnest.Wire) -> int:
    number: int = wire.execute("SELECT pg_backend_pid()").fetchone()[0]
    return number


def test_the_next_store_has_its_own_settings_and_no_locks(
    postgres: Server, address: Address
) -> None:
    first = connect(address, PATIENCE)
    session = session_of(first)
    first.execute("SELECT pg_advisory_lock(7)")
    first.execute("CREATE TEMPORARY TABLE left_over AS SELECT 1")
    first.execute("SET enable_seqscan = on")
    first.close()
    assert first.broken
    with pytest.raises(psycopg.OperationalError):
        first.execute("SELECT 1")
    second = connect(address_of(postgres.url(schema="two")), PATIENCE)
    assert session_of(second) == session
    assert second.mark != first.mark
    assert second.execute("SHOW search_path").fetchone() == ('"two", pg_temp',)
    assert second.execute("SHOW enable_seqscan").fetchone() == ("off",)
    assert second.execute("SELECT to_regclass('left_over')").fetchone() == (None,)
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7"
    assert second.execute(locks).fetchone() == (0,)
    first.close()  # again: it must not be given to two
    third = connect(address, PATIENCE)
    assert session_of(third) != session
    second.close()
    third.close()


def test_what_is_not_fit_is_not_used_again(postgres: Server, address: Address) -> None:
    ended = connect(address, PATIENCE)
    session = session_of(ended)
    ended.close()
    with postgres.admin() as bare:
        bare.execute("SELECT pg_terminate_backend(%s, 10000)", (session,))
    busy = connect(address, PATIENCE)
    assert (in_transaction := session_of(busy)) != session
    busy.execute("BEGIN")
    busy.close()
    last = connect(address, PATIENCE)
    assert session_of(last) != in_transaction
    last.close()


def test_a_wrong_password_is_refused(postgres: Server) -> None:
    assert SIGN_IN not in quick_secret(SIGN_IN)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres.url().replace("owner:", "owner:x", 1))
