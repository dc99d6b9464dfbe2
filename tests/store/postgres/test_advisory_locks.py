"""Holding streams in Postgres: the lock and the right to write end in one moment."""

from __future__ import annotations

import os
import threading
from contextlib import nullcontext

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import Store
from ameles.store.postgres.advisory_locks import key
from ameles.store.postgres.connection import Wire
from tests.postgres import Server
from tests.store.places import PostgresPlace
from tests.store.postgres.test_session import end_all
from tests.store.stores import launch, new_store


def test_who_lost_the_lock_cannot_write_any_more(postgres: Server, schema: PostgresPlace) -> None:
    with new_store(schema) as store, new_store(schema) as other:
        with store.writing() as transaction:
            stream = launch(transaction)
        assert not store.lost_locks
        with store.holding("flu"):
            assert not store.lost_locks
            end_all(postgres)
            # the server has freed the stream, and another process runs it
            with other.holding("flu"), other.writing() as transaction:
                transaction.set_position(stream, "the other's")
            with pytest.raises(StoreRefused, match="cannot be reached"), store.writing():
                pass
            for _ in range(2):
                with pytest.raises(StoreRefused, match="no longer holds"), store.writing():
                    pass
            with pytest.raises(StoreRefused, match="no longer holds"), store.holding("cold"):
                pass
            assert store.lost_locks
            with store.reading() as transaction:
                assert transaction.position(stream) == "the other's"
        assert not store.lost_locks
        with store.holding("flu"), store.writing() as transaction:
            transaction.set_position(stream, "again")


def test_idle_connections_that_died_are_closed(
    postgres: Server, schema: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Wire] = []
    close = Wire.close

    def noted(wire: Wire) -> None:
        closed.append(wire)
        close(wire)

    with new_store(schema) as store:
        with store.writing() as transaction:
            launch(transaction)
        end_all(postgres)
        monkeypatch.setattr(Wire, "close", noted)
        with store.holding("flu"):
            assert len(closed) == 1


def test_a_lock_that_writes_go_past_would_let_both_write(
    postgres: Server, schema: PostgresPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the broken version: writers take any connection, and do not know that the lock is lost
    monkeypatch.setattr(
        "ameles.store.postgres.advisory_locks.StreamLocks.writer", lambda self: nullcontext()
    )
    with new_store(schema) as store, new_store(schema) as other:
        with store.writing() as transaction:
            stream = launch(transaction)
        with store.holding("flu"):
            end_all(postgres)
            with other.holding("flu"):
                for one in (store, other):
                    with one.writing() as transaction:
                        transaction.set_position(stream, "both")


def test_a_failed_transaction_does_not_end_the_hold(schema: PostgresPlace) -> None:
    with new_store(schema) as store, new_store(schema) as other, store.holding("flu"):
        with pytest.raises(ZeroDivisionError), store.writing():
            raise ZeroDivisionError
        with pytest.raises(StoreRefused, match="another process"), other.holding("flu"):
            pass
        with store.writing() as transaction:
            launch(transaction)


def test_a_forked_process_neither_uses_nor_frees_what_its_parent_holds(
    schema: PostgresPlace,
) -> None:
    with new_store(schema) as store, new_store(schema) as other, store.holding("flu"):
        holding = store.holding("cold")
        holding.__enter__()
        if (child := os.fork()) == 0:
            try:
                holding.__exit__(None, None, None)
                with store.writing():
                    pass
            except StoreRefused as refusal:
                os._exit(0 if "forked" in str(refusal) else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        for stream in ("flu", "cold"):
            with pytest.raises(StoreRefused, match="another process"), other.holding(stream):
                pass
        with store.writing() as transaction:
            launch(transaction)
        holding.__exit__(None, None, None)
        with other.holding("cold"):
            pass


def test_threads_that_hold_write_in_turn(schema: PostgresPlace) -> None:
    problems: list[Exception] = []
    with new_store(schema) as store:
        with store.writing() as transaction:
            stream = launch(transaction)

        def run(name: str) -> None:
            try:
                with store.holding(name):
                    for step in range(5):
                        with store.writing() as transaction:
                            transaction.set_sent(stream, name, step + 1)
            except StoreRefused as problem:
                problems.append(problem)

        threads = [threading.Thread(target=run, args=(str(i),)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not problems
        with store.reading() as transaction:
            assert [transaction.sent(stream, str(i)) for i in range(8)] == [5] * 8


def test_one_writer_inside_another_is_refused(schema: PostgresPlace) -> None:
    with new_store(schema, patience=0.05) as store:
        inside(store)
        with store.holding("flu"):
            inside(store)


def inside(store: Store) -> None:
    with store.writing():
        with pytest.raises(StoreRefused, match="is locked"), store.writing():
            pass
        with store.reading() as transaction:
            assert transaction.streams() == ()


def test_stores_and_streams_have_locks_of_their_own(schema: PostgresPlace) -> None:
    numbers = {key(s, n) for s in ("a", "b") for n in (None, "", "a", "b", "\ud800")}
    assert len(numbers) == 10
    assert all(-(2**63) <= number < 2**63 for number in numbers)
    other = PostgresPlace(schema.server)
    with new_store(schema) as one, new_store(other) as two, one.holding("flu"), two.holding("flu"):
        pass
