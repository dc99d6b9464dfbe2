"""A session: a stream that this process holds, step by step.

A transaction holds a batch of steps: source position, secret state and releases together.  Then
the sinks get what is stored.  If a transaction does not commit, the session is over: its runs have
drawn noise that nobody saw, and the next session resumes those that the store has.

While a stream is held nobody else changes it, so what the store has of it is read once and then
known from what was committed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ameles.connectors.reading import Reading
from ameles.core.exceptions import StoreRefused
from ameles.engine.gathering.bounds import Seen
from ameles.engine.gathering.connection import Connection
from ameles.engine.gathering.gather import DuckGatherer
from ameles.engine.gathering.gatherer import Gathered
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import Pending
from ameles.engine.running.line import Line
from ameles.engine.running.outlet import Outlet
from ameles.engine.running.outlets import Outlets, failure
from ameles.plan.clock import FAR
from ameles.plan.plan import Plan
from ameles.store import Store, StreamRecord, Transaction


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, in steps; nothing of it depends on the data."""

    launched: bool
    released: int  # the last released step
    new: int  # how many of them by this run
    horizon: int | None


@dataclass(slots=True)
class _Kept:
    """What the store has of a held stream, beside its record."""

    position: str | None
    waiting: Pending

    def __repr__(self) -> str:
        return "<_Kept>"


class Session:
    """What ``Engine.session()`` gives."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        stream: StreamRecord,
        lines: list[Line],
        outlets: Outlets,
        *,
        launched: bool,
        progress: Callable[[int, int], None],
        memory: int,
        batch: int,
    ) -> None:
        self.plan = plan
        self._store = store
        self._lines = lines
        self._outlets = outlets
        self._launched = launched
        self._before = stream.released
        self._progress = progress
        self._many = max(1, batch // sum(line.width for line in lines))
        self._connection = Connection(zone=plan.stream.zone, memory=memory)
        self._known: StreamRecord | None = None  # what was committed last by this session
        self._known_kept: _Kept | None = None

    @property
    def stream(self) -> StreamRecord:
        """The stream as the store has it now."""
        if self._known is not None:
            return self._known
        with self._store.reading() as transaction:
            stream = transaction.stream(self.plan.stream.name)
        if stream is None:
            raise StoreRefused("The stream is no longer in its store.")
        return stream

    @property
    def report(self) -> Report:
        """What this session has done so far."""
        released = self.stream.released
        horizon = self.plan.stream.horizon
        return Report(self._launched, released, released - self._before, horizon)

    @property
    def over(self) -> bool:
        """Whether the horizon is reached: nothing is open any more."""
        return self.stream.released == self.plan.stream.horizon

    @property
    def position(self) -> str | None:
        """How far the source was taken."""
        return self._kept.position

    @property
    def _kept(self) -> _Kept:
        if self._known_kept is None:
            stream = self.stream
            with self._store.reading() as transaction:
                stored = transaction.pending(stream)
                waiting = Pending() if stored is None else Pending.from_bytes(stored)
                self._known_kept = _Kept(transaction.position(stream), waiting)
        return self._known_kept

    def finish(self) -> None:
        """Closes the steps whose events were bounded before a crash, as they were."""
        stream = self.stream
        if stream.scheduled > stream.released:
            self._close(stream, self._kept.waiting, stream.scheduled, None)

    def take(
        self,
        reading: Reading,
        target: int,
        *,
        arrived: int | None = None,
        ended: int = 0,
    ) -> None:
        """Takes rows in, and closes every open step up to ``target``; 0 closes none.

        ``arrived`` is the step in which the rows arrived, for events without a time of their own;
        ``ended`` is the last step that has ended, where that is known and closes later.
        """
        stream = self.stream
        horizon, clock = self.plan.stream.horizon, self.plan.clock
        if stream.released == horizon:
            return
        target = max(target, stream.released)
        last = horizon or min(max(target, ended) + FAR, clock.latest)
        try:
            gathered = self._gather(stream, reading, Moment(stream.released, target, last, arrived))
        except BaseException:
            self._connection.close()  # lets go of what DuckDB has of them: they may be read again
            raise
        pending = self._kept.waiting.with_new(gathered.totals, gathered.state)
        self._close(stream, pending, target, gathered)

    def publish(self) -> None:
        """Sends what is released to the sinks; all that can be written have it, then it says which
        could not."""
        failed = self.try_publish()
        if failed:
            raise failure(failed, len(self._outlets.outlets), self.stream.released)

    def try_publish(self) -> tuple[Outlet, ...]:
        """The same, for who goes on and tries again: which sinks could not be written."""
        return self._outlets.publish(self._store, self.stream)

    @property
    def deserted(self) -> bool:
        """Whether there were sinks, and none of them will ever take anything again."""
        outlets = self._outlets.outlets
        return bool(outlets) and all(outlet.lost for outlet in outlets)

    def close(self) -> None:
        """Lets go of what the session holds."""
        self._connection.close()

    def _gather(self, stream: StreamRecord, reading: Reading, moment: Moment) -> Gathered:
        def lookup(window: int, users: list[bytes]) -> Seen:
            with self._store.reading() as transaction:
                found = transaction.seen(stream, window, users)
            known = [users[place] for place in found.place]
            return Seen(window, known, found.steps, found.marks)

        earlier = lookup if stream.released else None
        gatherer = DuckGatherer(self.plan, self._connection, earlier)
        return gatherer.gather(reading, moment, stream.salt, self._kept.waiting.state)

    def _close(
        self, stream: StreamRecord, pending: Pending, target: int, gathered: Gathered | None
    ) -> None:
        """Releases all steps up to ``target``, a batch in each transaction."""
        first, released, clock = stream.released + 1, stream.released, self.plan.clock
        position = self._kept.position if gathered is None else gathered.position
        while True:
            until = min(target, released + self._many)
            with self._store.writing() as transaction:
                if gathered is not None:
                    self._commit(transaction, stream, gathered, target)
                    gathered = None
                if until > released:
                    steps = range(released + 1, until + 1)
                    edges = [(step, clock.start_of(step), clock.end_of(step)) for step in steps]
                    transaction.add_steps(stream, edges)
                    for line in self._lines:
                        line.release(transaction, stream, pending, released + 1, until)
                    pending = pending.after(until)
                if not (pending.empty and self._kept.waiting.empty):
                    transaction.set_pending(stream, None if pending.empty else pending.to_bytes())
                known = transaction.advance(stream, released=until, scheduled=target)
            self._known, self._known_kept = known, _Kept(position, pending)
            if until > released:
                self._progress(until - first + 1, target - first + 1)
            released = until
            if released >= target:
                return

    def _commit(
        self, transaction: Transaction, stream: StreamRecord, gathered: Gathered, target: int
    ) -> None:
        """What was read, with the first batch that it is part of."""
        if gathered.position != self._kept.position:
            transaction.set_position(stream, gathered.position)
        for seen in gathered.seen:
            transaction.set_seen(stream, seen.window, seen.users, seen.steps, seen.marks)
        window = self.plan.unit.window
        if window is not None:
            transaction.forget_seen(stream, target // window)
