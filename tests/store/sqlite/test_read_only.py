"""A store that cannot be written is read as it is, with its log, and nothing appears beside it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.store import Store, open_store
from ameles.store.sqlite.read_only import ReadOnlyStore, can_write
from ameles.store.sqlite.store import SqliteStore
from tests.store.stores import launch, new_store
from tests.store.test_migration import with_version


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a stream, closed, whose file cannot be written."""
    with new_store(tmp_path) as store, store.writing() as transaction:
        launch(transaction)
    (tmp_path / "flu.db").chmod(0o400)
    return tmp_path / "flu.db"


def reader(path: Path) -> Store:
    return open_store(str(path), create=False, reading=True, patience=0.1)


def position(store: Store) -> str | None:
    with store.reading() as transaction:
        stream = transaction.stream("flu")
        assert stream is not None
        return transaction.position(stream)


def move(store: Store, to: str) -> None:
    with store.writing() as transaction:
        stream = transaction.stream("flu")
        assert stream is not None
        transaction.set_position(stream, to)


def test_it_is_read_and_nothing_is_made_beside_it(path: Path) -> None:
    before = path.read_bytes()
    with reader(path) as store:
        assert isinstance(store, ReadOnlyStore)
        store.check()
        assert position(store) is None
        assert not store.held("flu")
        assert [file.name for file in path.parent.iterdir()] == ["flu.db"]
    assert path.read_bytes() == before


def test_it_refuses_to_write_and_to_hold(path: Path) -> None:
    with reader(path) as store:
        with pytest.raises(StoreRefused, match=r"cannot be written(?s:.*)read-only"):
            store.writing()
        with pytest.raises(StoreRefused, match="cannot be written"):
            store.holding("flu")


def test_whoever_wants_to_write_is_refused_as_before(path: Path) -> None:
    with pytest.raises(StoreRefused, match="cannot be written: its mode is 0400"):
        open_store(str(path))


def test_others_must_not_be_able_to_read_it(path: Path) -> None:
    path.chmod(0o440)
    with pytest.raises(StoreRefused, match="can be opened by other users"):
        reader(path)


def test_a_store_that_can_be_written_is_opened_as_always(path: Path) -> None:
    path.chmod(0o600)
    with reader(path) as store:
        assert type(store) is SqliteStore
        move(store, "on")


@pytest.mark.parametrize("closed", ["flu.db", "."])
def test_a_disk_or_folder_that_takes_no_writes_is_noticed(
    path: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    path.chmod(0o600)
    assert can_write(path)
    real = os.access
    refused = (path.parent / closed).resolve()
    monkeypatch.setattr(os, "access", lambda at, how: Path(at) != refused and real(at, how))
    assert not can_write(path)


def test_a_link_is_judged_by_the_folder_to_which_it_leads(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.chmod(0o600)
    link = tmp_path / "folder" / "elsewhere.db"
    link.parent.mkdir()
    link.symlink_to(path)
    assert can_write(link)
    monkeypatch.setattr(os, "access", lambda at, how: Path(at) != tmp_path.resolve())
    assert not can_write(link)


def test_a_log_is_read_with_the_store(path: Path) -> None:
    path.chmod(0o600)
    with open_store(str(path)) as writer:
        move(writer, "one")
        path.chmod(0o400)
        with reader(path) as store:
            assert position(store) == "one"
            move(writer, "two")
            assert position(store) == "two", "it takes part in the writer's locks"
        assert position(writer) == "two"


def test_a_log_without_its_index_is_refused(path: Path, tmp_path: Path) -> None:
    path.chmod(0o600)
    copy = tmp_path / "copy" / "flu.db"
    copy.parent.mkdir()
    with open_store(str(path)) as writer:
        move(writer, "in the log")
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{copy}{end}")
    copy.chmod(0o400)
    with pytest.raises(StoreRefused, match=r"cannot be read there(?s:.*)-wal' to such a folder"):
        reader(copy)
    Path(f"{copy}-wal").write_bytes(b"")
    with reader(copy) as store:
        assert position(store) is None, "an empty log has nothing to add"


def test_a_store_that_changes_while_it_is_read_is_refused(path: Path) -> None:
    with reader(path) as store:
        path.chmod(0o600)
        with (
            pytest.raises(StoreRefused, match=r"was changed while it was being read(?s:.*)again"),
            store.reading(),
            open_store(str(path)) as writer,
        ):
            move(writer, "meanwhile")  # closing it merges the log


def test_an_older_store_cannot_be_updated_there(tmp_path: Path) -> None:
    old = with_version(1, tmp_path)
    old.chmod(0o400)
    with pytest.raises(StoreRefused, match="cannot be updated from version 1 to"):
        reader(old)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "flu.db"
    path.touch(mode=0o400)
    with pytest.raises(StoreRefused, match="cannot be updated from version 0"):
        reader(path)
    path.chmod(0o600)
    path.write_bytes(b"something else" * 100)
    path.chmod(0o400)
    with pytest.raises(StoreRefused, match="not a store of Ameles"):
        reader(path)
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE things (x)")
    other.close()
    path.chmod(0o400)
    with pytest.raises(StoreRefused, match="a database of another program"):
        reader(path)
    path.unlink()
    with pytest.raises(StoreRefused, match="There is no store"):
        reader(path)
