"""Backups: everything of one moment, in a file that is whole or refused, for both databases."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ameles.core.exceptions import AmelesError, BadInput, StoreRefused
from ameles.store import Backup, Store, open_store, opened_backup, restore, write_backup
from ameles.store.backup import own_files
from ameles.store.backup.container import About, seal, unseal
from ameles.store.migration import scripts, version_of
from tests.postgres import Server
from tests.store.places import Place
from tests.store.postgres.test_migration import with_version as older
from tests.store.stores import MARCH, launch, minutes, new_store
from tests.store.test_migration import (
    holds_what_users_added,
    holds_what_was_asked,
    holds_what_was_lost,
    holds_what_was_served,
    holds_what_was_written,
    with_version,
)

NEWEST = len(scripts())


@contextmanager
def opened(file: Path) -> Iterator[Backup]:
    with opened_backup(file, work=file.with_name("unpacked")) as backup:
        yield backup


def contents(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables."""
    with store.reading() as transaction:
        session = transaction._session
        return {
            table: sorted((row for rows in session.dump(table, columns) for row in rows), key=repr)
            for table, columns in session.tables().items()
        }


def holds_everything(store: Store) -> None:
    holds_what_was_served(store)
    holds_what_was_lost(store)
    holds_what_users_added(store)
    holds_what_was_written(store)
    holds_what_was_asked(store, NEWEST)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A backup of a store that has rows in every table."""
    folder = tmp_path / "full"
    folder.mkdir()
    path = str(with_version(NEWEST, folder))
    with open_store(path) as store, store.writing() as transaction:
        stream = transaction.streams()[0]
        transaction.add_intrusion(stream, at=MARCH, why="a thief")
        transaction.add_epoch(stream, at=MARCH, why="a reboot", base=b"base")
        transaction.set_checked(["digest"], MARCH)
    write_backup(path, folder / "flu.backup")
    return folder / "flu.backup"


def test_the_fixture_has_rows_in_every_table(file: Path) -> None:
    with opened(file) as backup:
        assert [table for table, rows in contents(backup.store).items() if not rows] == []


def test_what_is_restored_is_what_was_backed_up(file: Path, place: Place, tmp_path: Path) -> None:
    """From SQLite to either database, from there into another backup, and back."""
    with opened(file) as backup:
        restore(backup, place.url)
        before = contents(backup.store)
    with open_store(place.url, create=False) as store:
        assert contents(store) == before
    (again,) = write_backup(place.url, tmp_path / "again")
    assert (again.stream, again.released) == ("flu", 2)
    with opened(tmp_path / "again") as backup:
        assert contents(backup.store) == before
        assert backup.database == ("postgres" if "://" in place.url else "sqlite")
        restore(backup, str(tmp_path / "back.db"))
    with open_store(str(tmp_path / "back.db"), create=False) as store:
        holds_everything(store)
    with open_store(place.url, create=False) as store:
        holds_everything(store)
    assert not {name for name in os.listdir(tmp_path) if "unpacked" in name}


@pytest.mark.parametrize("version", range(1, NEWEST))
def test_an_older_store_is_backed_up_as_it_is(tmp_path: Path, version: int) -> None:
    path = with_version(version, tmp_path)
    write_backup(str(path), tmp_path / "old")
    connection = sqlite3.connect(path)
    assert version_of(connection) == version
    connection.close()
    with opened(tmp_path / "old") as backup:
        restore(backup, str(tmp_path / "new.db"))
    with open_store(str(tmp_path / "new.db"), create=False) as store:
        holds_what_was_written(store)


def test_an_older_store_in_postgres_is_backed_up_as_it_is(postgres: Server, tmp_path: Path) -> None:
    database = older(3, postgres)
    write_backup(postgres.url(database), tmp_path / "old")
    with postgres.admin(database) as connection:
        kept = connection.execute("SELECT value FROM ameles.meta WHERE name = 'version'")
        assert kept.fetchone() == ("3",)
    with opened(tmp_path / "old") as backup:
        restore(backup, str(tmp_path / "new.db"))
    with open_store(str(tmp_path / "new.db"), create=False) as store:
        holds_what_was_written(store)


def test_a_backup_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    path = with_version(NEWEST, tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = '99' WHERE name = 'version'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreRefused, match="version 99"):
        write_backup(str(path), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_it_is_of_one_moment_while_others_write(place: Place, tmp_path: Path) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.set_position(stream, "0")
            transaction.set_pending(stream, b"0")
        done = threading.Event()

        def write() -> None:
            number = 0
            while not done.is_set():
                number += 1
                with store.writing() as transaction:
                    transaction.set_position(stream, str(number))
                    transaction.set_pending(stream, str(number).encode())

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(4):
                write_backup(place.url, tmp_path / str(number))
        finally:
            done.set()
            writer.join()
    for number in range(4):
        with opened(tmp_path / str(number)) as backup, backup.store.reading() as transaction:
            position, pending = transaction.position(stream), transaction.pending(stream)
            assert position is not None
            assert pending == position.encode()


def test_a_torn_or_changed_backup_is_refused(file: Path) -> None:
    whole = file.read_bytes()
    size = len(whole)
    changed = [whole[:length] for length in (0, 1, 55, 56, size // 2, size - 57, size - 1)]
    changed += [whole + b"\0", whole[1:], whole[: size // 2] + whole[size // 2 + 1 :]]
    for place in (0, 18, 100, size // 3, size - 300, *range(size - 120, size)):
        flipped = bytearray(whole)
        flipped[place] ^= 1
        changed.append(bytes(flipped))
    for content in changed:
        file.write_bytes(content)
        with pytest.raises(StoreRefused, match="not a whole backup"), opened(file):
            pass
    file.write_bytes(whole)
    with opened(file) as backup:
        assert backup.streams
    assert os.listdir(file.parent).count("unpacked") == 0


def test_a_checksum_does_not_make_a_database_sound(tmp_path: Path) -> None:
    """Somebody has computed it again for tables that contradict each other."""
    path = with_version(NEWEST, tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("INSERT INTO sent VALUES (77, 'a.csv', 1)")
    connection.commit()
    connection.close()
    seal(path, About(made=0, database="sqlite"))
    with pytest.raises(StoreRefused, match="cannot be used"), opened(path):
        pass
    store = tmp_path / "unsealed.db"
    store.touch(mode=0o600)
    with store.open("wb") as into:
        unseal(path, into=into.fileno())
    with pytest.raises(StoreRefused, match="damaged"):
        write_backup(str(store), tmp_path / "more")


def test_only_its_owner_can_read_it(file: Path) -> None:
    umask = os.umask(0)
    try:
        write_backup(str(file.with_name("flu.db")), file.with_name("second"))
    finally:
        os.umask(umask)
    assert stat.S_IMODE(file.with_name("second").stat().st_mode) == 0o600


def test_it_replaces_a_file_only_if_asked_and_never_a_link(file: Path, tmp_path: Path) -> None:
    store = str(file.with_name("flu.db"))
    before = file.read_bytes()
    with pytest.raises(BadInput, match="exists already"):
        write_backup(store, file)
    assert file.read_bytes() == before
    write_backup(store, file, replace=True)
    assert file.read_bytes() != before  # made at another time
    target = tmp_path / "somebody's"
    target.write_text("kept", encoding="utf-8")
    (tmp_path / "link").symlink_to(file)
    (tmp_path / "link.new").symlink_to(target)
    with pytest.raises(BadInput, match="is not a file"):
        write_backup(store, tmp_path / "link", replace=True)
    (tmp_path / "link").unlink()
    write_backup(store, tmp_path / "link")  # the planted link.new is removed, not followed
    assert target.read_text(encoding="utf-8") == "kept"
    assert not (tmp_path / "link").is_symlink()


def test_it_replaces_no_file_that_is_something_else(file: Path) -> None:
    """Least of all the store that it is a backup of."""
    store = file.with_name("flu.db")
    for other in (store, file.with_name("notes")):
        other.touch()
        before = other.read_bytes()
        with pytest.raises(BadInput, match="is not a backup"):
            write_backup(str(store), other, replace=True)
        assert other.read_bytes() == before


def test_a_name_that_is_taken_meanwhile_is_left_alone(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def late(one: Path, other: Path, *, follow_symlinks: bool) -> None:
        (tmp_path / "raced").write_text("quicker", encoding="utf-8")
        link(one, other, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(BadInput, match="exists already"):
        write_backup(str(file.with_name("flu.db")), tmp_path / "raced")
    assert (tmp_path / "raced").read_text(encoding="utf-8") == "quicker"
    assert not (tmp_path / "raced.new").exists()


def test_a_disk_without_links_gets_it_too(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_backup(str(file.with_name("flu.db")), tmp_path / "fat")
    with opened(tmp_path / "fat") as backup:
        assert backup.streams


def test_a_folder_in_which_others_may_write_is_refused(file: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(BadInput, match="Others may write"):
        write_backup(str(file.with_name("flu.db")), shared / "flu.backup")
    shared.chmod(0o1777)  # as /tmp: nobody can exchange another's file
    write_backup(str(file.with_name("flu.db")), shared / "flu.backup")


def test_two_at_once_do_not_mix(file: Path, tmp_path: Path) -> None:
    with (
        own_files.own_file(tmp_path / "flu.backup.new"),
        pytest.raises(AmelesError, match="by another process"),
    ):
        write_backup(str(file.with_name("flu.db")), tmp_path / "flu.backup")
    (tmp_path / "flu.backup.new").write_bytes(b"left by a process that died")
    write_backup(str(file.with_name("flu.db")), tmp_path / "flu.backup")
    assert sorted(os.listdir(tmp_path)) == ["flu.backup", "full"]


def test_a_full_disk_leaves_nothing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "link"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, full)
            with pytest.raises(AmelesError, match="cannot be written") as refused:
                write_backup(str(file.with_name("flu.db")), tmp_path / "b")
        assert refused.value.why == "no space left on device"
        assert sorted(os.listdir(tmp_path)) == ["full"]


def test_what_is_no_store_is_not_backed_up(tmp_path: Path) -> None:
    for content in (b"", b"something else that is long enough to be a header of a database"):
        (tmp_path / "x.db").write_bytes(content)
        (tmp_path / "x.db").chmod(0o600)
        with pytest.raises(StoreRefused):
            write_backup(str(tmp_path / "x.db"), tmp_path / "b")
    assert sorted(os.listdir(tmp_path)) == ["x.db"]


def test_a_missing_backup_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"), opened(tmp_path / "nothing"):
        pass
    with pytest.raises(BadInput, match="is a directory"), opened(tmp_path):
        pass


def test_steps_to_come_are_not_in_it(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        with store.writing() as transaction:
            stream = launch(transaction)
            transaction.add_steps(stream, minutes(1, 1))
            transaction.advance(stream, released=1)
        assert write_backup(str(tmp_path / "flu.db"), tmp_path / "b")[0].released == 1
