"""The vault of a plan's stream: where it is, how large a state is, and what is packed into it."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from ameles.connectors import durable
from ameles.core.exceptions import StoreRefused
from ameles.core.wiping import wipe_bytes
from ameles.engine.releasing.batch_ids import BatchIds
from ameles.engine.sealed.vault import (
    EpochEnded,
    FileSlot,
    MemorySlot,
    Slot,
    Vault,
    VaultMissing,
    VaultPlace,
    cipher,
    opening,
    record,
)
from ameles.engine.sealed.vault.problems import told
from ameles.engine.sealed.vault.record import Holds
from ameles.engine.sealed.vault.slot import open_slot
from ameles.plan.plan import Plan

BATCHES = ""  # no release has this name

_LENGTH = struct.Struct("<Q")


def slot_of(plan: Plan, identity: UUID) -> Slot:
    """The slot that the plan chooses for the key of its vault."""
    place = plan.store.vault
    if place == "memory":
        return MemorySlot()
    if place is None:
        return FileSlot(Path.home() / ".local" / "state" / "ameles" / str(identity) / "key")
    return FileSlot(plan.base / place / str(identity) / "key")


def folder_of(plan: Plan, identity: UUID) -> Path:
    """The folder of the ciphertexts, beside the store."""
    return plan.base / f"{plan.stream.name}.vault" / str(identity)


def packed(snapshots: Iterable[bytes]) -> bytes:
    """Joins several snapshots into one."""
    # copies each snapshot once, without temporary copies
    return b"".join(piece for one in snapshots for piece in (_LENGTH.pack(len(one)), one))


def unpacked(state: bytes) -> list[bytes]:
    """The snapshots that ``packed`` joined.

    >>> unpacked(packed([b"one", b"", b"three"]))
    [b'one', b'', b'three']
    """
    parts, place = [], 0
    while place < len(state):
        (length,) = _LENGTH.unpack_from(state, place)
        place += _LENGTH.size + length
        parts.append(state[place - length : place])
    return parts


def _make_durably(folder: Path) -> None:
    """Makes a folder for its owner alone, and its parents, so that they survive a power cut."""
    missing, place = [], folder
    while not place.is_dir():
        missing.append(place)
        place = place.parent
    with told(folder, "made"):
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)
            durable.sync_folder(each.parent)


def sealed_step(plan: Plan, identity: UUID) -> int | None:
    """The step of the state in a plan's vault, which is public; None if no vault is in reach."""
    try:
        slot = open_slot(slot_of(plan, identity), identity, plan.base)
    except StoreRefused:
        return None
    if slot is None:
        return None
    try:
        sector = slot.read()
        kept = record.read(sector)
        cipher.wipe(sector)
    finally:
        slot.close()
    return None if kept is None or kept.holds is not Holds.KEY else kept.step


def erase_state(plan: Plan, identity: UUID) -> str:
    """Overwrites the key of a stream's state, then the state; says how far they are erased.

    What is left of a state that was lost or erased before is overwritten, too.
    """
    folder = Path(os.path.realpath(folder_of(plan, identity)))
    there = opening.header_of(folder)
    epoch = 1 if there is None else there.epoch
    if there is not None:
        with suppress(EpochEnded):
            vault, snapshots = StreamVault(plan, identity, epoch).open()
            wipe_bytes(*snapshots.values())
            with vault:
                vault.erase()
                return vault.tier
    ended = record.Record(holds=Holds.ENDED, identity=identity, epoch=epoch)
    return opening.erase_lost(folder, slot_of(plan, identity), ended, plan.base)


class StreamVault:
    """The vault of a plan's stream: where it is, and the size of a state."""

    def __init__(self, plan: Plan, identity: UUID, epoch: int = 1) -> None:
        self._plan = plan
        self._folder = folder_of(plan, identity)
        self._slot = slot_of(plan, identity)
        self._identity = identity
        self._epoch = epoch

    def create(self, snapshots: Mapping[str, bytes], step: int = 0) -> None:
        """Makes a new vault with the first state of an epoch, which begins after this step.

        After a crash inside this call it may be called again: nothing was folded into the state
        yet.
        """
        _make_durably(self._folder)
        if isinstance(self._slot, FileSlot):  # it makes its own folder, but not the parents
            _make_durably(self._slot.place.parent.parent)
        parts = [snapshots[release.name] for release in self._plan.releases]
        state = packed([*parts, BatchIds().to_bytes()] if self._receives else parts)
        begun = Vault.begun(self._folder, epoch=self._epoch)
        place = self._place(self._size(len(state)))
        with Vault.open(place) if begun else Vault.create(place) as vault:
            vault.save(state, step=step)
        wipe_bytes(state)
        with told(self._sizes(), "written"):
            durable.replace(self._sizes(), str(len(state)).encode("ascii"))

    def open(self) -> tuple[Vault, dict[str, bytes]]:
        """The vault and the snapshots in it, by release; that of the batches is ``BATCHES``."""
        vault = Vault.open(self._place(self._known_size()))
        sealed = vault.load()
        snapshots = [] if sealed is None else unpacked(sealed.state)
        names = [release.name for release in self._plan.releases]
        names += [BATCHES] if self._receives else []
        if len(snapshots) != len(names):
            vault.close()
            raise EpochEnded("The vault has no state of this stream.")
        if sealed is not None:
            wipe_bytes(sealed.state)
        return vault, dict(zip(names, snapshots, strict=True))

    @property
    def _receives(self) -> bool:
        """Whether the state has a list of batches."""
        return self._plan.stream.source_kind.needs_service

    def _place(self, size: int) -> VaultPlace:
        return VaultPlace(
            self._folder,
            self._slot,
            identity=self._identity,
            size=size,
            epoch=self._epoch,
            store=self._plan.base,
        )

    def _known_size(self) -> int:
        try:
            return self._size(int(self._sizes().read_text(encoding="ascii")))
        except (OSError, ValueError):
            pass  # the vault knows its own size, if it exists
        size = Vault.size_of(self._folder)
        if size is None:
            raise VaultMissing(
                "The vault of this stream is missing.",
                why="the store does not have the state, because it could not erase it",
                tip="the folder that the stream was launched in",
            )
        return size

    def _sizes(self) -> Path:
        return self._folder.with_name(f"{self._folder.name}.size")

    def _size(self, state: int) -> int:
        return state + sum(8 * release.question.width for release in self._plan.releases)
