"""What the tests of the vault share: a small vault, a disk that stops, and someone who reads it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ameles.engine.sealed.vault import FileSlot, Vault, VaultPlace

IDENTITY = UUID("6f1c7a52-3f0e-4d47-9a0b-6f2f5c1d8e11")
SIZE = 48
T = TypeVar("T")
NONCE = bytes(12)


def state(step: int) -> bytes:
    """A state that is recognised wherever it is found."""
    return hashlib.sha256(b"state %d" % step).digest()


def releases(step: int) -> bytes:
    return hashlib.sha256(b"releases %d" % step).digest()[:16]


@dataclass(frozen=True)
class Rig:
    """A vault and its slot below one folder."""

    base: Path

    @property
    def folder(self) -> Path:
        return self.base / "store" / "vault"

    @property
    def slot(self) -> FileSlot:
        return FileSlot(self.base / "keys" / "flu.key")

    @property
    def where(self) -> dict[str, Any]:
        store = self.folder.parent
        return {"identity": IDENTITY, "size": SIZE, "store": store}

    def create(self, *, epoch: int = 1) -> Vault:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        return Vault.create(VaultPlace(self.folder, self.slot, epoch=epoch, **self.where))

    def open(self, *, epoch: int = 1) -> Vault:
        return Vault.open(VaultPlace(self.folder, self.slot, epoch=epoch, **self.where))

    def sector(self) -> bytes:
        return self.slot.place.read_bytes()[:512]

    def files(self) -> dict[str, bytes]:
        """All there is on the disk."""
        found = {}
        for folder, _, names in os.walk(self.base):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    found[os.path.relpath(file.name, self.base)] = file.read()
        return found


@contextmanager
def rigs() -> Iterator[Callable[[], Rig]]:
    """Fresh rigs, in RAM where there is such a folder: a sync is the test's own affair here."""
    memory = Path("/", "dev", "shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield lambda: Rig(Path(tempfile.mkdtemp(dir=folder)))


def saved(rig: Rig, steps: int) -> Vault:
    """A new vault after this many saves."""
    vault = rig.create()
    for step in range(steps):
        save(vault, step)
    return vault


def save(vault: Vault, step: int) -> None:
    vault.save(state(step), releases(step), step=step)


def loaded(vault: Vault) -> int | None:
    """The step that a vault has, after a look at all that it gives."""
    sealed = vault.load()
    if sealed is None:
        return None
    assert (sealed.state, sealed.releases) == (state(sealed.step), releases(sealed.step))
    return sealed.step


@lru_cache(1 << 15)  # a disk is looked at twice, before and after the vault is opened
def first_mask(key: bytes) -> int:
    """What AES-GCM adds to the first block under a key, with the nonce of the vault."""
    return int.from_bytes(AESGCM(key).encrypt(NONCE, bytes(16), None)[:16], "big")


def readable(files: dict[str, bytes], steps: range) -> set[int]:
    """The states that someone with all bytes of the disk can read.

    Every 32 bytes in a row, anywhere, are tried as a key on every file.  Not with the vault's own
    code, which would look at the whole of a file: the first block tells.
    """
    lengths = len(state(0)).to_bytes(4, "big") + len(releases(0)).to_bytes(4, "big")
    opened = {(lengths + state(step))[:16]: step for step in steps}
    starts = {content[:16] for name, content in files.items() if "state." in name and any(content)}
    windows = {
        content[at : at + 32]
        for content in (content.rstrip(b"\0") + bytes(31) for content in files.values())
        for at in range(len(content) - 31)
    }
    states: set[int] = set()
    for key in windows if starts else ():
        mask = first_mask(key)
        for start in starts:
            plain = (int.from_bytes(start, "big") ^ mask).to_bytes(16, "big")
            states |= {opened[plain]} if plain in opened else set()
    return states


class Killed(BaseException):
    """The process ends here: nothing that follows is done, no exception handler notices."""


@dataclass(frozen=True)
class Call:
    """One change of the disk that the vault asked for."""

    kind: str
    path: Path
    offset: int = 0
    data: bytes = b""
    target: Path | None = None

    @property
    def shape(self) -> tuple[object, ...]:
        """What anyone can see of it who does not see the bytes."""
        return self.kind, self.path.name, self.offset, len(self.data)


@dataclass
class Disk:
    """Stands where the vault expects ``os``: writes down every change, and stops at one.

    ``stop`` is the number of a call, and whether it ends before it, after it, or how many bytes
    of a write were written.  ``fail`` raises an error of the system instead, once.
    """

    stop: tuple[int, str | int] | None = None
    fail: OSError | None = None
    calls: list[Call] = field(default_factory=list)
    watch: Callable[[], None] | None = None
    paths: dict[int, Path] = field(default_factory=dict)
    count: int = 0
    dead: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def arm(self, stop: tuple[int, str | int] | None, fail: OSError | None = None) -> None:
        """Counts from here."""
        self.calls.clear()
        self.count, self.stop, self.fail = 0, stop, fail

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        full = Path(path) if dir_fd is None else self.paths[dir_fd] / path
        action = partial(os.open, path, flags, mode, dir_fd=dir_fd)
        if flags & os.O_CREAT and not full.exists():
            handle = self._change(Call("create", full), action)
        elif flags & os.O_TRUNC:
            handle = self._change(Call("resize", full), action)
        else:
            handle = action()
        self.paths[handle] = full
        return handle

    def pwrite(self, handle: int, data: Any, at: int) -> int:
        call = Call("write", self.paths[handle], at, bytes(data))
        part = lambda length: os.pwrite(handle, call.data[:length], at)
        return self._change(call, partial(os.pwrite, handle, data, at), part)

    def ftruncate(self, handle: int, length: int) -> None:
        call = Call("resize", self.paths[handle], length)
        self._change(call, lambda: os.ftruncate(handle, length))

    def fdatasync(self, handle: int) -> None:
        self._change(Call("sync", self.paths[handle]), lambda: None)

    def fsync(self, handle: int) -> None:
        self._change(Call("sync names", self.paths[handle]), lambda: None)

    def mkdir(self, path: Any, mode: int) -> None:
        self._change(Call("mkdir", Path(path)), lambda: os.mkdir(path, mode))

    def rename(self, old: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        call = Call("rename", self.paths[src_dir_fd] / old, target=self.paths[dst_dir_fd] / new)
        action = lambda: os.rename(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        self._change(call, action)

    def _change(
        self, call: Call, action: Callable[[], T], part: Callable[[int], object] | None = None
    ) -> T:
        if self.dead:
            raise Killed
        at, when = self.stop or (-1, "")
        if self.count != at:
            self.count += 1
            done = action()
            self.calls.append(call)
            if self.watch:
                self.watch()
            return done
        if when == "after":
            action()
            self.calls.append(call)
        elif isinstance(when, int):
            assert part
            part(when)
            self.calls.append(Call(call.kind, call.path, call.offset, call.data[:when]))
        if self.fail:
            self.stop = None
            raise self.fail
        self.dead = True
        raise Killed


@contextmanager
def on(disk: Disk) -> Iterator[Disk]:
    """The vault changes files through this disk alone."""
    # Not the vault's own functions, one of which may fail to sync: the system's calls below them.
    with patch.multiple("ameles.engine.sealed.vault.disk", os=disk, fcntl=_Control(disk)):
        yield disk


class _Control:
    """The calls that the system has in another place: macOS syncs by one of them."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def __getattr__(self, name: str) -> Any:
        return getattr(fcntl, name)

    def fcntl(self, handle: int, _: int) -> None:
        self._disk.fdatasync(handle)


def stops(calls: list[Call], *, every: int = 1) -> list[tuple[int, str | int]]:
    """Before and after each of these calls, and within each write after every so many bytes."""
    places: list[tuple[int, str | int]] = []
    for number, call in enumerate(calls):
        torn = range(every, len(call.data), every) if call.kind == "write" else ()
        places += [(number, "before"), *((number, length) for length in torn), (number, "after")]
    return places
