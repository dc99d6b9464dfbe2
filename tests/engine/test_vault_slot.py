"""Where the key is: outside the store, nobody else's, passed over by backups, and honest."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

import pytest

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.engine.sealed.vault import EpochEnded, FileSlot, MemorySlot, Vault, VaultPlace, disk
from ameles.engine.sealed.vault.opening import OpenedVault

from .vault_faults import IDENTITY, SIZE, Disk, Rig, loaded, on, save

SHARED = Path("/", "dev", "shm")
linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for a file system's type")


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o177])
def test_files_are_their_owners_alone_whatever_the_umask(rig: Rig, umask: int) -> None:
    rig.folder.parent.mkdir(parents=True)
    before = os.umask(umask)
    try:
        with rig.create() as vault:
            save(vault, 1)
    finally:
        os.umask(before)
    files = [path for path in rig.base.rglob("*") if path.is_file()]
    assert len(files) == 6
    assert {mode(path) for path in files} == {0o600}
    assert {mode(rig.folder), mode(rig.slot.place.parent)} == {0o700}


def test_the_slot_is_one_block_in_a_folder_that_backups_pass_over(rig: Rig) -> None:
    rig.create().close()
    folder = rig.slot.place.parent
    assert {path.name for path in folder.iterdir()} == {"flu.key", "CACHEDIR.TAG", ".nobackup"}
    assert rig.slot.place.stat().st_size == 4096
    # The signature that the programs look for: https://bford.info/cachedir/
    signature = b"Signature: 8a477f597d28d172789f06886806bc55"
    assert (folder / "CACHEDIR.TAG").read_bytes().startswith(signature)


def test_tar_passes_over_the_slot(rig: Rig, tmp_path: Path) -> None:
    with rig.create() as vault:
        save(vault, 1)
    archive = tmp_path.parent / f"{tmp_path.name}.tar"
    tar = shutil.which("tar")
    if not tar or b"GNU" not in subprocess.run([tar, "--version"], capture_output=True).stdout:
        pytest.skip("needs GNU tar")
    command = [tar, "--exclude-caches", "-cf", str(archive), "-C", str(tmp_path), "."]
    subprocess.run(command, check=True, capture_output=True)
    assert rig.sector()[96:128] not in archive.read_bytes()
    assert (rig.folder / "state.1").read_bytes() in archive.read_bytes(), "the rest is there"


def test_several_slots_share_a_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        slot = FileSlot(tmp_path / "keys" / f"{name}.key")
        with Vault.create(VaultPlace(tmp_path / name, slot, identity=IDENTITY, size=SIZE)) as vault:
            save(vault, 1)
    assert len(list((tmp_path / "keys").glob("*.key"))) == 2


def test_one_slot_is_for_one_vault(tmp_path: Path, rig: Rig) -> None:
    with rig.create() as vault:
        save(vault, 1)
    other = UUID(int=7)
    with pytest.raises(StoreRefused, match="another vault"):
        Vault.create(VaultPlace(tmp_path / "second", rig.slot, identity=other, size=SIZE))
    with rig.open() as vault:
        assert loaded(vault) == 1


@pytest.mark.parametrize("place", ["store/flu.key", "store/vault/flu.key", "store/keys/flu.key"])
def test_a_slot_inside_the_store_is_refused(rig: Rig, place: str) -> None:
    rig.folder.parent.mkdir()
    for attempt in (Vault.create, Vault.open):
        if attempt == Vault.open:
            rig.create().close()
        with pytest.raises(BadInput, match="must be outside the folder of the store"):
            attempt(VaultPlace(rig.folder, FileSlot(rig.base / place), **rig.where))


def test_a_slot_inside_the_store_by_another_way_is_refused(rig: Rig) -> None:
    rig.folder.parent.mkdir()
    (rig.base / "link").symlink_to(rig.folder.parent)
    with pytest.raises(BadInput, match="must be outside"):
        Vault.create(
            VaultPlace(rig.folder, FileSlot(rig.base / "link" / "k" / "a.key"), **rig.where)
        )
    with pytest.raises(BadInput, match="must be outside"):
        Vault.create(
            VaultPlace(rig.folder, FileSlot(rig.base / "a.key"), **rig.where)
        )  # the store is in it


def test_a_folder_with_other_files_is_refused_and_left_alone(rig: Rig) -> None:
    rig.slot.place.parent.mkdir(mode=0o700)
    (rig.slot.place.parent / "letters.txt").write_text("to be backed up")
    with pytest.raises(StoreRefused, match="has other files in it"):
        rig.create()
    assert [path.name for path in rig.slot.place.parent.iterdir()] == ["letters.txt"]


def test_a_folder_that_others_may_write_is_refused(rig: Rig) -> None:
    rig.create().close()
    for folder in (rig.folder, rig.slot.place.parent):
        folder.chmod(0o770)
        with pytest.raises(StoreRefused, match="its mode is 0770"):
            rig.open()
        folder.chmod(0o700)
    rig.open().close()


def test_a_folder_that_is_refused_is_not_held(rig: Rig) -> None:
    rig.create().close()
    rig.folder.chmod(0o770)
    with (
        patch.object(os, "close", side_effect=os.close) as closed,
        pytest.raises(StoreRefused, match="its mode is 0770"),
    ):
        disk.open_folder(rig.folder, create=False)
    assert closed.call_count == 1


def test_a_slot_that_others_may_read_is_refused(rig: Rig) -> None:
    rig.create().close()
    rig.slot.place.chmod(0o640)
    with pytest.raises(StoreRefused, match="its mode is 0640"):
        rig.open()


@pytest.mark.parametrize("harm", ["linked", "symbolic", "short", "folder"])
def test_what_is_not_a_slot_is_refused(rig: Rig, harm: str) -> None:
    rig.create().close()
    place = rig.slot.place
    other = place.with_name("other")
    match harm:
        case "linked":
            other.hardlink_to(place)
        case "symbolic":
            place.rename(other)
            place.symlink_to(other)
        case "short":
            place.write_bytes(b"short")
        case "folder":
            place.unlink()
            place.mkdir()
    with pytest.raises(StoreRefused, match=r"is not a key slot|cannot be opened") as caught:
        rig.open()
    assert not isinstance(caught.value, EpochEnded), "it may be put right"


def test_a_disk_that_is_not_mounted_does_not_end_the_epoch(rig: Rig) -> None:
    rig.create().close()
    keys = rig.slot.place.parent
    away = keys.with_name("away")
    keys.rename(away)
    with pytest.raises(StoreRefused, match="no folder") as caught:
        rig.open()
    assert not isinstance(caught.value, EpochEnded)
    keys.mkdir(mode=0o700)  # the mount point alone
    with pytest.raises(StoreRefused, match="not a folder of key slots") as caught:
        rig.open()
    assert not isinstance(caught.value, EpochEnded)
    keys.rmdir()
    away.rename(keys)
    rig.open().close()


def test_a_folder_through_a_link_is_the_folder(rig: Rig) -> None:
    with rig.create() as vault:
        save(vault, 1)
    (rig.base / "link").symlink_to(rig.folder)
    with Vault.open(VaultPlace(rig.base / "link", rig.slot, **rig.where)) as vault:
        assert loaded(vault) == 1


@linux
def test_a_slot_in_memory_is_lost_with_it(rig: Rig, memory: Path) -> None:
    slot = MemorySlot(memory)
    rig.folder.parent.mkdir()
    with Vault.create(VaultPlace(rig.folder, slot, **rig.where)) as vault:
        save(vault, 1)
        assert vault.tier.startswith("memory: the slot is in RAM (tmpfs); a reboot ends the epoch")
    with Vault.open(VaultPlace(rig.folder, slot, **rig.where)) as vault:
        assert loaded(vault) == 1
    shutil.rmtree(slot.path(IDENTITY).parent)  # a reboot
    with pytest.raises(EpochEnded) as caught:
        Vault.open(VaultPlace(rig.folder, slot, **rig.where))
    assert "reboot" in caught.value.why
    with pytest.raises(StoreRefused, match="made before"):
        Vault.create(VaultPlace(rig.folder, slot, **rig.where))
    with Vault.create(VaultPlace(rig.folder, slot, epoch=2, **rig.where)) as vault:
        save(vault, 1)
        assert loaded(vault) == 1


@linux
def test_a_slot_in_memory_is_in_memory(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MemorySlot().path(IDENTITY).is_relative_to(SHARED)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(memory))
    assert MemorySlot().path(IDENTITY).is_relative_to(SHARED)
    with patch("ameles.engine.sealed.vault.slot._is_in_memory", lambda base: base == memory):
        assert MemorySlot().path(IDENTITY).is_relative_to(memory)
    nowhere = patch("ameles.engine.sealed.vault.slot.in_memory", lambda _: False)
    with nowhere, pytest.raises(StoreRefused, match="no folder in RAM"):
        MemorySlot().path(IDENTITY)


@linux
def test_a_folder_that_someone_else_put_there_first_is_refused(rig: Rig, memory: Path) -> None:
    slot = MemorySlot(memory)
    slot.path(IDENTITY).parent.symlink_to(rig.base)
    rig.folder.parent.mkdir()
    with pytest.raises(StoreRefused, match="cannot be created"):
        Vault.create(VaultPlace(rig.folder, slot, **rig.where))
    slot.path(IDENTITY).parent.unlink()
    slot.path(IDENTITY).parent.mkdir(mode=0o700)
    squatted = slot.path(IDENTITY).parent
    other = os.geteuid() + 1
    with patch("os.geteuid", lambda: other), pytest.raises(StoreRefused, match="another user"):
        disk.open_folder(squatted, create=True)


def test_what_a_kill_left_of_an_older_state_is_overwritten_when_it_is_opened(rig: Rig) -> None:
    vault = rig.create()
    save(vault, 1)
    with patch.object(OpenedVault, "blank"):  # killed after the commit
        save(vault, 2)
    vault.close()
    files = [rig.folder / name for name in ("state.0", "state.1")]
    assert all(any(file.read_bytes()) for file in files)
    with rig.open() as vault:
        assert loaded(vault) == 2
        assert sorted(any(file.read_bytes()) for file in files) == [False, True]


def test_names_are_on_the_disk_before_what_depends_on_them(rig: Rig) -> None:
    # a power cut right after the vault was made must not leave a header without its files, nor a
    # folder of which the one above knows nothing
    recorded = Disk()
    with on(recorded), rig.create():
        kinds = [(call.kind, (call.target or call.path).name) for call in recorded.calls]
    header = kinds.index(("rename", "vault.json"))
    made = kinds.index(("create", "state.1"))
    assert ("sync names", rig.folder.name) in kinds[made:header]
    folder = kinds.index(("mkdir", rig.folder.name))
    assert kinds[folder + 1] == ("sync names", rig.folder.parent.name)
    recorded = Disk()
    with on(recorded), rig.open():
        # what was made before a crash may still be in the system's cache alone
        kinds = [(call.kind, call.path.name) for call in recorded.calls]
    assert ("sync names", rig.folder.name) in kinds


def test_what_is_saved_is_on_the_disk_before_what_comes_after_it(rig: Rig) -> None:
    recorded = Disk()
    with on(recorded), rig.create() as vault:
        save(vault, 0)
        recorded.arm(None)
        save(vault, 1)
        calls = [(call.kind, call.path.name) for call in recorded.calls]
    fresh, older = ("state.0", "state.1")
    key = rig.slot.place.name
    assert calls == [
        *[("write", fresh), ("sync", fresh)],
        *[("write", key), ("sync", key)],
        ("write", older),  # for which there is no key: it need not be synced
    ]
