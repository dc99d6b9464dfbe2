"""What every store promises: whole transactions, one moment, refusals as sentences."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import AmelesError, StoreRefused
from ameles.core.loss import Pure
from ameles.store import Store, StreamRecord, open_store
from ameles.store import columns as columns_module
from ameles.store.sqlite import session as sqlite_session
from tests.store.places import Place
from tests.store.stores import launch, minutes, new_store, open_visitors
from tests.warm_processes import start


def test_what_was_written_is_there_after_the_store_is_opened_again(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        launch(transaction)
    with new_store(place) as store, store.reading() as transaction:
        assert [stream.name for stream in transaction.streams()] == ["flu"]


class Interrupted(Exception):
    """Something that happens in the middle."""


def launch_and_raise(store: Store, kind: type[BaseException]) -> None:
    with store.writing() as transaction:
        stream = launch(transaction)
        transaction.add_steps(stream, minutes(1, 3))
        raise kind


@pytest.mark.parametrize("kind", [Interrupted, KeyboardInterrupt])
def test_an_exception_leaves_nothing(place: Place, kind: type[BaseException]) -> None:
    with new_store(place) as store:
        with pytest.raises(kind):
            launch_and_raise(store, kind)
        with place.connected() as connection:
            full = {
                name
                for name in place.tables()
                if connection.execute(f"SELECT count(*) FROM {name}").fetchone() != (0,)
            }
        assert full == {"meta"}
        with store.writing() as transaction:
            launch(transaction)  # and the store goes on


def swallow(store: Store, stream: StreamRecord) -> None:
    with store.writing() as transaction:
        transaction.add_steps(stream, minutes(1, 2))
        with pytest.raises(StoreRefused, match="closed before"):
            transaction.add_steps(stream, minutes(2, 3))


def test_a_failed_change_cannot_be_committed_by_swallowing_it(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        with pytest.raises(StoreRefused, match="all or nothing"):
            swallow(store, stream)
        with store.writing() as transaction:
            transaction.add_steps(stream, minutes(1, 3))


def test_reading_sees_one_moment_and_changes_nothing(place: Place) -> None:
    with new_store(place) as store:
        with store.reading() as before:
            with store.writing() as transaction:
                launch(transaction)
            assert before.streams() == ()
            with pytest.raises(StoreRefused, match="only reads"):
                open_visitors(before)
        with store.reading() as after:
            (stream,) = after.streams()
            with pytest.raises(StoreRefused, match="only reads"):
                after.advance(stream, released=1)


def test_a_transaction_is_of_no_use_after_its_end(place: Place) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            ledger = transaction.ledger("visitors")
            transaction.add_steps(stream, minutes(1, 5000))
            ones = np.ones((5000, 2), dtype=np.int64)
            transaction.add_releases(stream, 1, 1, ones, ones, ones)
            rows = transaction.release_rows(stream)
            next(rows)
        assert ledger is not None
        for use in (
            lambda: transaction.streams(),
            lambda: transaction.set_position(stream, "x"),
            lambda: ledger.renew(Pure(1), why="too late"),
            lambda: list(rows),
        ):
            with pytest.raises(StoreRefused, match="has ended"):
                use()
        assert ledger.cap == Pure(1)


def test_a_locked_store_is_refused_and_works_again_later(place: Place) -> None:
    with new_store(place, patience=0.05) as store, new_store(place, patience=0.05) as other:
        with store.writing():
            with pytest.raises(StoreRefused, match="is locked"), other.writing():
                pass
            with other.reading() as transaction:
                assert transaction.streams() == ()
        with other.writing() as transaction:
            launch(transaction)


def test_a_closed_store_and_a_forked_one_are_refused(place: Place) -> None:
    store = new_store(place)
    if (child := os.fork()) == 0:
        try:
            with store.reading():
                pass
        except StoreRefused as refusal:
            os._exit(0 if "forked" in str(refusal) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    store.close()
    with pytest.raises(StoreRefused, match="was closed"), store.reading():
        pass


def test_many_threads_write_one_store(place: Place) -> None:
    problems: list[AmelesError] = []
    with new_store(place) as store:

        def add(number: int) -> None:
            try:
                with store.writing() as transaction:
                    transaction.set_sent(stream, str(number), number)
            except AmelesError as problem:
                problems.append(problem)

        with store.writing() as transaction:
            stream = launch(transaction)
        threads = [threading.Thread(target=add, args=(i,)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not problems
        with store.reading() as transaction:
            assert [transaction.sent(stream, str(i)) for i in range(12)] == list(range(12))


CREATE = "import sys; from ameles.store import open_store; open_store(sys.argv[1]).close()"


def test_processes_that_create_one_store_at_once_all_succeed(place: Place) -> None:
    running = [start("-c", CREATE, place.url, stderr=subprocess.PIPE) for _ in range(6)]
    said = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * 6, said
    with new_store(place) as store:
        store.check()


def test_an_interruption_that_is_swallowed_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(str(tmp_path / "s.db")) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        given = columns_module.rows

        def interrupted(columns: Any) -> Iterator[Any]:
            yield next(iter(given(columns)))
            raise KeyboardInterrupt

        monkeypatch.setattr(sqlite_session, "rows", interrupted)
        with (
            pytest.raises(StoreRefused, match="all or nothing"),
            store.writing() as transaction,
            suppress(KeyboardInterrupt),
        ):
            transaction.add_steps(stream, minutes(1, 3))
        monkeypatch.undo()
        with store.writing() as transaction:
            transaction.add_steps(stream, minutes(1, 3))  # the first of them is not there
