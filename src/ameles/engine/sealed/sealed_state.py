"""The state of a pan-private stream, which may be seized: it is in the vault, and nowhere else.

Events are folded into noisy state on arrival; no exact sum of the open step outlives the call that
folds it.  Each state is encrypted under its own key, and the disk never has the keys of two states.
A step commits when its state and its outputs are sealed.  The store gets the outputs from the
vault, so a crash in between loses nothing and draws nothing twice.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from ameles.connectors.duck import KeptConnection
from ameles.connectors.reading import Reading
from ameles.core.exceptions import BadInput, StoreRefused
from ameles.core.noise import Noise
from ameles.core.wiping import wipe_bytes
from ameles.engine.gathering.gatherer import DuckGatherer
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import GathererState, Totals
from ameles.engine.gathering.user_cells import Folding
from ameles.engine.releasing.held_stream import HeldStream, Intake
from ameles.engine.releasing.noise_tally import CountsNoises
from ameles.engine.releasing.release_run import Output, ReleaseRun, folded
from ameles.engine.releasing.resuming import sealed_runs
from ameles.engine.sealed.restart import OpenedEpoch, Restarting
from ameles.engine.sealed.stream_vault import packed
from ameles.engine.sealed.vault import Vault
from ameles.mechanisms.continual.transformation import CODE, Halted
from ameles.mechanisms.pan_private.erase import erase
from ameles.mechanisms.pan_private.intrusions import Announced
from ameles.noise.arrays import IntArray

_FILL = -6  # M_PERTURB of glibc
_PATTERN = 0xA5


def _numbers(released: Output) -> IntArray:
    """What a run released, for the vault."""
    numbers: IntArray = np.atleast_1d(CODE if isinstance(released, Halted) else released)
    return numbers.astype(np.int64)


class SealedState:
    """Runs of releases whose state is in a vault."""

    position = None  # what passed cannot be read again

    def __init__(
        self,
        held: HeldStream,
        runs: list[ReleaseRun],
        vault: Vault,
        connection: KeptConnection,
        *,
        base: bytes,
        noise: Noise | None,
        progress: Callable[[int, int], None],
    ) -> None:
        """``base`` is what was released before the last restart; totals go on from there."""
        overwrite_freed_memory()
        self.runs = runs
        self.vault = vault
        self._held = held
        self._connection = connection
        self._noise = noise
        self._progress = progress
        none = bytes(8 * sum(run.measure.question.width for run in runs))
        self._bases = self._outputs_from(base or none)
        for run in runs:
            if run.tally is not None and held.record.released in run.terms.ended:
                run.tally.begin()

    @classmethod
    def resumed(
        cls,
        held: HeldStream,
        opened: OpenedEpoch,
        noise: Noise | None,
        connection: KeptConnection,
        *,
        progress: Callable[[int, int], None],
    ) -> SealedState:
        """The state that the vault has."""
        try:
            saves = opened.vault.generation + sum(opened.ended)
            runs = sealed_runs(held, noise, opened.snapshots, saves)
            wipe_bytes(*opened.snapshots.values())
            held.batch_ids = opened.batch_ids
            for run in runs:
                run.terms = replace(run.terms, ended=opened.ended)
            return cls(
                held,
                runs,
                opened.vault,
                connection,
                base=opened.base,
                noise=noise,
                progress=progress,
            )
        except BaseException:
            opened.vault.close()
            raise

    def finish(self) -> None:
        """Publishes a step that was sealed before a crash and is not in the store yet."""
        sealed, released = self.vault.load(), self._held.record.released
        if sealed is None:
            return
        wipe_bytes(sealed.state)  # the runs have a copy
        if sealed.step == released:
            return
        if sealed.step != released + 1:
            raise StoreRefused(
                f"The vault is at step {sealed.step}; the store has released {released}.",
                why="one of them is older than the other, such as a restored backup",
                tip="the newest copies of both",
            )
        self._store_step(sealed.step, self._outputs_from(sealed.releases))

    def take(self, intake: Intake) -> None:
        """Folds rows into the open step, in which they arrive, and closes every open step up to a
        target."""
        if intake.reading.size:
            self._fold(intake.reading)
        while (step := self._held.record.released + 1) <= intake.target:
            outputs = [_numbers(folded(run.run).release()) for run in self.runs]
            self._held.batch_ids.clear()
            self._seal(step, outputs)
            self._store_step(step, outputs)
            self._progress(step, intake.target)

    def announce(self, why: str) -> int:
        """Replaces a state that somebody saw with one that nobody has seen; returns how many
        intrusions were announced so far.

        The store records the intrusion first.  If the call fails after that, the intrusion must be
        announced again; the intervals are then slightly too wide, which does no harm.  Users begin
        anew with a fresh table; after a failure the next session makes it.
        """
        if self._held.plan.privacy.intrusions != "announced":
            raise BadInput(
                "This stream survives one intrusion without an announcement, and takes none.",
                why='its plan has intrusions = "one"',
                tip='a plan with intrusions = "announced", launched with a budget of its own',
            )
        stream = self._held.record
        if self._held.plan.privacy.user is not None:
            return self._begin_anew(why)
        with self._held.store.writing() as transaction:
            count = transaction.add_intrusion(stream, at=datetime.now(UTC), why=why)
        for run in self.runs:
            # a mechanism that survives an intrusion at every step needs no announcement
            if isinstance(run.run, Announced):
                run.run.announce()
            run.terms = replace(run.terms, announced=count)
        self._seal(stream.released, None)
        return count

    def _begin_anew(self, why: str) -> int:
        """Goes on with the fresh tables of the next epoch; the tables that were seen are erased."""
        held, noise = self._held, self._noise
        restarting = Restarting(held.plan, held.store, held.record, noise)
        opened, count = restarting.announced(self.vault, why)
        for run in self.runs:
            erase(run.run)
        fresh = SealedState.resumed(held, opened, noise, self._connection, progress=self._progress)
        self.runs, self.vault, self._bases = fresh.runs, fresh.vault, fresh._bases
        return count

    def close(self) -> None:
        """Forgets held events and closes the vault."""
        self._connection.close()
        self.vault.close()

    def _fold(self, reading: Reading) -> None:
        stream = self._held.record
        step = stream.released + 1
        if self._held.plan.privacy.user is not None:
            self._fold_users(reading)
            return
        gatherer = DuckGatherer(self._held.plan, self._connection)
        moment = Moment(stream.released, step, step, step)
        gathered = gatherer.gather(reading, moment, stream.salt, GathererState())
        self._connection.close()  # frees the events in DuckDB's buffers
        for run in self.runs:
            question = run.measure.question
            totals = gathered.totals.get(run.measure.name)
            totals = totals or Totals.none(len(question.amounts))
            row = totals.matrix(step, 1, question.cells)[0]
            folded(run.run).add(row)
            row.fill(0)
            totals.amounts.fill(0)
        self._seal(stream.released, None)

    def _fold_users(self, reading: Reading) -> None:
        """Redraws the bit of each user's cell; nothing else of the events is kept."""
        stream = self._held.record
        duck = self._connection.reading(reading.paths, reading.size)
        folding = Folding(self._held.plan, duck, stream)
        for cells in folding.cells(reading):
            for run in self.runs:
                users = cells[run.measure.name]
                folded(run.run).add(users)
                users.fill(0)
        self._connection.close()
        self._seal(stream.released, None)

    def _seal(self, step: int, outputs: list[IntArray] | None) -> None:
        snapshots = [run.run.snapshot() for run in self.runs]
        if self._held.plan.stream.source_kind.needs_service:
            snapshots.append(self._held.batch_ids.to_bytes())
        state = packed(snapshots)
        kept = b"" if outputs is None else b"".join(o.astype("<i8").tobytes() for o in outputs)
        try:
            self.vault.save(state, kept, step=step)
        finally:  # this state and the next one together would show what came in between
            wipe_bytes(*snapshots, state)

    def _outputs_from(self, sealed: bytes) -> list[IntArray]:
        numbers = np.frombuffer(sealed, dtype="<i8").astype(np.int64)
        edges = np.cumsum([run.measure.question.width for run in self.runs])[:-1]
        return np.split(numbers, edges)

    def _store_step(self, step: int, outputs: list[IntArray]) -> None:
        stream, clock = self._held.record, self._held.plan.clock
        with self._held.store.writing() as transaction:
            edges = [(step, clock.start_of(step), clock.end_of(step))]
            transaction.add_steps(stream, edges)
            for run, output, base in zip(self.runs, outputs, self._bases, strict=True):
                if run.tally is not None and isinstance(run.run, CountsNoises):
                    noises = run.tally.count(run=run.run.noises, step=step, window=run.terms.window)
                    run.terms = replace(run.terms, noises=noises)
                # no snapshot in the store: secrets are in the vault only
                run.publish(transaction, stream, (output + base).reshape(1, -1), step, b"")
            committed = transaction.advance(stream, released=step, scheduled=step)
        self._held.record = committed


def overwrite_freed_memory() -> bool:
    """Asks the allocator to fill freed memory from now on; returns whether it can.

    Memory that Python, numpy and DuckDB free keeps its content until something else is written
    there.  If glibc fills it, texts of events and old states do not outlive their use.  SECURITY.md
    says what this does not reach: Python's own memory for objects of up to 512 bytes, and small
    pieces that glibc keeps for the thread that freed them.  It holds until the process ends.
    """
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None)
    return hasattr(system, "mallopt") and bool(system.mallopt(_FILL, _PATTERN))
