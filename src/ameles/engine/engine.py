"""The engine: from a plan and its source to private releases, one step of the public clock each.

    source → events → bound → aggregate ┃ close the step ┃ mechanism → release → COMMIT → sinks
             ───────────── exact, secret ──────────────── │ ────────── public ──────────

A transaction holds a batch of steps: source position, secret state and releases together.  Then
the sinks get what is stored, at least once and always the same.  After any crash the stored
values are sent again; nothing is drawn twice.  Running a plan again is free.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import numpy as np

from ameles.connectors.duck import connect
from ameles.connectors.source import Source, open_source
from ameles.core.exceptions import PlanError, StoreRefused
from ameles.core.mechanism import Noise
from ameles.core.recipe import Recipe
from ameles.engine.bounds import Seen
from ameles.engine.clock import FAR, microseconds
from ameles.engine.gather import Gathered, Gathering
from ameles.engine.launching import bought, check_unchanged, launch, state_of
from ameles.engine.outlets import Outlets
from ameles.engine.pending import Pending, Totals
from ameles.engine.plan import Plan
from ameles.measures.measure import Measure, Terms
from ameles.mechanisms.catalogue import recipe_from_json
from ameles.noise.arrays import IntArray
from ameles.store import Store, StreamRecord, Transaction

# How many published numbers a transaction may hold: enough to make its syncs cheap.
BATCH = 1 << 21
MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, in steps; nothing of it depends on the data."""

    launched: bool
    released: int  # the last released step
    new: int  # how many of them by this run
    horizon: int | None


@dataclass
class _Line:
    """One release of a running stream."""

    measure: Measure
    terms: Terms
    recipe: Recipe
    run: Any
    entry: int
    series: int
    history: IntArray  # the public outputs of the last window


