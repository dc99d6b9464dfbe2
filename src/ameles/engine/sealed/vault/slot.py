"""The slot: one sector in a file of its own, through which every key of a vault passes.

The file lives outside the store's folder, in a folder that backups pass over: a copy of the slot
beside a copy of the ciphertext would be a state that is never erased.  It has 4096 bytes, of which
the first sector is used, because a smaller file may be kept inside the file system's metadata,
which is journaled.

    FileSlot(path)    on a disk: survives a reboot, and erases as well as its place can (the tier)
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
_MARK = ".nobackup"  # known to some that do not know the tag
_TAG_TEXT = b"""Signature: 8a477f597d28d172789f06886806bc55
# Keys of Ameles. They must never be backed up: a copy of a key is a state that is not erased.
"""


class Slot(ABC):
    """Where a vault has its key."""

    @abstractmethod
    def path(self, identity: UUID) -> Path:
        """The file, in a folder of its own."""

    @abstractmethod
    def without_folder(self, path: Path) -> StoreRefused | None:
        """The refusal where even the folder of the slot is missing; None: the slot is lost."""


@dataclass(frozen=True, slots=True)
class FileSlot(Slot):
    """A slot in a file; its folder is made if it is not there, and has nothing else in it."""

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
    """A slot in RAM: below /dev/shm, or where that is not in RAM, below $XDG_RUNTIME_DIR."""

    base: Path | None = None

    def path(self, identity: UUID) -> Path:
        bases = [self.base] if self.base else _bases()
        for base in bases:
            if _is_in_memory(base):
                # The folder has the user's number, since /dev/shm is everybody's.
                return Path(os.path.realpath(base)) / f"ameles-{os.geteuid()}" / f"{identity}.key"
        raise StoreRefused(
            "There is no folder in RAM for a key slot.",
            why=f"none of {', '.join(map(str, bases))} is a tmpfs",
            tip="a slot in a file, or a tmpfs at /dev/shm",
        )

    def without_folder(self, path: Path) -> StoreRefused | None:
        return None  # a reboot takes the folder, too


def _bases() -> list[Path]:
    # Not the user's own folder first: a session that has it and a service that has not would
    # look for one slot in two places.
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return [Path("/", "dev", "shm"), *([Path(runtime)] if runtime else [])]


class KeySlot:
    """A slot that is open, and held by this process."""

    def __init__(self, handle: int, path: Path) -> None:
        self._handle = handle
        self.path = path
        self.tier = tier(handle)

    def read(self) -> bytearray:
        """The sector as it is, to be wiped after use."""
        with told(self.path, "read"):
            return disk.read(self._handle, SECTOR)

    def write(self, sector: bytearray) -> None:
        """Overwrites the sector; it is on the disk when this returns."""
        disk.write(self._handle, sector)

    def close(self) -> None:
        """Lets go of the slot."""
        os.close(self._handle)


def open_slot(slot: Slot, identity: UUID, kept: Path) -> KeySlot | None:
    """The slot, or None where it is lost; ``kept`` is the folder that backups may copy."""
    path = _outside(slot.path(identity), kept)
    if not path.parent.is_dir():
        if refusal := slot.without_folder(path):
            raise refusal
        return None
    with told(path, "opened"), _closing(disk.open_folder(path.parent, create=False)) as folder:
        if not _exists(folder, _TAG):
            raise VaultMissing(
                f"The folder '{path.parent}' is not one of key slots.",
                why="its disk may not be mounted, or the path is another one",
                tip="mount it",
            )
        return _open(folder, path) if _exists(folder, path.name) else None


def make_slot(slot: Slot, identity: UUID, kept: Path, blank: bytearray) -> KeySlot:
    """The slot, with this sector in it if it was not there before."""
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
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size != LENGTH or found.st_nlink != 1:
            raise StoreRefused(
                f"'{path}' is not a key slot.",
                why=f"a slot is a file of {LENGTH} bytes with one name",
                tip="another path for the slot",
            )
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise StoreRefused(
                f"The key slot '{path}' belongs to or can be opened by other users: its mode is "
                f"{stat.S_IMODE(found.st_mode):04o}.",
                why="who reads the key can read the state, and keep a copy of every one",
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
            why="a backup of that folder would keep the key of a state that is to be erased",
            tip="a folder of its own for the slot, elsewhere",
        )
    return path


def _mark(folder: int, path: Path) -> None:
    """Tells backups to pass over the folder, which must have nothing else in it."""
    names = set(os.listdir(folder))
    if _TAG in names:
        return
    if names - {_MARK, f"{_MARK}.new", f"{_TAG}.new"}:
        raise StoreRefused(
            f"The folder '{path.parent}' of the key slot has other files in it.",
            why="the folder is marked so that backups pass over all of it",
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
