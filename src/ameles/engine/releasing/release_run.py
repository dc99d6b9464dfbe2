"""One release of a running stream: its mechanism's run, from exact totals to published values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ameles.core.exceptions import StoreRefused
from ameles.core.recipe import Recipe
from ameles.engine.gathering.pending import Pending, Totals
from ameles.engine.releasing.noise_tally import NoiseTally
from ameles.measures.measure import EventQuery, Measure, Terms
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

    @cached_property
    def width(self) -> int:
        """How many numbers a step of it moves."""
        return len(self.measure.keys) + self._question.width

    @cached_property
    def _question(self) -> EventQuery:
        return self.measure.question

    def release(
        self,
        transaction: Transaction,
        stream: StreamRecord,
        pending: Pending,
        first: int,
        until: int,
    ) -> None:
        """Steps the mechanism from ``first`` to ``until`` and stores the results."""
        question = self._question
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


def state_of(recipe: Recipe, snapshot: bytes, entry: int, history: bytes) -> ReleaseState:
    """The state of a mechanism, for the store."""
    return ReleaseState(
        entry=entry,
        mechanism=type(recipe).__name__,
        recipe=recipe.to_json(),
        snapshot=snapshot,
        history=history,
    )
