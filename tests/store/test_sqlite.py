"""The SQLite store: durable settings, whole transactions, refusals as sentences."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from ameles.core.exceptions import AmelesError, StoreRefused
from ameles.core.loss import Pure
from ameles.store import Store, StreamRecord, open_store
from ameles.store.sqlite import SETTINGS, SqliteStore
from tests.store.stores import launch, minutes, new_store, open_visitors


def test_every_connection_has_the_settings_that_make_it_durable(tmp_path: Path) -> None:
    wanted = {name: expected for name, _, expected in SETTINGS}
    assert wanted["synchronous"] == 2  # FULL
    assert wanted["journal_mode"] == "wal"
    assert (wanted["foreign_keys"], wanted["secure_delete"], wanted["temp_store"]) == (1, 1, 2)
    with SqliteStore(tmp_path / "flu.db") as store:
        for _ in range(2):
            connection = store._connect()
            found = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted}
            connection.close()
            assert found == wanted


def test_a_setting_that_does_not_take_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as on a network file system, where there is no write-ahead log
    monkeypatch.setattr(
        "ameles.store.sqlite.SETTINGS", (("journal_mode", "MEMORY", "wal"), *SETTINGS[1:])
    )
    with pytest.raises(StoreRefused, match="cannot be used safely: journal_mode"):
        new_store(tmp_path)


def test_an_old_sqlite_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlite3.sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreRefused, match=r"a store needs 3\.37"):
        new_store(tmp_path)


def test_all_files_are_the_owners_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = new_store(tmp_path)
        with store.holding("flu"), store.writing() as transaction:
            launch(transaction)
            while_open = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert while_open == dict.fromkeys(
        ("flu.db", "flu.db-wal", "flu.db-shm", "flu.db-flu.lock"), 0o600
    )
    assert {file.name for file in tmp_path.iterdir()} == {"flu.db", "flu.db-flu.lock"}


def test_a_narrow_umask_does_not_lock_the_owner_out(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        new_store(tmp_path).close()
    finally:
        os.umask(before)
    assert (tmp_path / "flu.db").stat().st_mode & 0o777 == 0o600


def test_what_was_written_is_there_after_the_store_is_opened_again(tmp_path: Path) -> None:
    with new_store(tmp_path) as store, store.writing() as transaction:
        launch(transaction)
    with new_store(tmp_path) as store, store.reading() as transaction:
        assert [stream.name for stream in transaction.streams()] == ["flu"]


class Interrupted(Exception):
    """Something that happens in the middle."""


def launch_and_raise(store: Store, kind: type[BaseException]) -> None:
    with store.writing() as transaction:
        stream = launch(transaction)
        transaction.add_steps(stream, minutes(1, 3))
        raise kind


@pytest.mark.parametrize("kind", [Interrupted, KeyboardInterrupt])
def test_an_exception_leaves_nothing(tmp_path: Path, kind: type[BaseException]) -> None:
    with new_store(tmp_path) as store:
        with pytest.raises(kind):
            launch_and_raise(store, kind)
        connection = sqlite3.connect(tmp_path / "flu.db")
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        counts = {name: connection.execute(f"SELECT count(*) FROM {name}") for name in tables}
        full = {name for name, count in counts.items() if count.fetchone() != (0,)}
        connection.close()
        assert full == {"meta"}
        with store.writing() as transaction:
            launch(transaction)  # and the store goes on


def swallow(store: Store, stream: StreamRecord) -> None:
    with store.writing() as transaction:
        transaction.add_steps(stream, minutes(1, 2))
        with pytest.raises(StoreRefused, match="closed before"):
            transaction.add_steps(stream, minutes(2, 3))


def test_a_failed_change_cannot_be_committed_by_swallowing_it(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
        with pytest.raises(StoreRefused, match="all or nothing"):
            swallow(store, stream)
        with store.writing() as transaction:
            transaction.add_steps(stream, minutes(1, 3))


def test_reading_sees_one_moment_and_changes_nothing(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
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


def test_a_transaction_is_of_no_use_after_its_end(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
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


def test_a_locked_store_is_refused_and_works_again_later(tmp_path: Path) -> None:
    with new_store(tmp_path, patience=0.05) as store, new_store(tmp_path, patience=0.05) as other:
        with store.writing():
            with pytest.raises(StoreRefused, match="is locked"), other.writing():
                pass
            with other.reading() as transaction:
                assert transaction.streams() == ()
        with other.writing() as transaction:
            launch(transaction)


def fill(store: Store, stream: StreamRecord) -> None:
    ones = np.ones((20_000, 2), dtype=np.int64)
    with store.writing() as transaction:
        transaction.add_steps(stream, minutes(1, 20_000))
        transaction.add_releases(stream, 1, 1, ones, ones, ones)


def test_a_full_disk_is_refused_and_what_was_there_stays(tmp_path: Path) -> None:
    class Small(SqliteStore):
        def _connect(self) -> sqlite3.Connection:
            connection = super()._connect()
            connection.execute("PRAGMA max_page_count = 100")
            return connection

    with new_store(tmp_path) as store, store.writing() as transaction:
        stream = launch(transaction)
    with Small(tmp_path / "flu.db") as small:
        with pytest.raises(StoreRefused, match="the disk is full"):
            fill(small, stream)
        with small.writing() as transaction:
            transaction.set_position(stream, "row 1")
    with new_store(tmp_path) as store:
        fill(store, stream)
        with store.reading() as transaction:
            assert transaction.position(stream) == "row 1"


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "flu.db"
    path.touch(mode=0o600)
    path.write_bytes(b"region,fever\nnorth,1\n" * 500)
    with pytest.raises(StoreRefused, match="is not a store of Ameles") as caught:
        open_store(str(path))
    assert "north" not in str(caught.value)


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.add_steps(stream, minutes(1, 3000))
        store.check()
    path = tmp_path / "flu.db"
    whole = path.read_bytes()
    tail = 4096 * 12  # pages of steps
    path.write_bytes(whole[:-tail] + b"\xa5" * tail)
    with open_store(str(path)) as store:
        with pytest.raises(StoreRefused, match="damaged"):
            store.check()
        with pytest.raises(StoreRefused, match="damaged"), store.reading() as transaction:
            list(transaction.release_rows(stream))
    path.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    with pytest.raises(StoreRefused, match="damaged"), open_store(str(path)) as store:
        store.check()


def test_a_closed_store_and_a_forked_one_are_refused(tmp_path: Path) -> None:
    store = new_store(tmp_path)
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


def test_many_threads_write_one_store(tmp_path: Path) -> None:
    problems: list[AmelesError] = []
    with new_store(tmp_path) as store:

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


def test_processes_that_create_one_store_at_once_all_succeed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CREATE, str(tmp_path / "flu.db")]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(6)]
    said = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * 6, said
    new_store(tmp_path).check()


def test_what_is_printed_has_a_path_and_nothing_else(tmp_path: Path) -> None:
    with new_store(tmp_path) as store, store.reading() as transaction:
        assert repr(store) == f"<SqliteStore '{tmp_path / 'flu.db'}'>"
        assert repr(transaction) == "<Transaction>"
