"""Following a stream: while the program runs, every step is released when it has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ameles.connectors.source import PassingSource, SeekableSource
from ameles.engine.engine import Engine
from ameles.engine.following.arrivals import Arrivals, Came, Ended, now
from ameles.engine.running.session import Report, Session

# Rows are counted together up to this many bytes; QUIET says how long they may wait.
AT_ONCE = 4 << 20


def follow(
    engine: Engine,
    stop: threading.Event,
    *,
    begun: Callable[[Report], None] = lambda report: None,
    told: Callable[[int], None] = lambda step: None,
    failing: Callable[[str], None] = lambda said: None,
    clock: Callable[[], int] = now,
) -> Report:
    """Runs until ``stop`` is set or the horizon is reached.

    ``begun`` is called when the stream is locked, ``told`` for each release, and ``failing`` when
    a sink cannot be written and when it can be written again.
    """
    plan = engine.plan
    source = engine.source(waiting=True)
    with engine.session(source) as session:
        publish = Publishing(session, failing).publish
        publish()  # steps that a crash may have kept from the sinks
        begun(session.report)
        arrivals = Arrivals(
            plan.clock,
            source,
            stop,
            released=session.stream.released,
            horizon=plan.stream.horizon,
            grace=plan.stream.grace_us,
            now=clock,
        )

        def tell(step: int) -> None:
            publish()
            told(step)

        if isinstance(source, PassingSource):
            _Counting(session, source, arrivals, tell).run()
        else:
            _read_along(engine, session, source, arrivals, tell)
        if session.stream.released:
            session.publish()  # try once more, to end with the error of failed sinks
        return session.report


def _read_along(
    engine: Engine,
    session: Session,
    source: SeekableSource[Any],
    arrivals: Arrivals,
    told: Callable[[int], None],
) -> None:
    for arrival in arrivals:
        if isinstance(arrival, Ended):
            engine.take(session, source, arrival.step, arrival.ends)
            told(arrival.step)


class Publishing:
    """Retries failing sinks with each step, and reports when a sink begins or stops to fail."""

    def __init__(self, session: Session, failing: Callable[[str], None]) -> None:
        self._session = session
        self._failing = failing
        self._failed: set[str] = set()

    def publish(self) -> None:
        """Sends released steps; fails only if no sink is left that could accept them."""
        failed = self._session.try_publish()
        for sink in failed:
            if sink.name not in self._failed and sink.failed is not None:
                self._failing(
                    f"{sink.failed.what} ({sink.failed.why}) It is tried again at each step, "
                    "and the stream goes on."
                )
        now = {sink.name for sink in failed}
        for name in sorted(self._failed - now):
            self._failing(f"The sink {name} is written again, and has everything.")
        self._failed = now
        if self._session.deserted:
            self._session.publish()


class _Counting:
    """Counts rows that can be read only once, in small batches between two releases."""

    def __init__(
        self,
        session: Session,
        source: PassingSource,
        arrivals: Arrivals,
        told: Callable[[int], None],
    ) -> None:
        self._session = session
        self._source = source
        self._arrivals = arrivals
        self._told = told
        self._blocks: list[bytes] = []
        self._size = 0
        self._arrived: int | None = None
        self._ended = session.stream.released

    def run(self) -> None:
        for arrival in self._arrivals:
            if isinstance(arrival, Ended):
                self._count(arrival.step)
                self._ended = arrival.step
                self._told(arrival.step)
            elif isinstance(arrival, Came):
                self._keep(arrival)
            elif self._blocks:
                self._count(0)
            del arrival  # free counted rows now, not when the next ones come
        if self._blocks:  # stopped: count what was read
            self._count(0)

    def _keep(self, came: Came) -> None:
        arrived = self._step_of(came.at)
        if self._blocks and arrived != self._arrived:
            self._count(0)
        self._arrived = arrived
        self._blocks.append(came.block)
        self._size += len(came.block)
        if self._size >= AT_ONCE or not came.block:
            self._count(0)

    def _step_of(self, at: int) -> int | None:
        """The step of rows without a time: the step in which they arrive.  It is an open step even
        if the clock was set back."""
        plan = self._session.plan
        if plan.stream.time is not None:
            return None
        return max(plan.clock.ended(at), self._ended) + 1

    def _count(self, target: int) -> None:
        # joined: each block costs a DuckDB query, and a pipe gives small blocks
        reading = self._source.reading([b"".join(self._blocks)])
        self._session.take(reading, target, arrived=self._arrived)
        self._source.acknowledge(len(self._blocks))
        self._arrivals.counted(self._size)
        self._blocks, self._size, self._arrived = [], 0, None
