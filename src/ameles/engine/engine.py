"""The engine: from a plan and its source to private releases, one step of the public clock each.

    source → events → bound → aggregate ┃ close the step ┃ mechanism → release → COMMIT → sinks
             ───────────── exact, secret ──────────────── │ ────────── public ──────────

The sinks get stored values only: at least once, and always the same values.  After a crash the
stored values are sent again, and nothing is drawn twice.  Running a plan again is free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from ameles.connectors.declarations import NOTHING, Declarations
from ameles.connectors.duck import KeptConnection, OutOfMemory
from ameles.connectors.files.identity import LOOKS, ChangedMeanwhile
from ameles.connectors.reading import Reading
from ameles.connectors.sink import Sink
from ameles.connectors.source import AnySource, BlockSource, SeekableSource
from ameles.core.exceptions import AmelesError, BadInput, PlanError, SourceUnreadable
from ameles.core.noise import Noise
from ameles.engine.distributed.bucket_gatherer import Cluster
from ameles.engine.gathering.pending import GathererState, Pending
from ameles.engine.releasing.held_stream import HeldStream, Stopped
from ameles.engine.running.launch import (
    check_not_retired,
    check_unchanged,
    launch,
    not_launched,
    under_its_rules,
)
from ameles.engine.running.launch_checks import check_launch
from ameles.engine.running.session import Report as Report
from ameles.engine.running.session import Session, StreamState
from ameles.engine.running.stored_state import StoredState
from ameles.engine.running.stream_sinks import StreamSinks
from ameles.engine.sealed.restart import Restarting, nothing_to_restart
from ameles.engine.sealed.sealed_state import SealedState
from ameles.engine.sealed.stream_vault import StreamVault
from ameles.plan.clock import microseconds
from ameles.plan.plan import Plan
from ameles.plan.source import plan_source
from ameles.store import Store, StreamRecord

# The most published numbers in a transaction, if its steps have so many; they are in memory.
BATCH = 1 << 21
MEMORY = 1 << 30


class Engine:
    """One plan on one store.

    ``noise`` replaces the operating system's noise in tests; the store is then marked for ever.
    ``restart`` is the reason why the state of a pan-private stream was lost; the stream restarts.
    ``declarations`` say whether a file that nobody else can identify is old or new.  ``warn`` is
    called for files that cannot be read.  ``sinks`` are open sinks in addition to the plan's.
    ``cluster`` runs the tasks that read and bound events; without one, this process does.
    ``launches`` says whether a stream that was never launched may be, which spends its budget.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        *,
        noise: Noise | None = None,
        restart: str | None = None,
        declarations: Declarations = NOTHING,
        sinks: Sequence[Sink] = (),
        warn: Callable[[AmelesError], None] = lambda problem: None,
        progress: Callable[[int, int], None] = lambda done, of: None,
        memory: int = MEMORY,
        batch: int = BATCH,
        cluster: Cluster | None = None,
        launches: bool = True,
    ) -> None:
        if cluster is not None:  # tasks have other folders to start from
            plan = replace(plan, base=plan.base.absolute())
        self.plan = under_its_rules(plan, store)
        self.store = store
        self._noise = noise
        self._restart = restart
        self._declarations = declarations
        self._sinks = tuple(sinks)
        self._warn = warn
        self._told: set[str] = set()
        self._progress = progress
        self._memory = memory
        self._batch = batch
        self._cluster = cluster
        self._launches = launches

    def run(self, until: datetime | None = None) -> Report:
        """Closes every unreleased step that has ended by ``until``, by default the current time."""
        cut = microseconds(until or datetime.now(UTC))
        source = self.source()
        if source.needs_service:
            raise needs_service(self.plan)
        with self.session(source) as session:
            if isinstance(source, BlockSource):
                self._take_all(session, source, self.target(cut))
            elif isinstance(source, SeekableSource) and not session.over:
                self.take(session, source, self.target(cut))
            session.publish()
            return session.report

    def _take_all(self, session: Session, source: BlockSource, target: int) -> None:
        """Reads a source whose events pass once, block by block to its end, then closes steps."""
        for block in source.incoming():
            session.take(source.reading([block]), 0, ended=target)
            source.acknowledge(1)
        session.take(source.reading([]), target)

    def take(
        self, session: Session, source: SeekableSource[Any], target: int, ends: Any = None
    ) -> None:
        """Reads the source from the stored position, and closes every open step up to ``target``.

        If a file changes while it is read, for example because a log is rotated, everything is read
        again from the stored position: nothing was drawn or stored by then.  Without a position (a
        stream launched by an earlier version), nothing is read again: rotated copies would be
        taken for the past, and their events lost.
        """
        for look in range(1, LOOKS + 1):
            reading = source.reading(session.position, ends)
            self.tell_problems(reading)
            try:
                session.take(reading, target)
            except ChangedMeanwhile:
                if session.position is None or look == LOOKS:
                    raise
            else:
                return

    def tell_problems(self, reading: Reading) -> None:
        """Names the files that a reading had to leave out: each file once, until it can be read."""
        problems = {str(problem): problem for problem in reading.problems}
        for text, problem in problems.items():
            if text not in self._told:
                self._warn(problem)
        self._told = set(problems)

    @contextmanager
    def session(
        self, source: AnySource | None = None, *, stopping: Callable[[], bool] = lambda: False
    ) -> Iterator[Session]:
        """Locks the stream for this process, launches it if necessary, and finishes the steps that
        a crash may have left half done, unless the process is ``stopping``.

        A launch stores which files ``source`` has, so that a file which is cut or renamed before it
        is first read is recognised.
        """
        with self._within_memory(), self.store.holding(self.plan.stream.name):
            stream, launched = self._open(source)
            sinks = self._stream_sinks(stream.identity)
            sinks.check(self.store, stream)
            held, state = self._resumed(stream)
            held.stopping = stopping
            with closing(Session(held, state, sinks, launched=launched)) as session:
                with suppress(Stopped):
                    session.finish()
                yield session

    @contextmanager
    def _within_memory(self) -> Iterator[None]:
        """Refuses in words what does not fit into memory: how much that is depends on the plan, and
        the next run would end in the same way."""
        try:
            yield
        except MemoryError:
            releases = self.plan.releases
            numbers = sum(len(one.keys) + one.question.width for one in releases)
        else:
            return
        raise OutOfMemory(
            f"The steps of stream '{self.plan.stream.name}' do not fit into memory.",
            why=f"a step of this plan has {numbers:,} numbers, which are there several times while "
            "it is released; what was released before stays as it is",
            tip="more memory for this process, after which the stream goes on where it stopped; or "
            "fewer keys, in a plan with a budget of its own",
        )

    def _resumed(self, stream: StreamRecord) -> tuple[HeldStream, StreamState]:
        """The stream, resumed from its state in the store or in its vault."""
        held = HeldStream(self.plan, self.store, stream)
        connection = KeptConnection(zone=self.plan.stream.zone, memory=self._memory)
        if not self._sealed:
            return held, StoredState.resumed(
                held,
                self._noise,
                connection,
                progress=self._progress,
                batch=self._batch,
                cluster=self._cluster,
            )
        opened = Restarting(self.plan, self.store, stream, self._noise).open(self._restart)
        self._restart = None
        return held, SealedState.resumed(
            held, opened, self._noise, connection, progress=self._progress
        )

    @property
    def _sealed(self) -> bool:
        return self.plan.privacy.intrusions != "none"

    def target(self, cut: int) -> int:
        """The last step, up to the horizon, that has ended by an instant."""
        ended, horizon = self.plan.clock.ended(cut), self.plan.stream.horizon
        return ended if horizon is None else min(ended, horizon)

    def source(self, *, waiting: bool = False) -> AnySource:
        """The source that the plan names; with ``waiting``, its files need not exist yet.

        Once the stream is launched, its plan is correct: if a file is missing or has lost its first
        line, it only cannot be read now.
        """
        launched = self._stored()
        if launched is not None:
            check_unchanged(self.plan, launched)
        try:
            return plan_source(self.plan, waiting=waiting, declarations=self._declarations)
        except PlanError as problem:
            if launched is None:
                raise
            unread = SourceUnreadable(
                problem.what,
                why="; ".join(
                    filter(None, (problem.why, "nothing was read, and no step released"))
                ),
                tip="; ".join(filter(None, (problem.tip, "then run again"))),
            )
        raise unread

    def _stream_sinks(self, identity: UUID) -> StreamSinks:
        genuine = self._noise is None or self._noise.genuine
        return StreamSinks(self.plan, identity, genuine=genuine, sinks=self._sinks)

    def _stored(self) -> StreamRecord | None:
        """The stream's record in the store, refused if retired; None if it is to be launched."""
        with self.store.reading() as transaction:
            stream = transaction.stream(self.plan.stream.name)
            if stream is not None:
                check_not_retired(transaction, stream)
            elif not self._launches:
                raise not_launched(self.plan)
            return stream

    def _open(self, source: AnySource | None) -> tuple[StreamRecord, bool]:
        """The stream; launches it if it was not launched before."""
        if self._cluster is not None:
            check_cluster(self.plan)
        stream = self._stored()
        if self._restart is not None and (stream is None or not self._sealed):
            raise nothing_to_restart(self.plan)
        if stream is not None:
            check_unchanged(self.plan, stream)
            return stream, False
        check_launch(self.plan)
        identity = uuid4()
        # a sink must refuse before anything is spent
        self._stream_sinks(identity).check_launch(self.store)
        seal = StreamVault(self.plan, identity).create if self._sealed else None
        position = None if source is None else source.at_launch()
        cluster, state = self._cluster, GathererState()
        with self.store.writing() as transaction:
            stream = launch(transaction, self.plan, identity, self._noise, seal)
            if cluster is not None:
                state = cluster.launched(self.plan, identity)
            if position is not None:
                transaction.set_position(stream, position)
            if state:
                transaction.set_pending(stream, Pending(state=state).to_bytes())
        return stream, True


def needs_service(plan: Plan) -> BadInput:
    """The refusal to run a plan whose events only a service can give."""
    what = plan.stream.source_kind.describe(plan.stream.source)
    return BadInput(
        f"The source is {what}, and this command receives none.",
        why="a service takes events in, and releases steps when they end",
        tip="ameles serve PLAN",
    )


def check_cluster(plan: Plan) -> None:
    """Refuses to gather the events of some streams elsewhere."""
    if plan.privacy.intrusions != "none":
        raise BadInput(
            f"The stream '{plan.stream.name}' cannot run on a cluster.",
            why=f'its plan has intrusions = "{plan.privacy.intrusions}", and exact events would '
            "pass through other machines and their disks",
            tip='intrusions = "none", or one process',
        )
    found = next((one for one in plan.releases if one.discovered is not None), None)
    if found is not None:
        raise BadInput(
            f"The stream '{plan.stream.name}' cannot run on a cluster.",
            why=f"the keys of release '{found.name}' are discovered step by step, from the single "
            "records of all users",
            tip="declared keys, or one process",
        )
