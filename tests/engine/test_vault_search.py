"""What is erased is not on the disk: every byte of it is searched for every old key and state.

On a real ext4 in an image of its own, through a loop device: not what the file system shows, but
what is in its blocks and its journal.  That needs a machine on which the tests may mount.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ameles.engine.sealed.vault import cipher
from ameles.engine.sealed.vault.slot import KeySlot

from .vault_faults import Disk, Rig, on, releases, save, state

UPDATES = 500


@dataclass
class Secrets:
    """Every key that was ever made, as the search needs them: no vault keeps this."""

    keys: list[bytes] = field(default_factory=list)

    def fresh_key(self, make: Callable[[], bytearray] = cipher.fresh_key) -> bytearray:
        key = make()
        self.keys.append(bytes(key))
        return key

    def found_keys(self, content: bytes) -> set[int]:
        # Half a key in a row is enough: the rest could be elsewhere.
        parts = ((number, key[:16], key[16:]) for number, key in enumerate(self.keys))
        return {number for number, one, other in parts if one in content or other in content}

    def found_states(self, content: bytes) -> set[int]:
        return {
            step
            for step in range(len(self.keys))
            if state(step)[:16] in content or releases(step)[:12] in content
        }


@contextmanager
def recorded() -> Iterator[Secrets]:
    secrets = Secrets()
    with patch.object(cipher, "fresh_key", secrets.fresh_key):
        yield secrets


def all_bytes(rig: Rig) -> bytes:
    return b"".join(rig.files().values())


def updated(rig: Rig, count: int) -> None:
    with rig.create() as vault:
        for step in range(count):
            save(vault, step)
            vault.load()


def new_file_for_each_key(slot: KeySlot, sector: bytearray) -> None:
    """What is usually done: a new file, moved over the old one, whose content is 'deleted'."""
    fresh = slot.path.with_suffix(".new")
    fresh.touch(mode=0o600)
    handle = os.open(fresh, os.O_RDWR)
    os.pwrite(handle, sector + bytes(4096 - len(sector)), 0)
    os.fsync(handle)
    os.replace(fresh, slot.path)
    os.close(slot._handle)
    slot._handle = handle


def wiped_then_removed(slot: KeySlot, sector: bytearray) -> None:
    """The careful way: the old file is overwritten before it is removed, and nobody syncs that."""
    os.pwrite(slot._handle, bytes(4096), 0)
    new_file_for_each_key(slot, sector)


def a_log_of_keys(slot: KeySlot, sector: bytearray) -> None:
    """Keeps the old ones behind the new one."""
    with slot.path.open("ab") as file:
        file.write(sector)
    WRITE(slot, sector)


WRITE = KeySlot.write


def test_after_500_updates_no_old_key_and_no_state_is_in_the_files(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    with recorded() as secrets:
        updated(rig, UPDATES)
    assert len(secrets.keys) == UPDATES
    assert secrets.found_keys(all_bytes(rig)) == {UPDATES - 1}, "the one key, and so it is found"
    assert secrets.found_states(all_bytes(rig)) == set(), "not even that one is there in the clear"


def test_a_vault_that_keeps_its_keys_is_caught(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    with recorded() as secrets, patch.object(KeySlot, "write", a_log_of_keys):
        updated(rig, 20)
    assert len(secrets.found_keys(all_bytes(rig))) == 20


def test_a_vault_without_encryption_is_caught(tmp_path: Path) -> None:
    def plain(key: bytearray, content: bytearray, bound: bytes) -> bytearray:
        return content + bytes(cipher.TAG)

    rig = Rig(tmp_path)
    with recorded() as secrets, patch.object(cipher, "seal", plain), rig.create() as vault:
        save(vault, 0)
        assert secrets.found_states(all_bytes(rig)) == {0}


@dataclass
class Image:
    """An ext4 in a file, mounted."""

    file: Path
    mounted: Path

    @property
    def rig(self) -> Rig:
        return Rig(self.mounted)

    def raw(self) -> bytes:
        """All blocks in which there is anything."""
        content = self.file.read_bytes()
        blocks = (content[at : at + 4096] for at in range(0, len(content), 4096))
        return b"".join(block for block in blocks if block.strip(b"\0"))


PROGRAMS = ("mkfs.ext4", "mount", "umount", "losetup")


@contextmanager
def mounted(folder: Path, options: str = "") -> Iterator[Image]:
    """A real file system of 8 MiB, or a skip where this user may not have one."""
    where = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    programs = {name: shutil.which(name, path=where) for name in PROGRAMS}
    missing = [name for name, path in programs.items() if not path]
    if missing or os.geteuid() != 0:
        pytest.skip("needs root, and the programs of the Debian packages mount and e2fsprogs")
    image = Image(folder / "image", folder / "mounted")
    with image.file.open("wb") as file:
        file.truncate(8 << 20)
    image.mounted.mkdir()
    mkfs = [programs["mkfs.ext4"], "-q", "-b", "4096", "-O", "has_journal", str(image.file)]
    subprocess.run([part for part in mkfs if part], check=True)
    mount = [str(programs["mount"]), "-o", f"loop{options}", str(image.file), str(image.mounted)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("needs a kernel that mounts loop devices for this user")
    image.mounted.chmod(0o700)
    try:
        yield image
    finally:
        subprocess.run([str(programs["umount"]), str(image.mounted)], check=True)


def searched(folder: Path, count: int, options: str = "") -> tuple[Secrets, bytes, str]:
    """So many updates on an image of its own; then all of its bytes, mounted no more."""
    with recorded() as secrets:
        with mounted(folder, options) as image:
            updated(image.rig, count)
            with image.rig.open() as vault:
                tier = vault.tier
        return secrets, image.raw(), tier


def test_after_500_updates_no_old_key_and_no_state_is_on_the_disk(tmp_path: Path) -> None:
    secrets, raw, tier = searched(tmp_path, UPDATES)
    assert secrets.found_keys(raw) == {UPDATES - 1}
    assert secrets.found_states(raw) == set()
    assert tier.startswith(("in place: ext4", "best effort: the disk is flash"))


@pytest.mark.parametrize("broken", [new_file_for_each_key, wiped_then_removed])
def test_a_vault_that_deletes_its_keys_is_caught(tmp_path: Path, broken: Any) -> None:
    with patch.object(KeySlot, "write", broken):
        secrets, raw, _ = searched(tmp_path, 100)
    assert len(secrets.found_keys(raw)) > 50


def test_a_file_system_that_journals_data_keeps_keys_and_is_said_to(tmp_path: Path) -> None:
    secrets, raw, tier = searched(tmp_path, 100, ",data=journal")
    assert len(secrets.found_keys(raw)) > 50
    assert tier.startswith("best effort: the file system is mounted with data=journal")


def test_at_no_instant_are_two_keys_on_the_disk(tmp_path: Path) -> None:
    instants = 0
    with recorded() as secrets, mounted(tmp_path) as image, on(RealSync()) as disk:

        def look() -> None:
            nonlocal instants
            instants += 1
            assert len(secrets.found_keys(image.raw())) <= 1

        disk.watch = look
        with image.rig.create() as vault:
            for step in range(10):
                save(vault, step)
        with image.rig.open() as vault:
            save(vault, 10)
            assert secrets.found_keys(image.raw()) == {10}
            vault.erase()
        assert secrets.found_keys(image.raw()) == set()
    assert instants > 70


class RealSync(Disk):
    """A disk that is looked at after every call, and does sync."""

    def fdatasync(self, handle: int) -> None:
        os.fdatasync(handle)
        super().fdatasync(handle)

    def fsync(self, handle: int) -> None:
        os.fsync(handle)
        super().fsync(handle)
