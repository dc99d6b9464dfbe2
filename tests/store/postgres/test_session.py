"""Transactions in Postgres: in turn, along the keys, and told the truth about their end."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import StoreRefused
from ameles.core.loss import Pure
from ameles.store import Store, StreamRecord, Transaction
from ameles.store.columns import Columns
from ameles.store.postgres.binary_arrays import array
from ameles.store.postgres.published_sql import PUBLISHED
from ameles.store.postgres.session import READ, WRITE, lookup_sql
from ameles.store.postgres.store import PostgresStore
from tests.ledger.populations import costing
from tests.postgres import Server
from tests.store.places import PostgresPlace
from tests.store.stores import launch, minutes, new_store, open_visitors, visitors

LOOK_FIRST = WRITE.replace("; LOCK", "; SELECT count(*) FROM meta; LOCK")
NO_LOCK = READ.replace(" READ ONLY", "")


def spend(store: Store, problems: list[str]) -> None:
    try:
        with store.writing() as transaction:
            visitors(transaction).start(costing("1/2"), on="x", why="y")
    except StoreRefused as refusal:
        problems.append(refusal.what)


def wait_for_somebody_behind(process: int, place: PostgresPlace) -> None:
    """Returns once another connection waits for what this process of the server holds."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
    with place.connected() as connection:
        deadline = time.monotonic() + 600  # on any machine
        while time.monotonic() < deadline:
            row = connection.execute(waiting, [process]).fetchone()
            if row is not None and row[0]:
                return
            time.sleep(0.01)
    raise AssertionError("nobody waits for the first writer")


def race(place: PostgresPlace) -> list[str]:
    """Two that spend at the same time, from a budget for both; what they were told.

    The first one ends when the other waits for it: for its lock or, without one, for its entry.
    """
    problems: list[str] = []
    with new_store(place) as one, new_store(place) as other:
        with one.writing() as transaction:
            open_visitors(transaction)
        second = threading.Thread(target=spend, args=(other, problems))
        with one.writing() as transaction:
            visitors(transaction).start(costing("1/2"), on="x", why="y")
            ((process,),) = transaction._session.rows("SELECT pg_backend_pid()", [])
            second.start()
            wait_for_somebody_behind(process, place)
        second.join()
        with one.reading() as transaction:
            assert visitors(transaction).spent in (Pure("1/2"), Pure(1))
    return problems


def test_writers_wait_for_each_other_and_both_succeed(schema: PostgresPlace) -> None:
    assert race(schema) == []


@pytest.mark.parametrize("broken", [LOOK_FIRST, NO_LOCK])
def test_looking_before_the_lock_would_refuse_one_of_them(
    schema: PostgresPlace, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    # A moment that is older than the lock, or no lock: the second is refused after it has drawn
    # its noise.  Not even then is more spent than there is: the entries' numbers are unique.
    new_store(schema).close()
    monkeypatch.setattr("ameles.store.postgres.session.WRITE", broken)
    assert len(race(schema)) == 1


def plan_of(transaction: Transaction, question: str, values: list[object]) -> list[str]:
    (row,) = transaction._session.rows(f"EXPLAIN (FORMAT JSON) {question}", values)
    plan = row[0] if isinstance(row[0], list) else json.loads(row[0])
    nodes: list[str] = []

    def walk(node: dict[str, Any]) -> None:
        nodes.append(f"{node['Node Type']} {node.get('Index Name', '')}".strip())
        for below in node.get("Plans", []):
            walk(below)

    walk(plan[0]["Plan"])
    return nodes


def fill(transaction: Transaction, steps: int) -> StreamRecord:
    stream = launch(transaction)
    ones = np.ones((steps, 2), dtype=np.int64)
    transaction.add_steps(stream, minutes(1, steps))
    transaction.add_releases(stream, 1, 1, ones, ones, ones)
    hashes = np.arange(2 * steps, dtype=">u8").view("V16")
    transaction.set_seen(stream, 0, hashes, ones[:, 0], ones[:, 0])
    return stream


@pytest.mark.parametrize("analysed", [False, True])
def test_questions_walk_along_keys_whatever_the_planner_knows(
    postgres: Server, schema: PostgresPlace, analysed: bool
) -> None:
    with new_store(schema) as store:
        with store.writing() as transaction:
            fill(transaction, 5000)
        if analysed:
            with schema.connected() as connection:
                connection.execute("ANALYZE")
        with store.reading() as transaction:
            for values in ([1, 2, 1, 1, 1 << 62], [1, 1, 1, 7, 9]):
                assert plan_of(transaction, PUBLISHED, list(values)) == [
                    "Incremental Sort",
                    "Nested Loop",
                    "Index Scan step_pkey",
                    "Index Scan release_pkey",
                ]
            keys: Columns = {"stream": 1, "window": 0, "user": [bytes(16)]}
            question, fixed = lookup_sql("seen", keys, ("steps",))
            assert plan_of(transaction, question, [array([bytes(16)]), *fixed]) == [
                "Nested Loop",
                "Function Scan",
                "Index Scan seen_pkey",
            ]


def test_a_transaction_that_lost_its_connection_is_told_so(
    postgres: Server, schema: PostgresPlace
) -> None:
    with new_store(schema) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        for late in (False, True):
            with pytest.raises(StoreRefused) as caught:
                cut_off(store, stream, postgres, late=late)
            expected = "did not confirm the last transaction" if late else "cannot be reached"
            assert expected in caught.value.what
        with store.reading() as transaction:  # on a new connection
            assert transaction.position(stream) is None
        with store.writing() as transaction:
            transaction.set_position(stream, "row 1")


def test_a_reader_that_lost_its_connection_is_told_so(
    postgres: Server, schema: PostgresPlace
) -> None:
    with new_store(schema) as store:
        with store.writing() as transaction:
            stream = fill(transaction, 5)
        with pytest.raises(StoreRefused, match="cannot be reached"):
            read_a_little(store, stream, postgres)


def read_a_little(store: Store, stream: StreamRecord, server: Server) -> None:
    with store.reading() as transaction:
        next(iter(transaction.releases(stream)))
        end_all(server)


def cut_off(store: Store, stream: StreamRecord, server: Server, *, late: bool) -> None:
    with store.writing() as transaction:
        transaction.set_position(stream, "row 1")
        end_all(server)
        if not late:
            transaction.set_position(stream, "row 2")


def end_all(server: Server) -> None:
    """Ends every session of the owner's, and waits until they are gone."""
    with server.admin() as connection:
        while connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'owner'"
        ).fetchone() != (0,):
            time.sleep(0.01)


