"""Planted links: a store writes through none, whoever put it there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ameles.core.exceptions import AmelesError, StoreRefused
from ameles.store import open_store, opened_backup, write_backup
from tests.connectors.test_own_folder import as_nobody

PRECIOUS = b"precious, and not ours to change\n"
LINKS: dict[str, Callable[[Path, Path], None]] = {
    "symbolic": lambda link, victim: link.symlink_to(victim),
    "hard": lambda link, victim: os.link(victim, link),
}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of this user, elsewhere."""
    (tmp_path / "home").mkdir()
    file = tmp_path / "home" / "victim"
    file.write_bytes(PRECIOUS)
    file.chmod(0o640)
    return file


def untouched(victim: Path) -> bool:
    return victim.read_bytes() == PRECIOUS and victim.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", ["flu", "question/visitors/1"])
def test_a_lock_writes_through_no_link(link: str, name: str, victim: Path, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "flu.db")) as store:
        with store.holding(name):
            (lock,) = tmp_path.glob("*.lock")
        lock.unlink(missing_ok=True)
        LINKS[link](lock, victim)
        with pytest.raises(StoreRefused, match="lock file") as refused, store.holding(name):
            pass
        assert untouched(victim)
        assert str(lock) in str(refused.value)
        lock.unlink()
        with store.holding(name):
            assert store.held(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can act as two users")
def test_a_lock_file_of_another_user_is_not_used(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        if folder.stat().st_uid == os.getuid():
            folder.chmod(folder.stat().st_mode | 0o011)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    with open_store(str(shared / "flu.db")) as store:
        as_nobody(lambda: (shared / "flu.db-flu.lock").touch())
        with pytest.raises(StoreRefused, match="belongs to another user"), store.holding("flu"):
            pass


def test_a_lock_file_that_is_a_pipe_blocks_nobody(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "flu.db")) as store:
        os.mkfifo(tmp_path / "flu.db-flu.lock")
        with pytest.raises(StoreRefused, match="is not a file"), store.holding("flu"):
            pass


@pytest.mark.parametrize("create", [True, False])
def test_a_link_to_nothing_at_the_name_of_the_store_makes_nothing(
    create: bool, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "flu.db").symlink_to(tmp_path / "home" / "made")
    with pytest.raises(StoreRefused, match="link"):
        open_store(str(tmp_path / "flu.db"), create=create)
    assert not [*(tmp_path / "home").iterdir()]


def test_a_link_of_ones_own_to_a_store_is_that_store(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    open_store(str(tmp_path / "disk" / "flu.db")).close()
    (tmp_path / "flu.db").symlink_to(tmp_path / "disk" / "flu.db")
    with open_store(str(tmp_path / "flu.db")) as store, store.holding("flu"):
        assert (tmp_path / "disk" / "flu.db-flu.lock").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can act as two users")
def test_a_link_of_another_user_at_the_name_of_the_store_is_not_followed(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        if folder.stat().st_uid == os.getuid():
            folder.chmod(folder.stat().st_mode | 0o011)
    shared, empty = tmp_path / "shared", tmp_path / "empty"
    shared.mkdir()
    shared.chmod(0o1777)
    empty.touch(mode=0o600)
    as_nobody(lambda: (shared / "flu.db").symlink_to(empty))
    with pytest.raises(StoreRefused, match="belongs to another user"):
        open_store(str(shared / "flu.db"))
    assert not empty.stat().st_size


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("new", [True, False])
def test_nothing_beside_a_store_is_written_through_a_link(
    new: bool, ending: str, link: str, victim: Path, tmp_path: Path
) -> None:
    store = tmp_path / "flu.db"
    if not new:
        open_store(str(store)).close()
    LINKS[link](Path(f"{store}{ending}"), victim)
    with pytest.raises(StoreRefused, match=f"flu.db{ending}"):
        open_store(str(store))
    assert untouched(victim)


def test_a_store_with_two_names_is_refused(tmp_path: Path) -> None:
    """Each name would have locks and a log of its own, so that steps were released twice."""
    open_store(str(tmp_path / "flu.db")).close()
    os.link(tmp_path / "flu.db", tmp_path / "other.db")
    with pytest.raises(StoreRefused, match="another name"):
        open_store(str(tmp_path / "other.db"))
    (tmp_path / "other.db").unlink()
    open_store(str(tmp_path / "flu.db")).close()


@pytest.mark.parametrize("link", LINKS)
def test_no_backup_and_no_restore_writes_through_a_link(
    link: str, victim: Path, tmp_path: Path
) -> None:
    store, file, work = (tmp_path / name for name in ("flu.db", "flu.backup", "flu.db.restoring"))
    open_store(str(store)).close()
    LINKS[link](file, victim)
    for replace in (False, True):
        with pytest.raises(AmelesError, match=r"exists already|is not a"):
            write_backup(str(store), file, replace=replace)
    file.unlink()
    for ending in ("", "-wal", "-journal"):
        LINKS[link](tmp_path / f"flu.backup.new{ending}", victim)
        LINKS[link](tmp_path / f"flu.db.restoring{ending}", victim)
    write_backup(str(store), file)
    with opened_backup(file, work=work) as backup:
        assert not backup.streams
    assert untouched(victim)
