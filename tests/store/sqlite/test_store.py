"""The SQLite store: durable settings, whole transactions, refusals as sentences."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import Store, StreamRecord, open_store
from ameles.store.sqlite.connection import StoreConnection
from ameles.store.sqlite.store import SETTINGS, SqliteStore
from tests.store.stores import launch, minutes, new_store


def test_every_connection_has_the_settings_that_make_it_durable(tmp_path: Path) -> None:
    wanted = {name: expected for name, _, expected in SETTINGS}
    assert wanted["synchronous"] == 2  # FULL
    assert wanted["journal_mode"] == "wal"
    assert (wanted["foreign_keys"], wanted["secure_delete"], wanted["temp_store"]) == (1, 1, 2)
    with SqliteStore(tmp_path / "flu.db") as store:
        for _ in range(2):
            connection = store._connect()
            settings = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted}
            connection.close()
            assert settings == wanted


def test_a_setting_that_does_not_take_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as on a network file system, where there is no write-ahead log
    monkeypatch.setattr(
        "ameles.store.sqlite.store.SETTINGS", (("journal_mode", "MEMORY", "wal"), *SETTINGS[1:])
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
        with new_store(tmp_path) as store, store.holding("flu"):
            pass
    finally:
        os.umask(before)
    for name in ("flu.db", "flu.db-flu.lock"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_the_name_of_a_new_store_is_durable_before_anything_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, int]] = []
    true = os.fsync

    def recorded(handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        synced.append((path.name, (tmp_path / "flu.db").stat().st_size))
        true(handle)

    monkeypatch.setattr(os, "fsync", recorded)
    for _ in range(2):  # once it is there, it is only opened
        new_store(tmp_path).close()
    assert synced == [(tmp_path.name, 0)]


def fill(store: Store, stream: StreamRecord) -> None:
    ones = np.ones((20_000, 2), dtype=np.int64)
    with store.writing() as transaction:
        transaction.add_steps(stream, minutes(1, 20_000))
        transaction.add_releases(stream, 1, 1, ones, ones, ones)


def test_a_full_disk_is_refused_and_what_was_there_stays(tmp_path: Path) -> None:
    class Small(SqliteStore):
        def _connect(self) -> StoreConnection:
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


def test_what_is_printed_has_a_path_and_nothing_else(tmp_path: Path) -> None:
    with new_store(tmp_path) as store, store.reading() as transaction:
        assert repr(store) == f"<SqliteStore '{tmp_path / 'flu.db'}'>"
        assert repr(transaction) == "<Transaction>"


def test_statements_stay_planned_while_reading_and_writing_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a setting makes SQLite plan all statements of its connection anew
    settings = list[str]()
    execute = StoreConnection.execute

    def noted(self: StoreConnection, sql: str, *values: Any) -> Any:
        settings.extend([sql] if sql.startswith("PRAGMA query_only") else [])
        return execute(self, sql, *values)

    with SqliteStore(tmp_path / "flu.db") as store:
        monkeypatch.setattr(StoreConnection, "execute", noted)
        for _ in range(5):
            with store.writing():
                pass
            with store.reading():
                pass
        assert sorted(settings) == ["PRAGMA query_only = OFF", "PRAGMA query_only = ON"]
        with store.reading() as first, store.reading() as second, store.writing() as third:
            assert len({first, second, third}) == 3
