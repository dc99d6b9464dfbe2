"""Arrivals: what comes in and which steps end, in one order that does not depend on how long
anything takes.

A step closes at its public instant with what arrived before it.  So the instants are watched by a
thread of their own, which notes how far the source went just then, while another may still be busy
with an earlier step.  A source whose events pass once is read by a second thread; a row's place in
the queue, before or after an instant, is decided when it is read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from ameles.connectors.source import AnySource, PassingSource, SeekableSource
from ameles.plan.clock import Clock

# The clock is looked at this often, since it may jump: after a suspended night, or by a correction.
PATIENCE = 0.25
# Rows that pass are counted at the latest so many seconds after they were handed out; after as many
# without anything it is told that there is nothing.
QUIET = 1.0
# The source waits while so many bytes have been read and not been counted.
BACKLOG = 64 << 20


def now() -> int:
    """Microseconds since 1970, by the system's clock."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Ended:
    """All steps up to this one have ended; the source went so far, if it can tell."""

    step: int
    ends: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Came:
    """Whole records that were read at this instant; none: the source has ended."""

    at: int
    block: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing has happened for a while, or what came has waited for as long as it may."""


class Arrivals:
    """What happens to a stream, in order, until it is stopped or its last step has ended."""

    def __init__(
        self,
        clock: Clock,
        source: AnySource,
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
        self._queue: SimpleQueue[Ended | Came | BaseException | None] = SimpleQueue()
        self._order = threading.Condition()
        self._backlog = 0
        self._elapsed = elapsed
        self._handed = 0  # bytes that were handed out and not counted, the first of them
        self._since = 0.0  # at this time

    def __iter__(self) -> Iterator[Ended | Came | Idle]:
        """Starts both threads; what they stumble over is raised here."""
        watching: list[Callable[[], None]] = [self._watch]
        if isinstance(self._source, PassingSource):
            watching.append(partial(self._read, self._source))
        for work in watching:
            threading.Thread(target=self._guarded, args=(work,), daemon=True).start()
        while True:
            found = self._next()
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            if isinstance(found, Came):
                self._since = self._since if self._handed else self._elapsed()
                self._handed += len(found.block)
            yield found
            found = None  # the next may come in hours: events are not held until then

    def _next(self) -> Ended | Came | Idle | BaseException | None:
        """What is next in the queue; idle if rows have waited long enough, whatever is in it."""
        left = self._since + QUIET - self._elapsed() if self._handed else QUIET
        if left > 0:
            with suppress(Empty):
                return self._queue.get(timeout=left)
        self._since = self._elapsed()
        return Idle()

    def counted(self, size: int) -> None:
        """So many bytes that passed have been taken care of."""
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
            self._stop.wait(min(PATIENCE, max(0.0, due / 1e6)))
        self._queue.put(None)

    def _look(self) -> int:
        """Puts the steps that have ended by now before what comes now; gives the instant."""
        at = self._now()
        ended = self._clock.ended(at - self._grace)
        if self._horizon is not None:
            ended = min(ended, self._horizon)
        if ended > self._last:
            ends = self._source.ends() if isinstance(self._source, SeekableSource) else None
            self._queue.put(Ended(ended, ends))
            self._last = ended
        return at

    def _read(self, source: PassingSource) -> None:
        for block in source.incoming():
            with self._order:
                self._queue.put(Came(self._look(), block))
                self._backlog += len(block)
                block = b""  # noted below
                self._order.wait_for(lambda: self._backlog < BACKLOG or self._stop.is_set())
            if self._stop.is_set():
                return  # what is still in the pipe stays there
        with self._order:
            self._queue.put(Came(self._look(), b""))
