"""A sealed session: a pan-private stream, whose state may be seized.

Events are folded on arrival into noisy state; no exact sum of the open step outlives the call that
folds it.  Everything secret is in the vault: each state is encrypted under its own key, and the
disk never has two of them.  A step commits when its state and its outputs are sealed; the store
gets the outputs from there, so a crash in between loses nothing and draws nothing twice.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from ameles.connectors import durable
from ameles.connectors.reading import Reading
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.wiping import wipe_bytes
from ameles.engine.gathering.folding import Folding
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import Totals
from ameles.engine.running.noise_tally import CountsNoises
from ameles.engine.running.session import Session
from ameles.engine.sealed.freed_memory import overwrite_freed_memory
from ameles.engine.sealed.vault import (
    EpochEnded,
    FileSlot,
    MemorySlot,
    Slot,
    Vault,
    VaultMissing,
)
from ameles.engine.sealed.vault.problems import told
from ameles.mechanisms.continual.replies import CODE, Halted
from ameles.mechanisms.pan_private.intrusions import Announced
from ameles.mechanisms.run import Run
from ameles.mechanisms.stepped import FoldedRun
from ameles.noise.arrays import IntArray
from ameles.plan.plan import Plan
from ameles.store import StreamRecord

_LENGTH = struct.Struct("<Q")


def slot_of(plan: Plan, identity: UUID) -> Slot:
    """Where the plan wants the key of its vault."""
    place = plan.store.vault
    if place == "memory":
        return MemorySlot()
    if place is None:
        return FileSlot(Path.home() / ".local" / "state" / "ameles" / str(identity) / "key")
    return FileSlot(plan.base / place / str(identity) / "key")


def folder_of(plan: Plan, identity: UUID) -> Path:
    """Where the ciphertexts are: beside the store."""
    return plan.base / f"{plan.stream.name}.vault" / str(identity)


def packed(snapshots: Iterable[bytes]) -> bytes:
    """Several snapshots as one."""
    # one copy of each, and no other on the way
    return b"".join(piece for one in snapshots for piece in (_LENGTH.pack(len(one)), one))


def unpacked(state: bytes) -> list[bytes]:
    """What ``packed`` joined.

    >>> unpacked(packed([b"one", b"", b"three"]))
    [b'one', b'', b'three']
    """
    found, place = [], 0
    while place < len(state):
        (length,) = _LENGTH.unpack_from(state, place)
        place += _LENGTH.size + length
        found.append(state[place - length : place])
    return found


def _make_durably(folder: Path) -> None:
    """A folder for its owner alone, with those above it, which are there after a power cut too."""
    missing, place = [], folder
    while not place.is_dir():
        missing.append(place)
        place = place.parent
    with told(folder, "made"):
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)
            durable.sync_folder(each.parent)


class Sealing:
    """The vault of a plan's stream: where it is, and how large a state is."""

    def __init__(self, plan: Plan, identity: UUID, epoch: int = 1) -> None:
        self._plan = plan
        self._place: dict[str, Any] = {
            "folder": folder_of(plan, identity),
            "slot": slot_of(plan, identity),
            "identity": identity,
            "store": plan.base,
            "epoch": epoch,
        }

    def create(self, snapshots: Mapping[str, bytes], step: int = 0) -> None:
        """A new vault with the first state of an epoch, which begins after this step.

        After a crash in here it is called again: nothing was folded into what it has made.
        """
        _make_durably(self._place["folder"])
        slot = self._place["slot"]
        if isinstance(slot, FileSlot):  # which makes its own folder, and not those above it
            _make_durably(slot.place.parent.parent)
        state = packed(snapshots[release.name] for release in self._plan.releases)
        made = Vault.begun(self._place["folder"], epoch=self._place["epoch"])
        opened = Vault.open if made else Vault.create
        with opened(size=self._size(len(state)), **self._place) as vault:
            vault.save(state, step=step)
        wipe_bytes(state)
        with told(self._sizes(), "written"):
            durable.replace(self._sizes(), str(len(state)).encode("ascii"))

    def open(self) -> tuple[Vault, dict[str, bytes]]:
        """The vault and the snapshots in it."""
        vault = Vault.open(size=self._known_size(), **self._place)
        sealed = vault.load()
        snapshots = [] if sealed is None else unpacked(sealed.state)
        if len(snapshots) != len(self._plan.releases):
            vault.close()
            raise EpochEnded("The vault has no state of this stream.")
        if sealed is not None:
            wipe_bytes(sealed.state)
        names = [release.name for release in self._plan.releases]
        return vault, dict(zip(names, snapshots, strict=True))

    def _known_size(self) -> int:
        try:
            return self._size(int(self._sizes().read_text(encoding="ascii")))
        except (OSError, ValueError):
            pass  # the vault itself says how large it is, if it is there
        size = Vault.size_of(self._place["folder"])
        if size is None:
            raise VaultMissing(
                "The vault of this stream is not there.",
                why="its state is not in the store, so that it can be erased",
                tip="the folder that it was launched in",
            )
        return size

    def _sizes(self) -> Path:
        folder: Path = self._place["folder"]
        return folder.with_name(f"{folder.name}.size")

    def _size(self, state: int) -> int:
        return state + sum(8 * release.question.width for release in self._plan.releases)


def folded(run: Run[Any, Any]) -> FoldedRun[Any, Any]:
    """A run of a stream whose state may be seized: it takes events as they arrive."""
    if not isinstance(run, FoldedRun):
        raise StoreRefused(
            "The store has a mechanism for this stream whose state cannot be seized without loss.",
            why="the store is damaged",
            tip="a backup of the store that is not older than its sinks",
        )
    return run


