"""The state of a stream in its store: source position, secret state and releases together.

A transaction releases a piece of the steps that are due: so memory does not grow with how many are
due, and a process that is killed loses one piece at most.  Gathered rows are committed with the
first piece.  What waits for later pieces is written again only when half of it is released, because
writing it with every piece would take time in the square of the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ameles.connectors.duck import KeptConnection
from ameles.connectors.reading import Skipped
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.engine.distributed.bucket_gatherer import BucketGatherer, Cluster, check_engine
from ameles.engine.gathering.contribution_bounds import SeenUsers
from ameles.engine.gathering.gatherer import DuckGatherer, Gathered, Gatherer
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import Pending
from ameles.engine.releasing.discovered_run import DiscoveredRun
from ameles.engine.releasing.held_stream import HeldStream, Intake, Stopped
from ameles.engine.releasing.resuming import StoredRun, stored_runs
from ameles.plan.clock import FAR
from ameles.store import Transaction

# The most steps of a transaction: enough to make its syncs cheap.  But the outputs of a window are
# stored with every piece, so a piece has a part of a long window at least.
PIECE = 2048
PART_OF_WINDOW = 8
GROWING = 64  # the most steps of a transaction, if keys are discovered meanwhile


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the store has of a locked stream, besides its record."""

    position: str | None
    waiting: Pending
    stored: int | None  # how many rows the store has, also of released steps; None: it has none

    def __repr__(self) -> str:
        return "<_Kept>"


