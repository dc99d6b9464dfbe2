"""One release of a running stream: its mechanism's run, from exact totals to published values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ameles.core.exceptions import StoreRefused
from ameles.core.noise import Noise
from ameles.core.recipe import Recipe
from ameles.engine.gathering.pending import Pending, Totals
from ameles.engine.releasing.held_stream import HeldStream
from ameles.engine.releasing.noise_tally import CountsNoises, NoiseTally
from ameles.measures.measure import Measure, Terms
from ameles.mechanisms.catalogue import mechanism_from_json
from ameles.mechanisms.continual.transformation import Halted
from ameles.mechanisms.run import Run
from ameles.mechanisms.stepped import FoldedRun
from ameles.noise.arrays import IntArray
from ameles.store import ReleaseState, StreamRecord, Transaction

# What a run gives at a step: a number for each cell, one number, or that it is over.
Output: TypeAlias = IntArray | int | Halted


@dataclass
class ReleaseRun:
    """The run of a mechanism, and what its measure needs to publish."""

    measure: Measure
    terms: Terms
    recipe: Recipe
    run: Run[IntArray, Output]
    state: ReleaseState  # as it was last kept
    series: int
    history: IntArray  # the public outputs of the last window
    tally: NoiseTally | None = None  # and how many noises they have, where those are counted

    @property
    def width(self) -> int:
        """How many numbers a step of it moves."""
        return len(self.measure.keys) + self.measure.question.width

    def release(
        self,
        transaction: Transaction,
        stream: StreamRecord,
        pending: Pending,
        first: int,
        until: int,
    ) -> None:
        """Steps the mechanism from ``first`` to ``until`` and stores the results."""
        question = self.measure.question
        totals = pending.totals.get(self.measure.name) or Totals.none(len(question.amounts))
        inputs = totals.matrix(first, until - first + 1, question.cells)
        outputs: IntArray = np.asarray(self.run.feed(inputs))
        self.publish(transaction, stream, outputs, first, self.run.snapshot())

    def publish(
        self,
        transaction: Transaction,
        stream: StreamRecord,
        outputs: IntArray,
        first: int,
        snapshot: bytes,
    ) -> None:
        """Stores the outputs from step ``first`` on; ``snapshot`` is the state after them."""
        published = self.measure.publish(self.recipe, self.terms, outputs, first, self.history)
        if len(self.history):
            self.history = np.concatenate([self.history, outputs])[-len(self.history) :]
        transaction.add_releases(
            stream,
            first,
            self.series,
            published.value,
            published.low,
            published.high,
            published.label,
        )
        tally = b"" if self.tally is None else self.tally.to_bytes()
        history = self.history.astype("<i8").tobytes()
        self.state = replace(self.state, snapshot=snapshot, history=tally + history)
        transaction.set_state(stream, self.measure.name, self.state)


def folded(run: Run[IntArray, Output]) -> FoldedRun[IntArray, Output]:
    """The run as one that folds events on arrival; a state that may be seized needs such a run."""
    if not isinstance(run, FoldedRun):
        raise StoreRefused(
            "The store has a mechanism for this stream that does not protect its state.",
            why="the store is damaged",
            tip="a backup of the store that is not older than its sinks",
        )
    return run


def resumed_runs(
    held: HeldStream,
    noise: Noise | None,
    sealed: Mapping[str, bytes] | None = None,
    saves: int = 0,
) -> list[ReleaseRun]:
    """The releases of a stream, with their runs resumed.  A stored state is resumed once.

    ``sealed`` has the snapshots of a stream whose state is not in the store.  ``saves`` is a lower
    bound on how many of its states were saved so far.
    """
    with held.store.reading() as transaction:
        return _resumed(transaction, held, noise, sealed, saves)


def _resumed(
    transaction: Transaction,
    held: HeldStream,
    noise: Noise | None,
    sealed: Mapping[str, bytes] | None,
    saves: int,
) -> list[ReleaseRun]:
    plan, stream = held.plan, held.record
    ledger = transaction.ledger(
        stream.population,
        noise=noise,
        unit=plan.unit,
        sealed=None if sealed is None else stream,
    )
    if ledger is None:
        raise StoreRefused(f"The store has no population '{stream.population}'.")
    series: dict[str, int] = {}
    for one in transaction.series(stream):
        series.setdefault(one.release, one.number)
    announced = len(transaction.intrusions(stream))
    runs = []
    for release in plan.releases:
        state = transaction.state(stream, release.name)
        if state is None:
            raise StoreRefused(f"The store has no state of release '{release.name}'.")
        recipe = mechanism_from_json(state.recipe)
        terms = replace(plan.terms(release), announced=announced)
        snapshot = state.snapshot if sealed is None else sealed[release.name]
        run = ledger.resume(recipe, snapshot)
        # of a state that may be lost the last outputs at least: a restart goes on there
        steps = max(terms.window or 0, 0 if sealed is None else 1)
        width = release.question.width
        tally, outputs = None, state.history
        if sealed is not None and isinstance(run, CountsNoises):
            counted, outputs = _split(state.history, NoiseTally.size(steps), 8 * steps * width)
            if counted:
                tally = NoiseTally.read(counted, steps)
            else:
                tally = NoiseTally.unknown(steps, released=stream.released, most=saves)
        runs.append(
            ReleaseRun(
                measure=release,
                terms=terms,
                recipe=recipe,
                run=run,
                state=state_of(recipe, b"", state.entry, b""),  # in the words of this version
                series=series[release.name],
                history=_history(outputs, steps, width),
                tally=tally,
            )
        )
    return runs


def state_of(recipe: Recipe, snapshot: bytes, entry: int, history: bytes) -> ReleaseState:
    """The state of a mechanism, for the store."""
    return ReleaseState(
        entry=entry,
        mechanism=type(recipe).__name__,
        recipe=recipe.to_json(),
        snapshot=snapshot,
        history=history,
    )


def _split(stored: bytes, tally: int, outputs: int) -> tuple[bytes, bytes]:
    """Splits a history into its tally, if it has one, and its outputs."""
    there = tally if len(stored) == tally + outputs else 0
    return stored[:there], stored[there:]


def _history(stored: bytes, window: int, width: int) -> IntArray:
    """The outputs of the last window, with zeros for steps before the first."""
    missing = 8 * window * width - len(stored)
    if missing < 0 or missing % (8 * width):
        raise StoreRefused(
            "The outputs of earlier steps cannot be read.",
            why="the store is damaged",
            tip="a backup of the store that is not older than its sinks",
        )
    outputs = np.frombuffer(bytes(missing) + stored, dtype="<i8").astype(np.int64)
    return outputs.reshape(window, width)
