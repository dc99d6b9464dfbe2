"""A vault: two ciphertext files that take turns, and the slot with the key of one of them.

The order in which a state is saved:

1. draw a fresh key from the operating system, overwrite the older of the two files with the new
   ciphertext, and flush it to the disk before anything else;
2. overwrite the old key in the slot with the new one.  This is the commit: before it the old state
   is current, after it the new one; in between (a torn sector) neither is, and the epoch ends;
3. overwrite the older ciphertext, which nobody can open any more.

The releases of a step are in the same ciphertext as its state, so what is published is what was
committed, however often it is published again.  The files keep one size for the life of the vault.
No file is created or removed after launch, and the same system calls are made whatever the content.

What this cannot do: Python and its libraries may leave copies of a state or a key in freed memory
that was not overwritten, and memory can be swapped out or dumped.  The promise is about the disk.
Whoever takes memory and disk together in the middle of a save has two states.
"""

from __future__ import annotations

import hashlib
import os
import struct
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import NoReturn, Self
from uuid import UUID

from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.parameters import whole
from ameles.engine.sealed.vault import cipher, opening, record
from ameles.engine.sealed.vault.header import Header
from ameles.engine.sealed.vault.opening import OpenedVault
from ameles.engine.sealed.vault.problems import ended, told
from ameles.engine.sealed.vault.record import Holds, Record
from ameles.engine.sealed.vault.slot import Slot

LARGEST = 1 << 30
_LATEST = (1 << 63) - 1
_LENGTHS = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class Sealed:
    """What was saved last: the state after a step, and the releases of that step to publish."""

    step: int
    state: bytes = field(repr=False)
    releases: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class VaultPlace:
    """Where a vault is, whose it is, and what it is for.

    ``identity`` is that of the stream's launch.  ``size`` is the public number of bytes of a state
    together with its releases.  ``epoch`` counts the beginnings with fresh noise.  ``store`` is the
    folder that backups may copy, if that is more than ``folder``; the slot must be outside of it.
    """

    folder: Path
    slot: Slot
    _: KW_ONLY
    identity: UUID
    size: int
    epoch: int = 1
    store: Path | None = None

    @property
    def header(self) -> Header:
        """What the vault says of itself."""
        return Header(
            identity=self.identity,
            epoch=whole(self.epoch, "epoch", low=1, high=_LATEST),
            size=whole(self.size, "size", low=1, high=LARGEST),
        )

    @property
    def length(self) -> int:
        """How many bytes a ciphertext has."""
        return _length(self.size)

    @property
    def kept(self) -> Path:
        """The folder that backups may copy."""
        return self.store or self.folder