class StoredState:
    """The runs of releases whose state is in the store; ``batch`` is the most numbers that a
    transaction may hold."""

    def __init__(
        self,
        held: HeldStream,
        runs: list[StoredRun],
        connection: KeptConnection,
        *,
        progress: Callable[[int, int], None],
        batch: int,
        cluster: Cluster | None = None,
    ) -> None:
        self.runs = runs
        self._held = held
        self._cluster = cluster
        self._gatherer: Gatherer = (
            DuckGatherer(held.plan, connection, self._seen, prepares=True)
            if cluster is None
            else BucketGatherer(held.plan, cluster, held.record.identity)
        )
        self._progress = progress
        self._batch = batch
        longest = max(held.plan.terms(one).window or 0 for one in held.plan.releases)
        self._piece = max(PIECE, longest // PART_OF_WINDOW)
        self._known: _Kept | None = None

    @classmethod
    def resumed(
        cls,
        held: HeldStream,
        noise: Noise | None,
        connection: KeptConnection,
        *,
        progress: Callable[[int, int], None],
        batch: int,
        cluster: Cluster | None = None,
    ) -> StoredState:
        """The state, resumed from the store."""
        runs = stored_runs(held, noise)
        return cls(held, runs, connection, progress=progress, batch=batch, cluster=cluster)

    @property
    def _kept(self) -> _Kept:
        if self._known is None:
            stream = self._held.record
            with self._held.store.reading() as transaction:
                stored = transaction.pending(stream)
                waiting = Pending() if stored is None else Pending.from_bytes(stored)
                check_engine(self._held.plan, waiting.state, self._cluster, stream.identity)
                rows = None if stored is None else waiting.rows
                waiting = waiting.after(stream.released)
                self._known = _Kept(transaction.position(stream), waiting, rows)
        return self._known

    @property
    def position(self) -> str | None:
        """How far the source was read."""
        return self._kept.position

    def finish(self) -> None:
        """Closes the steps whose events were bounded before a crash, with their stored totals."""
        stream = self._held.record
        if stream.scheduled > stream.released:
            self._close(self._kept.waiting, stream.scheduled, None)

    def take(self, intake: Intake) -> None:
        """Reads rows, and closes every open step up to a target."""
        stream, plan = self._held.record, self._held.plan
        target = max(intake.target, stream.released)
        last = plan.stream.horizon or min(max(target, intake.ended) + FAR, plan.clock.latest)
        moment = Moment(stream.released, target, last, intake.arrived)
        waiting = self._kept.waiting
        try:
            gathered = self._gatherer.gather(intake.reading, moment, stream.salt, waiting.state)
        except BaseException:
            self._gatherer.close()  # frees DuckDB's buffers: the files may be read again
            raise
        gaps = intake.reading.gaps
        pending = waiting.with_new(gathered.totals, gathered.state, gathered.records)
        self._close(pending, target, gathered, gaps)

    def announce(self, why: str) -> int:
        """Refuses: fresh noise cannot protect an exact state that was seen."""
        raise BadInput(
            "The state of this stream must stay secret; nothing protects it after it was seen.",
            why='its plan has intrusions = "none"',
            tip='a plan with intrusions = "announced", launched with a budget of its own',
        )

    def close(self) -> None:
        """Frees what DuckDB holds."""
        self._gatherer.close()

    def _seen(self, window: int, users: list[bytes]) -> SeenUsers:
        """What the store remembers about users."""
        with self._held.store.reading() as transaction:
            stored = transaction.seen(self._held.record, window, users)
        known = [users[place] for place in stored.place]
        return SeenUsers(window, known, stored.steps, stored.marks)

    def _close(
        self,
        pending: Pending,
        target: int,
        gathered: Gathered | None,
        gaps: Sequence[Skipped] = (),
    ) -> None:
        """Releases all steps up to ``target``, one piece in each transaction.

        Raises Stopped between two pieces if the process is to end.
        """
        stream, clock = self._held.record, self._held.plan.clock
        first, released = stream.released + 1, stream.released
        position = self._kept.position if gathered is None else gathered.position
        changed = gathered is not None
        if target > released + self._many():
            pending = pending.in_order()
        while True:
            until = min(target, released + self._many())
            with self._held.store.writing() as transaction:
                if gathered is not None:
                    self._commit(transaction, gathered, target, gaps)
                    gathered = None
                if until > released:
                    steps = range(released + 1, until + 1)
                    edges = [(step, clock.start_of(step), clock.end_of(step)) for step in steps]
                    transaction.add_steps(stream, edges)
                    for run in self.runs:
                        run.release(transaction, stream, pending, released + 1, until)
                    pending = pending.after(until)
                stored = self._kept.stored
                if changed or until == target or 2 * pending.rows < (stored or 0):
                    stored = self._store(transaction, pending)
                    changed = False
                committed = transaction.advance(stream, released=until, scheduled=target)
            self._held.record, self._known = committed, _Kept(position, pending, stored)
            self._gatherer.committed(pending.state)
            if until > released:
                self._progress(until - first + 1, target - first + 1)
            released = until
            if released >= target:
                return
            if self._held.stopping():
                raise Stopped

    def _many(self) -> int:
        """How many steps the next transaction may hold.

        While keys are discovered steps become larger, and nobody knows by how much.
        """
        fit = max(1, self._batch // sum(run.width for run in self.runs))
        many = min(fit, self._piece)
        grows = any(isinstance(run, DiscoveredRun) for run in self.runs)
        return min(many, GROWING) if grows else many

    def _store(self, transaction: Transaction, pending: Pending) -> int | None:
        """Stores what waits, if there is or was anything; returns how many rows that has."""
        stream = self._held.record
        if not pending.empty:
            transaction.set_pending(stream, pending.to_bytes())
            return pending.rows
        if self._kept.stored is not None:
            transaction.set_pending(stream, None)
        return None

    def _commit(
        self,
        transaction: Transaction,
        gathered: Gathered,
        target: int,
        gaps: Sequence[Skipped],
    ) -> None:
        """Commits a batch; the first batch includes what was read."""
        stream, window = self._held.record, self._held.plan.unit.window
        if gathered.position != self._kept.position:
            transaction.set_position(stream, gathered.position)
        for gap in gaps:
            transaction.add_gap(stream, at=datetime.now(UTC), place=gap.place, why=gap.why)
        for seen in gathered.seen:
            transaction.set_seen(stream, seen.window, seen.users, seen.steps, seen.marks)
        if window is not None:
            transaction.forget_seen(stream, target // window)
