"""A sealed session: a pan-private stream, whose state may be seized.

Events are folded on arrival into noisy state; no exact sum of the open step outlives the call that
folds it.  Everything secret is in the vault: each state is encrypted under its own key, and the
disk never has two of them.  A step commits when its state and its outputs are sealed; the store gets
the outputs from there, so that a crash in between loses nothing and draws nothing twice.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from ameles.connectors.source import Reading
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.engine.launching import bought
from ameles.engine.line import Line, found_lines
from ameles.engine.pending import Totals
from ameles.engine.plan import Plan
from ameles.engine.session import Session
from ameles.engine.vault import FileSlot, MemorySlot, Slot, Vault
from ameles.ledger import Ledger
from ameles.noise.arrays import IntArray
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


def size_of(plan: Plan, snapshots: list[bytes]) -> int:
    """The public size of a state with the outputs of a step."""
    outputs = sum(8 * release.question.width for release in plan.releases)
    return len(packed(snapshots)) + outputs


def packed(snapshots: list[bytes]) -> bytes:
    """Several snapshots as one."""
    return b"".join(_LENGTH.pack(len(one)) + one for one in snapshots)


def unpacked(state: bytes) -> list[bytes]:
    """What ``packed`` joined."""
    found, place = [], 0
    while place < len(state):
        (length,) = _LENGTH.unpack_from(state, place)
        place += _LENGTH.size
        found.append(state[place : place + length])
        place += length
    return found


def sealed_lines(
    plan: Plan, ledger: Ledger, lines: list[Line], snapshots: list[bytes]
) -> list[Line]:
    """The lines of a stream, with their runs resumed from the vault."""
    if len(snapshots) != len(plan.releases):
        raise StoreRefused(
            "The vault has the state of another plan.", tip="the vault of this stream"
        )
    return [
        replace(line, run=ledger.resume(bought(line.recipe), snapshot))
        for line, snapshot in zip(lines, snapshots, strict=True)
    ]


class SealedSession(Session):
    """A session whose state is in a vault."""

    def __init__(self, *given: Any, vault: Vault, **options: Any) -> None:
        super().__init__(*given, **options)
        self._vault = vault

    def finish(self) -> None:
        """Publishes the step that was sealed and, after a crash, not yet stored."""
        sealed, stream = self._vault.load(), self.stream
        if sealed is None or sealed.step == stream.released:
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
        readable: tuple[str, ...] = (),
        arrived: int | None = None,
    ) -> None:
        """Folds rows into the open step, and closes every open step up to ``target``."""
        if self.over:
            return
        if reading.size:
            self._fold(reading)
        while (step := self.stream.released + 1) <= target:
            outputs = [np.asarray(line.run.release()) for line in self._lines]
            self._seal(step, outputs)
            self._store_step(self.stream, step, outputs)
            self._progress(step, target)

    def announce(self) -> None:
        """The state was seen: makes it one that nobody has seen."""
        for line in self._lines:
            if not hasattr(line.run, "announce"):
                raise BadInput(
                    f"{type(line.recipe).__name__} needs no announcement.",
                    why="its state may be seized at every step",
                )
            line.run.announce()
            line.terms = replace(line.terms, announced=line.terms.announced + 1)
        self._seal(self.stream.released, None)

    def close(self) -> None:
        super().close()
        self._vault.close()

    def _fold(self, reading: Reading) -> None:
        stream = self.stream
        step = stream.released + 1
        gathered = self._gather(stream, reading, step, step, (), step)
        for line in self._lines:
            question = line.measure.question
            totals = gathered.pending.totals.get(line.measure.name)
            totals = totals or Totals.none(len(question.amounts))
            row = totals.matrix(step, 1, question.cells)[0]
            line.run.add(row)
            row.fill(0)
            totals.amounts.fill(0)
        self._seal(stream.released, None)

    def _seal(self, step: int, outputs: list[IntArray] | None) -> None:
        state = packed([line.run.snapshot() for line in self._lines])
        kept = b"" if outputs is None else b"".join(o.astype("<i8").tobytes() for o in outputs)
        self._vault.save(state, kept, step=step)

    def _outputs_from(self, sealed: bytes) -> list[IntArray]:
        found = np.frombuffer(sealed, dtype="<i8").astype(np.int64)
        edges = np.cumsum([line.measure.question.width for line in self._lines])[:-1]
        return np.split(found, edges)

    def _store_step(self, stream: StreamRecord, step: int, outputs: list[IntArray]) -> None:
        clock = self.plan.clock
        with self._store.writing() as transaction:
            edges = [(step, clock.start_of(step), clock.end_of(step))]
            transaction.add_steps(stream, edges)
            for line, output in zip(self._lines, outputs, strict=True):
                line.publish(transaction, stream, output.reshape(1, -1), step, secret=False)
            transaction.advance(stream, released=step, scheduled=step)


__all__ = [
    "SealedSession",
    "folder_of",
    "found_lines",
    "packed",
    "sealed_lines",
    "size_of",
    "slot_of",
    "unpacked",
]
