"""Resumes the releases of a stream from what the store or the vault has.  Each state is resumed
once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ameles.core.exceptions import StoreRefused
from ameles.core.noise import Noise
from ameles.engine.gathering.pending import Pending
from ameles.engine.releasing.discovered_run import DiscoveredRun
from ameles.engine.releasing.held_stream import HeldStream
from ameles.engine.releasing.key_history import KeyHistory
from ameles.engine.releasing.noise_tally import CountsNoises, NoiseTally
from ameles.engine.releasing.release_run import ReleaseRun, state_of
from ameles.measures.discovering import DiscoveringMeasure
from ameles.measures.measure import Measure, Terms
from ameles.mechanisms.catalogue import mechanism_from_json
from ameles.mechanisms.discovery.discovery_run import DiscoveryRun
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise.arrays import IntArray
from ameles.store import ReleaseState, Series, StreamRecord, Transaction


class StoredRun(Protocol):
    """A release whose state is in the store."""

    @property
    def width(self) -> int:
        """About how many numbers a step of it moves."""

    def release(
        self,
        transaction: Transaction,
        stream: StreamRecord,
        pending: Pending,
        first: int,
        until: int,
    ) -> None:
        """Steps the mechanism from ``first`` to ``until`` and stores the results."""


def stored_runs(held: HeldStream, noise: Noise | None) -> list[StoredRun]:
    """The releases of a stream whose state is in the store, with their runs resumed."""
    with held.store.reading() as transaction:
        series = transaction.series(held.record)
        return [
            one.discovered(place, [line for line in series if line.release == one.measure.name])
            if one.measure.discovered is not None
            else one.declared(_first(series, one.measure))
            for place, one in enumerate(_resumed(transaction, held, noise, None), start=1)
        ]


def sealed_runs(
    held: HeldStream, noise: Noise | None, sealed: Mapping[str, bytes], saves: int
) -> list[ReleaseRun]:
    """The same of a stream whose state is not in the store: ``sealed`` has its snapshots.

    ``saves`` is a lower bound on how many of its states were saved so far.
    """
    with held.store.reading() as transaction:
        series = transaction.series(held.record)
        return [
            one.tallied(_first(series, one.measure), held.record.released, saves)
            for one in _resumed(transaction, held, noise, sealed)
        ]


@dataclass(frozen=True)
class _Resumed:
    """A release with its resumed run; each kind of release is made of it."""

    measure: Measure
    terms: Terms
    recipe: AnyMechanism
    run: Any
    stored: ReleaseState

    @property
    def state(self) -> ReleaseState:
        """What is kept, in the words of this version."""
        return state_of(self.recipe, b"", self.stored.entry, b"")

    def declared(
        self, series: int, history: bytes | None = None, steps: int | None = None
    ) -> ReleaseRun:
        """A release whose keys are declared."""
        return ReleaseRun(
            measure=self.measure,
            terms=self.terms,
            recipe=self.recipe,
            run=self.run,
            state=self.state,
            series=series,
            history=_history(
                self.stored.history if history is None else history,
                self.terms.window or 0 if steps is None else steps,
                self.measure.question.width,
            ),
        )

    def tallied(self, series: int, released: int, saves: int) -> ReleaseRun:
        """The same where the state may be seized, with the number of noises if it is counted."""
        # of a state that may be lost the last outputs at least: a restart goes on there
        steps = max(self.terms.window or 0, 1)
        if not isinstance(self.run, CountsNoises):
            return self.declared(series, steps=steps)
        room = 8 * steps * self.measure.question.width
        counted, outputs = _split(self.stored.history, NoiseTally.size(steps), room)
        release = self.declared(series, outputs, steps)
        if counted:
            release.tally = NoiseTally.read(counted, steps)
        else:
            release.tally = NoiseTally.unknown(steps, released=released, most=saves)
        return release

    def discovered(self, place: int, series: list[Series]) -> DiscoveredRun:
        """A release whose keys are discovered; ``place`` is its place in the plan."""
        measure, recipe, run = self.measure, self.recipe, self.run
        if not (
            isinstance(measure, DiscoveringMeasure)
            and isinstance(recipe, KeyDiscovery)
            and isinstance(run, DiscoveryRun)
        ):
            raise StoreRefused(
                f"The store has a mechanism for release '{measure.name}' that discovers no keys.",
                why="the store is damaged",
                tip="a backup of the store that is not older than its sinks",
            )
        return DiscoveredRun(
            measure=measure,
            place=place,
            terms=self.terms,
            recipe=recipe,
            run=run,
            state=self.state,
            series={line.key: line.number for line in series},
            history=KeyHistory.read(self.stored.history, self.terms.window or 0, recipe.cells),
        )


def _resumed(
    transaction: Transaction,
    held: HeldStream,
    noise: Noise | None,
    sealed: Mapping[str, bytes] | None,
) -> Iterator[_Resumed]:
    """The releases of a stream, in their order."""
    plan, stream = held.plan, held.record
    ledger = transaction.ledger(
        stream.population,
        noise=noise,
        unit=plan.unit,
        sealed=None if sealed is None else stream,
    )
    if ledger is None:
        raise StoreRefused(f"The store has no population '{stream.population}'.")
    announced = len(transaction.intrusions(stream))
    for release in plan.releases:
        state = transaction.state(stream, release.name)
        if state is None:
            raise StoreRefused(f"The store has no state of release '{release.name}'.")
        recipe = mechanism_from_json(state.recipe)
        snapshot = state.snapshot if sealed is None else sealed[release.name]
        yield _Resumed(
            measure=release,
            terms=replace(plan.terms(release), announced=announced),
            recipe=recipe,
            run=ledger.resume(recipe, snapshot),
            stored=state,
        )


def _first(series: tuple[Series, ...], release: Measure) -> int:
    """The number of the first series of a release."""
    return next(line.number for line in series if line.release == release.name)


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
