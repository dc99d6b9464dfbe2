"""Making a vault, and opening it again wherever its last save was interrupted."""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from ameles.core.exceptions import StoreRefused
from ameles.engine.sealed.vault import cipher, disk, record
from ameles.engine.sealed.vault.header import Header
from ameles.engine.sealed.vault.problems import VaultMissing, ended, told
from ameles.engine.sealed.vault.record import Holds, Record
from ameles.engine.sealed.vault.slot import KeySlot, Slot, make_slot, open_slot

NAMES = ("state.0", "state.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedVault:
    """A vault's files, locked by this process, and what its slot says."""

    folder: Path
    header: Header
    slot: KeySlot
    files: tuple[int, ...]
    length: int
    now: Record
    resources: ExitStack

    def overwrite(self, number: int, sealed: bytearray) -> None:
        """Overwrites an older ciphertext with a new one, and flushes it to the disk."""
        disk.write(self.files[number], sealed)

    def blank(self, number: int, *, durably: bool = False) -> None:
        """Overwrites a ciphertext that has no key any more."""
        disk.resize(self.files[number], self.length)
        disk.write(self.files[number], bytes(self.length), durably=durably)

    def sealed(self, now: Record) -> bytearray | None:
        """The ciphertext that a record names, or None if it is missing or damaged."""
        file = self.files[now.generation % 2]
        content = disk.read(file, self.length)
        whole = len(content) == self.length == os.fstat(file).st_size
        return content if whole and hashlib.sha256(content).digest() == now.digest else None


def create(folder: Path, slot: Slot, asked: Header, length: int, kept: Path) -> OpenedVault:
    """Makes an empty vault; it counts as made when its header is written."""
    blank = Record(holds=Holds.NOTHING, identity=asked.identity, epoch=asked.epoch)
    with ExitStack() as resources, told(folder, "created"):
        handle = _held(resources, folder, create=True)
        there = Header.read(handle, folder)
        if there is not None:
            there.refuse_another(asked, folder)
            if there.epoch == asked.epoch:
                raise _used(folder, asked)
        sector = record.write(blank)
        key_slot = make_slot(slot, asked.identity, kept, sector)
        resources.callback(key_slot.close)
        made = OpenedVault(
            folder=folder,
            header=asked,
            slot=key_slot,
            files=_files(resources, handle),
            length=length,
            now=blank,
            resources=resources,
        )
        _refuse_living(made, there)
        # First remove what is left of an older key.
        key_slot.write(sector)
        for number in range(len(NAMES)):
            made.blank(number, durably=True)
        disk.sync_names(handle)
        asked.put(handle)
        return _kept_open(made, blank)


def find(folder: Path, slot: Slot, asked: Header, length: int, kept: Path) -> OpenedVault:
    """Opens the vault as its last save left it."""
    with ExitStack() as resources, told(folder, "opened"):
        there = None
        if folder.is_dir():
            handle = _held(resources, folder, create=False)
            there = Header.read(handle, folder)
        if there is None or (there.identity == asked.identity and there.epoch < asked.epoch):
            raise VaultMissing(
                f"There is no vault of epoch {asked.epoch} in '{folder}'.",
                why="it was moved or removed, or its launch was never finished",
                tip="the folder that the store names",
            )
        there.refuse_another(asked, folder)
        if there.size != asked.size:
            raise StoreRefused(
                f"The vault '{folder}' is for {there.size} bytes, not for {asked.size}.",
                why="the size of a state is public and fixed at launch",
                tip="the plan with which the stream was launched",
            )
        key_slot = open_slot(slot, asked.identity, kept)
        if key_slot is None:
            raise ended(folder, "its key slot is gone, as after a reboot if the slot was in RAM")
        resources.callback(key_slot.close)
        files = _files(resources, handle)
        disk.sync_names(handle)
        opened = OpenedVault(
            folder=folder,
            header=there,
            slot=key_slot,
            files=files,
            length=length,
            now=Record(holds=Holds.NOTHING, identity=there.identity, epoch=there.epoch),
            resources=resources,
        )
        return _kept_open(opened, _recover(opened))


def erase_lost(folder: Path, slot: Slot, over: Record, kept: Path) -> str:
    """Overwrites what is left of a state that cannot be opened; says how far it is erased."""
    erased = "its key is gone already"
    with ExitStack() as resources, told(folder, "erased"):
        key_slot = open_slot(slot, over.identity, kept)
        if key_slot is not None:
            resources.callback(key_slot.close)
            erased = key_slot.tier
            key_slot.write(record.write(over))
        if folder.is_dir():
            for file in _files(resources, _held(resources, folder, create=False)):
                disk.write(file, bytes(os.fstat(file).st_size))
    return erased


def header_of(folder: Path) -> Header | None:
    """The header of the vault in a folder; None if no vault was finished there."""
    if not folder.is_dir():
        return None
    with ExitStack() as resources, told(folder, "opened"):
        handle = disk.open_folder(folder, create=False)
        resources.callback(os.close, handle)
        return Header.read(handle, folder)


def is_begun(folder: Path, epoch: int) -> bool:
    """Whether the vault of this epoch, or of a later one, was made."""
    there = header_of(folder)
    return there is not None and there.epoch >= epoch


def _recover(opened: OpenedVault) -> Record:
    folder, header = opened.folder, opened.header
    sector = opened.slot.read()
    try:
        now = record.read(sector)
        if now is None:
            raise ended(folder, "its key slot is torn: the machine stopped in the middle of a save")
        if now.identity != header.identity:
            raise _foreign(opened)
        if now.epoch != header.epoch:
            raise ended(folder, f"its key slot is in epoch {now.epoch}, not in {header.epoch}")
        if now.holds is Holds.ENDED:
            raise ended(folder, "it was erased")
        if now.holds is Holds.KEY and opened.sealed(now) is None:
            raise ended(
                folder,
                "the ciphertext that its key opens is missing or damaged, as in a folder that was "
                "restored from a backup",
            )
        # A killed process may have left the sector in the system's cache, and nobody retries a sync
        # that failed.  What is read here must be on the disk before anything is published from it;
        # otherwise a power cut could bring back the state before.
        opened.slot.write(sector)
    finally:
        cipher.wipe(sector)
    for number in range(len(NAMES)):
        if now.holds is Holds.NOTHING or number != now.generation % 2:
            opened.blank(number)
    return now


def _refuse_living(made: OpenedVault, there: Header | None) -> None:
    """Refuses a new epoch unless the one before it has ended."""
    sector = made.slot.read()
    try:
        now = record.read(sector)
    finally:
        cipher.wipe(sector)
    if now is None:
        if there is None:
            raise _foreign(made)
        return
    if now.identity != made.header.identity:
        raise _foreign(made)
    if now.holds is Holds.NOTHING and now.epoch <= made.header.epoch:
        return
    if now.epoch >= made.header.epoch:
        raise _used(made.folder, made.header)
    if now.holds is Holds.KEY and made.sealed(now) is not None:
        raise StoreRefused(
            f"The vault '{made.folder}' has a state that can be read.",
            why="a new epoch would be a second state that can be read",
            tip="open it and continue, or erase it first",
        )


def _used(folder: Path, asked: Header) -> StoreRefused:
    return StoreRefused(
        f"The vault '{folder}' of epoch {asked.epoch} was made before.",
        why="an epoch begins once: a second beginning would draw new noise that nobody paid for",
        tip="open it; if it cannot be opened, the next reserved epoch",
    )


def _foreign(opened: OpenedVault) -> StoreRefused:
    return StoreRefused(
        f"The key slot '{opened.slot.path}' belongs to another vault, or is something else.",
        tip="another path for the slot; or remove the file, if nothing needs it",
    )


def _held(resources: ExitStack, folder: Path, *, create: bool) -> int:
    handle = disk.open_folder(folder, create=create)
    resources.callback(os.close, handle)
    disk.hold(handle, folder)
    return handle


def _files(resources: ExitStack, folder: int) -> tuple[int, ...]:
    handles = []
    for name in NAMES:
        handles.append(disk.open_file(folder, name, os.O_CREAT))
        resources.callback(os.close, handles[-1])
    return tuple(handles)


def _kept_open(opened: OpenedVault, now: Record) -> OpenedVault:
    """The same vault, whose files stay open after the block that opened them."""
    return replace(opened, now=now, resources=opened.resources.pop_all())