def _numbers(released: Any) -> IntArray:
    """What a run released, for the vault."""
    found: IntArray = np.atleast_1d(CODE if isinstance(released, Halted) else released)
    return found.astype(np.int64)


class SealedSession(Session):
    """A session whose state is in a vault."""

    def __init__(self, *given: Any, vault: Vault, base: bytes = b"", **options: Any) -> None:
        super().__init__(*given, **options)
        overwrite_freed_memory()
        self._vault = vault
        # what was released before the last restart, and goes on
        none = bytes(8 * sum(line.measure.question.width for line in self._lines))
        self._bases = self._outputs_from(base or none)
        for line in self._lines:
            if line.tally is not None and self.stream.released in line.terms.ended:
                line.tally.begin()

    def finish(self) -> None:
        """Publishes the step that was sealed and, after a crash, not yet stored."""
        sealed, stream = self._vault.load(), self.stream
        if sealed is None:
            return
        wipe_bytes(sealed.state)  # the runs have it
        if sealed.step == stream.released:
            return
        if sealed.step != stream.released + 1:
            raise StoreRefused(
                f"The vault is at step {sealed.step}; the store has released {stream.released}.",
                why="one of them is older than the other, such as a restored backup",
                tip="the newest copies of both",
            )
        self._store_step(stream, sealed.step, self._outputs_from(sealed.releases))

    def take(
        self,
        reading: Reading,
        target: int,
        *,
        arrived: int | None = None,
        ended: int = 0,
    ) -> None:
        """Folds rows into the open step, and closes every open step up to ``target``."""
        if self.over:
            return
        if reading.size:
            self._fold(reading)
        while (step := self.stream.released + 1) <= target:
            outputs = [_numbers(folded(line.run).release()) for line in self._lines]
            self._seal(step, outputs)
            self._store_step(self.stream, step, outputs)
            self._progress(step, target)

    def announce(self, why: str) -> int:
        """The state was seen: makes it one that nobody has seen; how often that has happened.

        It is noted first: should it not come further, it must be announced again, and intervals
        that are a little too wide are no harm.
        """
        if self.plan.privacy.intrusions != "announced":
            raise BadInput(
                "This stream survives one intrusion, which nobody announces.",
                why='its plan has intrusions = "one"',
                tip='a plan with intrusions = "announced", launched with a budget of its own',
            )
        stream = self.stream
        with self._store.writing() as transaction:
            count = transaction.add_intrusion(stream, at=datetime.now(UTC), why=why)
        for line in self._lines:
            # some mechanisms survive an intrusion at every step, and need no announcement
            if isinstance(line.run, Announced):
                line.run.announce()
            line.terms = replace(line.terms, announced=count)
        self._seal(stream.released, None)
        return count

    def close(self) -> None:
        super().close()
        self._vault.close()

    def _fold(self, reading: Reading) -> None:
        stream = self.stream
        step = stream.released + 1
        if self.plan.privacy.user is not None:
            self._fold_users(stream, reading)
            return
        gathered = self._gather(stream, reading, Moment(stream.released, step, step, step))
        self._connection.close()  # which lets go of the events that DuckDB has in its buffers
        for line in self._lines:
            question = line.measure.question
            totals = gathered.totals.get(line.measure.name)
            totals = totals or Totals.none(len(question.amounts))
            row = totals.matrix(step, 1, question.cells)[0]
            folded(line.run).add(row)
            row.fill(0)
            totals.amounts.fill(0)
        self._seal(stream.released, None)

    def _fold_users(self, stream: StreamRecord, reading: Reading) -> None:
        """Each user's events draw the bit of the user's cell anew; nothing else is kept of them."""
        folding = Folding(self.plan, self._connection.reading(reading.paths), stream)
        for cells in folding.cells(reading):
            for line in self._lines:
                found = cells[line.measure.name]
                folded(line.run).add(found)
                found.fill(0)
        self._connection.close()
        self._seal(stream.released, None)

    def _seal(self, step: int, outputs: list[IntArray] | None) -> None:
        snapshots = [line.run.snapshot() for line in self._lines]
        state = packed(snapshots)
        kept = b"" if outputs is None else b"".join(o.astype("<i8").tobytes() for o in outputs)
        try:
            self._vault.save(state, kept, step=step)
        finally:  # with the state that follows, this one tells what came in between
            wipe_bytes(*snapshots, state)

    def _outputs_from(self, sealed: bytes) -> list[IntArray]:
        found = np.frombuffer(sealed, dtype="<i8").astype(np.int64)
        edges = np.cumsum([line.measure.question.width for line in self._lines])[:-1]
        return np.split(found, edges)

    def _store_step(self, stream: StreamRecord, step: int, outputs: list[IntArray]) -> None:
        clock = self.plan.clock
        with self._store.writing() as transaction:
            edges = [(step, clock.start_of(step), clock.end_of(step))]
            transaction.add_steps(stream, edges)
            for line, output, base in zip(self._lines, outputs, self._bases, strict=True):
                if line.tally is not None and isinstance(line.run, CountsNoises):
                    noises = line.tally.count(
                        run=line.run.noises, step=step, window=line.terms.window
                    )
                    line.terms = replace(line.terms, noises=noises)
                # the store has no snapshot: what is secret is in the vault alone
                line.publish(transaction, stream, (output + base).reshape(1, -1), step, b"")
            known = transaction.advance(stream, released=step, scheduled=step)
        self._known = known