class Vault:
    """The one state of a pan-private stream.

    One process at a time holds a vault, and threads must not share it.
    """

    def __init__(self, opened: OpenedVault) -> None:
        self._opened = opened
        self._now = opened.now
        self._process = os.getpid()
        self._closed = ""

    @classmethod
    def create(cls, place: VaultPlace) -> Self:
        """Makes an empty vault.  After a crash inside this call it may be called again."""
        folder = _real(place.folder)
        return cls(opening.create(folder, place.slot, place.header, place.length, place.kept))

    @classmethod
    def open(cls, place: VaultPlace) -> Self:
        """Opens the vault as its last save left it; raises ``EpochEnded`` if that state is lost."""
        folder = _real(place.folder)
        return cls(opening.find(folder, place.slot, place.header, place.length, place.kept))

    @staticmethod
    def begun(folder: Path, *, epoch: int = 1) -> bool:
        """Whether ``create`` was finished for this epoch; if not, there is nothing to open."""
        return opening.is_begun(_real(folder), epoch)

    @staticmethod
    def size_of(folder: Path) -> int | None:
        """The size of the states of the vault in a folder, in bytes; None if there is no vault."""
        header = opening.header_of(_real(folder))
        return None if header is None else header.size

    @property
    def tier(self) -> str:
        """How well overwriting erases the slot, as a sentence for the operator."""
        return self._opened.slot.tier

    @property
    def step(self) -> int | None:
        """The step of the state, which is public; None before the first save."""
        return self._now.step if self._now.holds is Holds.KEY else None

    @property
    def generation(self) -> int:
        """The number of states saved so far, which is public."""
        return self._now.generation

    def save(self, state: bytes, releases: bytes = b"", *, step: int) -> None:
        """Saves a state and makes the state before it unreadable; durable when it returns."""
        self._check()
        whole(step, "step", low=self._now.step, high=_LATEST)
        size = self._opened.header.size
        if len(state) + len(releases) > size:
            raise BadInput(
                f"A state and its releases do not fit into the {size} bytes of their vault.",
                why="the size is public and fixed at launch",
            )
        with told(self._opened.folder, "written"):
            key = cipher.fresh_key()
        try:
            now = self._write(key, state, releases, step)
            self._commit(now, key)
        finally:
            cipher.wipe(key)
        # Its key is gone.  If a copy of the key survived somewhere, it has nothing to open here.
        with suppress(OSError):
            self._opened.blank(1 - now.generation % 2)

    def load(self) -> Sealed | None:
        """What was saved last; None before the first time."""
        self._check()
        sector = self._opened.slot.read()
        key = record.key_in(sector)
        try:
            if record.read(sector) != self._now:
                raise ended(self._opened.folder, "its key slot was changed by something else")
            return self._read(key) if self._now.holds is Holds.KEY else None
        finally:
            cipher.wipe(sector, key)

    def erase(self) -> None:
        """Ends the epoch: the key is overwritten, then the ciphertexts; nothing can be opened."""
        self._check()
        over = Record(
            holds=Holds.ENDED,
            identity=self._now.identity,
            epoch=self._now.epoch,
            step=self._now.step,
        )
        self._commit(over, None)
        with told(self._opened.folder, "written"):
            for number in range(len(opening.NAMES)):
                self._opened.blank(number, durably=True)
        self.close()

    def close(self) -> None:
        """Closes the files; the state stays."""
        self._closed = self._closed or "it was closed"
        self._opened.resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Vault '{self._opened.folder}'>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A vault cannot be copied or pickled: it is the only one of its state.")

    def _write(self, key: bytearray, state: bytes, releases: bytes, step: int) -> Record:
        now = replace(self._now, holds=Holds.KEY, generation=self._now.generation + 1, step=step)
        plain = bytearray(_length(self._opened.header.size) - cipher.TAG)
        _LENGTHS.pack_into(plain, 0, len(state), len(releases))
        middle = _LENGTHS.size + len(state)
        plain[_LENGTHS.size : middle] = state
        plain[middle : middle + len(releases)] = releases
        try:
            sealed = cipher.seal(key, plain, now.bound())
        finally:
            cipher.wipe(plain)
        with told(self._opened.folder, "written"):
            self._opened.overwrite(now.generation % 2, sealed)
        return replace(now, digest=hashlib.sha256(sealed).digest())

    def _commit(self, now: Record, key: bytearray | None) -> None:
        sector = record.write(now, key)
        # Until this call returns, nobody knows which of the two states is on the disk.
        self._closed = "its last save was interrupted"
        try:
            with told(self._opened.slot.path, "written"):
                self._opened.slot.write(sector)
        finally:
            cipher.wipe(sector)
        self._closed = ""
        self._now = now

    def _read(self, key: bytearray) -> Sealed:
        with told(self._opened.folder, "read"):
            sealed = self._opened.sealed(self._now)
        plain = None if sealed is None else cipher.unseal(key, sealed, self._now.bound())
        if plain is None:
            raise ended(self._opened.folder, "the ciphertext that its key opens was damaged")
        first, second = _LENGTHS.unpack_from(plain)
        middle = _LENGTHS.size + first
        content = memoryview(plain)
        state, releases = (
            bytes(content[_LENGTHS.size : middle]),
            bytes(content[middle : middle + second]),
        )
        cipher.wipe(plain)
        return Sealed(self._now.step, state, releases)

    def _check(self) -> None:
        if os.getpid() != self._process:
            raise StoreRefused(
                f"The vault '{self._opened.folder}' was opened by the process that this one was "
                "forked from.",
                why="two writers at once would leave two states that can be read",
                tip="Vault.open(place) after the fork, in one of them",
            )
        if self._closed:
            raise StoreRefused(
                f"The vault '{self._opened.folder}' cannot be used: {self._closed}.",
                tip="Vault.open(place), which finds the state that the disk has",
            )


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _length(size: int) -> int:
    return _LENGTHS.size + size + cipher.TAG