def test_idle_connections_that_died_are_replaced(postgres: Server, schema: PostgresPlace) -> None:
    with new_store(schema) as store:
        with store.reading(), store.reading(), store.writing() as transaction:
            stream = launch(transaction)
        end_all(postgres)
        with store.writing() as transaction:
            transaction.set_position(stream, "row 1")
        end_all(postgres)
        with store.reading() as transaction:
            assert transaction.position(stream) == "row 1"
        end_all(postgres)
        with store.holding("flu"), store.writing() as transaction:
            transaction.set_position(stream, "row 2")


def test_after_a_failure_nothing_more_is_asked(schema: PostgresPlace) -> None:
    with new_store(schema) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        with pytest.raises(StoreRefused, match="all or nothing"):
            ask_on(store, stream)


def ask_on(store: Store, stream: StreamRecord) -> None:
    with store.writing() as transaction:
        transaction.add_steps(stream, minutes(1, 1))
        with pytest.raises(StoreRefused, match="closed before"):
            transaction.add_steps(stream, minutes(1, 1))
        with pytest.raises(StoreRefused, match="a statement in this transaction failed"):
            transaction.streams()


def test_answers_come_in_bytes_so_that_large_state_can_be_read_again(
    schema: PostgresPlace,
) -> None:
    # in words, a byte is two signs, and nothing can be answered that is longer than a gigabyte
    with PostgresStore(schema.url) as store:
        wire, _ = store._pool.take()
        for ask, binary in ((wire.ask, 1), (wire.execute, 0)):
            cursor = ask("SELECT '\\x00'::bytea")
            assert (cursor.pgresult.fformat(0), cursor.fetchall()) == (binary, [(b"\0",)])
        store._pool.put_back(wire)
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.set_pending(stream, bytes(1 << 20))
        with store.reading() as transaction:
            assert transaction.pending(stream) == bytes(1 << 20)


def test_a_text_with_a_zero_byte_is_refused_as_a_sentence(schema: PostgresPlace) -> None:
    with new_store(schema) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        changes: list[Callable[[Transaction], object]] = [
            lambda t: t.set_position(stream, "CANARY\0"),
            lambda t: t.add_series(stream, "x", ["CANARY\0"], "Other", 1),
        ]
        for change in changes:
            with (
                pytest.raises(StoreRefused, match="cannot keep this") as caught,
                store.writing() as transaction,
            ):
                change(transaction)
            assert "CANARY" not in str(caught.value)


def test_more_rows_than_one_block(schema: PostgresPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ameles.store.postgres.session._BLOCK", 7)
    with new_store(schema) as store, store.writing() as transaction:
        stream = fill(transaction, 30)
        asked = np.arange(60, dtype=">u8").view("V16")[::-1]
        seen = transaction.seen(stream, 0, asked)
        assert sorted(seen.place.tolist()) == list(range(30))
        assert len(list(transaction.releases(stream))) == 60
