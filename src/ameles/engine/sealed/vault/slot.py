"""The slot: one sector in a file of its own, through which every key of a vault passes.

The file lives outside the store's folder, in a folder that backups skip: a copy of the slot
together with a copy of the ciphertext would be a state that is never erased.  The file has 4096
bytes and uses only its first sector, because a file system may keep a smaller file inside its
metadata, which is journaled.

    FileSlot(path)    on a disk: survives a reboot; its tier says how well it erases
    MemorySlot()      in RAM: erases for certain, and a reboot ends the epoch
"""

from __future__ import annotations

import fcntl
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.engine.sealed.vault import disk
from ameles.engine.sealed.vault.problems import VaultMissing, told
from ameles.engine.sealed.vault.record import SECTOR
from ameles.engine.sealed.vault.tier import in_memory, tier

LENGTH = 4096
_TAG = "CACHEDIR.TAG"  # known to tar, borg, restic and others
_MARK = ".nobackup"  # for some backup programs that do not know the tag
_TAG_TEXT = b"""Signature: 8a477f597d28d172789f06886806bc55
# Keys of Ameles. They must never be backed up: a copy of a key is a state that is not erased.
"""


class Slot(ABC):
    """The place where a vault keeps its key."""

    @abstractmethod
    def path(self, identity: UUID) -> Path:
        """The file, in a folder of its own."""

    @abstractmethod
    def without_folder(self, path: Path) -> StoreRefused | None:
        """The refusal if even the folder of the slot is missing; None if the slot is lost."""


@dataclass(frozen=True, slots=True)
class FileSlot(Slot):
    """A slot in a file.  Its folder is made if it does not exist, and may contain nothing else."""

    place: Path

    def path(self, identity: UUID) -> Path:
        return Path(os.path.realpath(self.place.parent)) / self.place.name

    def without_folder(self, path: Path) -> StoreRefused | None:
        return VaultMissing(
            f"There is no folder '{path.parent}' with a key slot.",
            why="its disk may not be mounted, or the path is another one",
            tip="mount it",
        )


@dataclass(frozen=True, slots=True)
class MemorySlot(Slot):
    """A slot in RAM: below /dev/shm, or if that is not in RAM, below $XDG_RUNTIME_DIR."""

    base: Path | None = None

    def path(self, identity: UUID) -> Path:
        bases = [self.base] if self.base else _bases()
        for base in bases:
            if _is_in_memory(base):
                # The folder name has the user's number, because all users share /dev/shm.
                return Path(os.path.realpath(base)) / f"ameles-{os.geteuid()}" / f"{identity}.key"
        raise StoreRefused(
            "There is no folder in RAM for a key slot.",
            why=f"none of {', '.join(map(str, bases))} is a tmpfs",
            tip="a slot in a file, or a tmpfs at /dev/shm",
        )

    def without_folder(self, path: Path) -> StoreRefused | None:
        return None  # a reboot removes the folder, too


def _bases() -> list[Path]:
    # /dev/shm comes first: a login session has $XDG_RUNTIME_DIR and a service does not, and both
    # must look for the slot in the same place.
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return [Path("/", "dev", "shm"), *([Path(runtime)] if runtime else [])]


class KeySlot:
    """An open slot, locked by this process."""

    def __init__(self, handle: int, path: Path) -> None:
        self._handle = handle
        self.path = path
        self.tier = tier(handle)

    def read(self) -> bytearray:
        """The sector; the caller must wipe it after use."""
        with told(self.path, "read"):
            return disk.read(self._handle, SECTOR)

    def write(self, sector: bytearray) -> None:
        """Overwrites the sector; it is on the disk when this returns."""
        disk.write(self._handle, sector)

    def close(self) -> None:
        """Closes the slot and releases its lock."""
        os.close(self._handle)


def open_slot(slot: Slot, identity: UUID, kept: Path) -> KeySlot | None:
    """Opens the slot; None if it is lost.  ``kept`` is the folder that backups may copy."""
    path = _outside(slot.path(identity), kept)
    if not path.parent.is_dir():
        if refusal := slot.without_folder(path):
            raise refusal
        return None
    with told(path, "opened"), _closing(disk.open_folder(path.parent, create=False)) as folder:
        if not _exists(folder, _TAG):
            raise VaultMissing(
                f"The folder '{path.parent}' is not a folder of key slots.",
                why="its disk may not be mounted, or the path is another one",
                tip="mount it",
            )
        return _open(folder, path) if _exists(folder, path.name) else None


def make_slot(slot: Slot, identity: UUID, kept: Path, blank: bytearray) -> KeySlot:
    """Opens the slot; if it did not exist, it gets the sector ``blank``."""
    path = _outside(slot.path(identity), kept)
    with told(path, "created"), _closing(disk.open_folder(path.parent, create=True)) as folder:
        fcntl.flock(folder, fcntl.LOCK_EX)  # another vault may be making its slot here
        _mark(folder, path)
        if not _exists(folder, path.name):
            disk.put(folder, path.name, blank + bytes(LENGTH - SECTOR))
        return _open(folder, path)


def _open(folder: int, path: Path) -> KeySlot:
    handle = disk.open_file(folder, path.name)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size != LENGTH or status.st_nlink != 1:
            raise StoreRefused(
                f"'{path}' is not a key slot.",
                why=f"a slot is a file of {LENGTH} bytes with one name",
                tip="another path for the slot",
            )
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise StoreRefused(
                f"The key slot '{path}' belongs to or can be opened by other users: its mode is "
                f"{stat.S_IMODE(status.st_mode):04o}.",
                why="whoever reads the key can read the state, and keep a copy of every state",
                tip=f"chmod 600 {path}, as its owner",
            )
        disk.hold(handle, path)
        return KeySlot(handle, path)
    except BaseException:
        os.close(handle)
        raise


def _outside(path: Path, kept: Path) -> Path:
    folder, store = path.parent, Path(os.path.realpath(kept))
    if folder.is_relative_to(store) or store.is_relative_to(folder):
        raise BadInput(
            f"The key slot '{path}' must be outside the folder of the store, '{store}'.",
            why="a backup of that folder would keep the key of a state that must be erased",
            tip="a folder of its own for the slot, elsewhere",
        )
    return path


def _mark(folder: int, path: Path) -> None:
    """Marks the folder so that backups skip it; it must contain nothing else."""
    names = set(os.listdir(folder))
    if _TAG in names:
        return
    if names - {_MARK, f"{_MARK}.new", f"{_TAG}.new"}:
        raise StoreRefused(
            f"The folder '{path.parent}' of the key slot has other files in it.",
            why="the folder is marked so that backups skip all of it",
            tip="a folder of its own for the slot",
        )
    disk.put(folder, _MARK, b"")
    disk.put(folder, _TAG, _TAG_TEXT)


def _is_in_memory(base: Path) -> bool:
    try:
        with _closing(os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as handle:
            return in_memory(handle)
    except OSError:
        return False


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _closing(handle: int) -> Iterator[int]:
    try:
        yield handle
    finally:
        os.close(handle)