class Engine:
    """One plan on one store.

    ``noise`` replaces the operating system's in tests; the store is then marked for ever.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        *,
        noise: Noise | None = None,
        progress: Callable[[int, int], None] = lambda done, of: None,
        memory: int = MEMORY,
        batch: int = BATCH,
    ) -> None:
        self.plan = plan
        self.store = store
        self._noise = noise
        self._progress = progress
        self._memory = memory
        self._batch = batch

    def run(self, until: datetime | None = None) -> Report:
        """Closes every unreleased step that has ended by ``until``; by default by now."""
        cut = microseconds(until or datetime.now(UTC))
        source = self._source()
        with self.store.holding(self.plan.stream.name):
            stream, launched = self._open()
            outlets = self._outlets(stream.identity)
            outlets.check(self.store, stream.released)
            before = stream.released
            lines = self._lines(stream)
            self._finish(stream, lines)
            self._advance(source, lines, cut)
            after = self._stream().released
            outlets.publish(self.store, self._stream())
        return Report(launched, after, after - before, self.plan.stream.horizon)

    # before anything is read

    def _source(self) -> Source:
        stream = self.plan.stream
        source = open_source(stream.source, stream.columns, self.plan.base)
        missing = [name for name in stream.columns if name not in source.names()]
        if missing:
            raise PlanError(
                f"The source has no column {', '.join(repr(name) for name in missing)}.",
                why="the plan's columns are read by name",
                tip=f"columns among {', '.join(source.names()[:20])}",
            )
        return source

    def _outlets(self, identity: UUID) -> Outlets:
        genuine = self._noise is None or self._noise.genuine
        return Outlets(self.plan, identity, genuine=genuine)

    # the stream

    def _stream(self) -> StreamRecord:
        with self.store.reading() as transaction:
            stream = transaction.stream(self.plan.stream.name)
        if stream is None:
            raise StoreRefused("The stream is no longer in its store.")
        return stream

    def _open(self) -> tuple[StreamRecord, bool]:
        """The stream, launched now if it was not before."""
        with self.store.reading() as transaction:
            stream = transaction.stream(self.plan.stream.name)
        if stream is not None:
            check_unchanged(self.plan, stream)
            return stream, False
        identity = uuid4()
        # what a sink refuses, it refuses before anything is spent
        self._outlets(identity).check(self.store, 0)
        with self.store.writing() as transaction:
            launch(transaction, self.plan, identity, self._noise)
        return self._stream(), True

    def _lines(self, stream: StreamRecord) -> list[_Line]:
        with self.store.reading() as transaction:
            ledger = transaction.ledger(stream.population, noise=self._noise, unit=self.plan.unit)
            if ledger is None:
                raise StoreRefused(f"The store has no population '{stream.population}'.")
            series: dict[str, int] = {}
            for one in transaction.series(stream):
                series.setdefault(one.release, one.number)
            lines = []
            for release in self.plan.releases:
                state = transaction.state(stream, release.name)
                if state is None:
                    raise StoreRefused(f"The store has no state of release '{release.name}'.")
                recipe = recipe_from_json(state.recipe)
                terms = self.plan.terms(release)
                history = _history(state.history, terms.window or 0, release.question.width)
                lines.append(
                    _Line(
                        measure=release,
                        terms=terms,
                        recipe=recipe,
                        run=ledger.resume(bought(recipe), state.snapshot),
                        entry=state.entry,
                        series=series[release.name],
                        history=history,
                    )
                )
        return lines

    # steps

    def _finish(self, stream: StreamRecord, lines: list[_Line]) -> None:
        """Closes the steps whose events were bounded before a crash, as they were."""
        if stream.scheduled > stream.released:
            with self.store.reading() as transaction:
                pending = _pending(transaction, stream)
            self._close(stream, lines, pending, stream.scheduled, None)

    def _advance(self, source: Source, lines: list[_Line], cut: int) -> None:
        stream = self._stream()
        horizon, clock = self.plan.stream.horizon, self.plan.clock
        if stream.released == horizon:
            return
        ended = clock.ended(cut)
        target = max(ended if horizon is None else min(ended, horizon), stream.released)
        last = horizon if horizon is not None else min(target + FAR, clock.latest)
        gathered = self._gather(stream, source, target, last)
        self._close(stream, lines, gathered.pending, target, gathered)

    def _gather(self, stream: StreamRecord, source: Source, target: int, last: int) -> Gathered:
        with self.store.reading() as transaction:
            waiting = _pending(transaction, stream)
            reading = source.reading(transaction.position(stream))

            def lookup(window: int, users: list[bytes]) -> Seen:
                found = transaction.seen(stream, window, users)
                known = [users[place] for place in found.place]
                return Seen(window, known, found.steps, found.marks)

            duck = connect(zone=self.plan.stream.zone, memory=self._memory, readable=source.paths())
            with closing(duck):
                return Gathering(
                    plan=self.plan,
                    duck=duck,
                    reading=reading,
                    released=stream.released,
                    target=target,
                    last=last,
                    salt=stream.salt,
                    waiting=waiting,
                    lookup=lookup if stream.released else None,
                ).gather()

    def _close(
        self,
        stream: StreamRecord,
        lines: list[_Line],
        pending: Pending,
        target: int,
        gathered: Gathered | None,
    ) -> None:
        """Releases all steps up to ``target``, a batch in each transaction."""
        first, released = stream.released + 1, stream.released
        width = sum(len(line.measure.keys) + line.measure.question.width for line in lines)
        many = max(1, self._batch // width)
        while True:
            until = min(target, released + many)
            with self.store.writing() as transaction:
                if gathered is not None:
                    self._commit(transaction, stream, gathered, target)
                    gathered = None
                clock = self.plan.clock
                transaction.add_steps(
                    stream,
                    [
                        (step, clock.start_of(step), clock.end_of(step))
                        for step in range(released + 1, until + 1)
                    ],
                )
                for line in lines:
                    self._release(transaction, stream, line, pending, released + 1, until)
                pending = Pending(
                    {name: totals.split(until)[1] for name, totals in pending.totals.items()},
                    pending.candidates,
                    pending.hashed_by,
                )
                transaction.set_pending(stream, pending.to_bytes())
                transaction.advance(stream, released=until, scheduled=target)
            released = until
            self._progress(released - first + 1, target - first + 1)
            if released >= target:
                return

    def _commit(
        self, transaction: Transaction, stream: StreamRecord, gathered: Gathered, target: int
    ) -> None:
        """What was read, with the first batch that it is part of."""
        transaction.set_position(stream, gathered.position)
        for seen in gathered.seen:
            transaction.set_seen(stream, seen.window, seen.users, seen.steps, seen.marks)
        window = self.plan.unit.window
        if window is not None:
            transaction.forget_seen(stream, target // window)

    def _release(
        self,
        transaction: Transaction,
        stream: StreamRecord,
        line: _Line,
        pending: Pending,
        first: int,
        until: int,
    ) -> None:
        if until < first:
            return
        question = line.measure.question
        totals = pending.totals.get(line.measure.name) or Totals.none(len(question.amounts))
        inputs = totals.matrix(first, until - first + 1, question.cells)
        outputs = line.run.feed(inputs)
        published = line.measure.publish(line.recipe, line.terms, outputs, first, line.history)
        if len(line.history):
            line.history = np.concatenate([line.history, outputs])[-len(line.history) :]
        transaction.add_releases(
            stream,
            first,
            line.series,
            published.value,
            published.low,
            published.high,
            published.label,
        )
        history = line.history.astype("<i8").tobytes()
        state = state_of(line.recipe, line.run, line.entry, history)
        transaction.set_state(stream, line.measure.name, state)


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


def _pending(transaction: Transaction, stream: StreamRecord) -> Pending:
    stored = transaction.pending(stream)
    return Pending() if stored is None else Pending.from_bytes(stored)
