"""Arrivals: incoming events and the ends of steps, in one order that does not depend on how long
anything takes.

A step closes at its public instant with the events that arrived before it.  So a thread of its own
watches for these instants and records how far the source went just then, while another thread may
still be busy with an earlier step.  A source whose events can be read only once is read by a second
thread; whether a row comes before or after an instant is decided when it is read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic

from ameles.connectors.source import Block, PassingSource, SeekableSource, SourceAway
from ameles.plan.clock import Clock

# Seconds between looks at the clock, which may jump: after a suspend, or by a correction.
PATIENCE = 0.25
# Rows of a source that cannot be read again are counted at most this many seconds after they were
# handed out; after as many seconds without any row, ``Idle`` is reported.
QUIET = 1.0
# The source waits while this many bytes have been read and not counted.
BACKLOG = 64 << 20


def now() -> int:
    """Microseconds since 1970, by the system's clock."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Ended:
    """All steps up to this one have ended; ``ends`` is how far the source went, if known."""

    step: int
    ends: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Came(Generic[Block]):
    """Whole records that were read at this instant; None: the source has ended."""

    at: int
    block: Block | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Away:
    """A step has ended, but its source cannot be reached; the step waits."""

    problem: SourceAway


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing has happened for a while, or rows have waited for as long as they may."""


class Arrivals(Generic[Block]):
    """What happens to a stream, in order, until it is stopped or its last step has ended.

    Without a source only the ends of steps happen.
    """

    def __init__(
        self,
        clock: Clock,
        source: SeekableSource[Any] | PassingSource[Block] | None,
        stop: threading.Event,
        *,
        released: int,
        horizon: int | None,
        grace: int = 0,
        now: Callable[[], int] = now,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._source = source
        self._stop = stop
        self._last = released
        self._horizon = horizon
        self._grace = grace
        self._now = now
        self._queue: SimpleQueue[Ended | Away | Came[Block] | BaseException | None] = SimpleQueue()
        self._order = threading.Condition()
        self._backlog = 0
        self._elapsed = elapsed
        self._handed = 0  # bytes that were handed out and not counted
        self._away = False  # a step has ended whose source cannot be reached
        self._since = 0.0  # when the first of them was handed out

    def __iter__(self) -> Iterator[Ended | Away | Came[Block] | Idle]:
        """Starts both threads; their exceptions are raised here."""
        watching: list[Callable[[], None]] = [self._watch]
        if isinstance(self._source, PassingSource):
            watching.append(partial(self._read, self._source))
        for work in watching:
            threading.Thread(target=self._guarded, args=(work,), daemon=True).start()
        while True:
            arrival = self._next()
            if arrival is None:
                return
            if isinstance(arrival, BaseException):
                raise arrival
            if isinstance(arrival, Came):
                self._since = self._since if self._handed else self._elapsed()
                self._handed += len(arrival.block or ())
            yield arrival
            arrival = None  # the next may come in hours: do not hold events until then

    def _next(self) -> Ended | Away | Came[Block] | Idle | BaseException | None:
        """The next item of the queue, or idle if rows have waited long enough."""
        left = self._since + QUIET - self._elapsed() if self._handed else QUIET
        if left > 0:
            with suppress(Empty):
                return self._queue.get(timeout=left)
        self._since = self._elapsed()
        return Idle()

    def counted(self, size: int) -> None:
        """Says that this many bytes were counted."""
        self._handed -= size
        with self._order:
            self._backlog -= size
            self._order.notify_all()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as problem:
            self._queue.put(problem)

    def _watch(self) -> None:
        while not self._stop.is_set() and self._last != self._horizon:
            with self._order:
                self._look()
            due = self._clock.end_of(self._last + 1) + self._grace - self._now()
            self._stop.wait(PATIENCE if self._away else min(PATIENCE, max(0.0, due / 1e6)))
        self._queue.put(None)

    def _look(self) -> int:
        """Queues the steps that have ended by now, before later rows; returns the instant."""
        at = self._now()
        ended = self._clock.ended(at - self._grace)
        if self._horizon is not None:
            ended = min(ended, self._horizon)
        if ended > self._last:
            try:
                ends = self._source.ends() if isinstance(self._source, SeekableSource) else None
            except SourceAway as problem:
                if not self._away:
                    self._queue.put(Away(problem))
                self._away = True
                return at
            self._queue.put(Ended(ended, ends))
            self._last, self._away = ended, False
        return at

    def _read(self, source: PassingSource[Block]) -> None:
        for block in source.incoming():
            with self._order:
                self._queue.put(Came(self._look(), block))
                self._backlog += len(block)
                del block  # the next may come in hours
                self._order.wait_for(lambda: self._backlog < BACKLOG or self._stop.is_set())
            if self._stop.is_set():
                return  # unread bytes stay in the pipe
        with self._order:
            self._queue.put(Came(self._look(), None))
