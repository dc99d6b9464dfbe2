"""Following a stream: while the program runs, every step is released when it has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ameles.connectors.http_source import HttpSource
from ameles.connectors.source import AnySource, BlockSource, SeekableSource, SourceAway
from ameles.engine.engine import Engine
from ameles.engine.following.arrivals import PATIENCE, Arrivals, Away, Ended, now
from ameles.engine.following.counting import Counting
from ameles.engine.following.followed import Followed
from ameles.engine.following.publishing import Publishing
from ameles.engine.following.receiving import receive
from ameles.engine.releasing.held_stream import Stopped
from ameles.engine.running.session import Report


def follow(
    engine: Engine,
    stop: threading.Event,
    *,
    source: AnySource | None = None,
    begun: Callable[[Report], None] = lambda report: None,
    told: Callable[[int], None] = lambda step: None,
    failing: Callable[[str], None] = lambda said: None,
    clock: Callable[[], int] = now,
) -> Report:
    """Runs until ``stop`` is set or the horizon is reached.

    ``source`` is the plan's source if the caller has opened it already.  ``begun`` is called when
    the stream is locked, ``told`` for each release, and ``failing`` when a sink cannot be written
    and when it can be written again.
    """
    source = source or engine.source(waiting=True)
    # what cannot be read again must be counted before the end
    stopping = stop.is_set if isinstance(source, SeekableSource) else _never
    with engine.session(source, stopping=stopping) as session:
        if session.unfinished:
            return session.report
        publish = Publishing(session, failing).publish
        publish()  # steps that a crash may have kept from the sinks
        begun(session.report)

        def tell(step: int) -> None:
            publish()
            told(step)

        followed = Followed(engine, session, stop, clock, tell)
        if isinstance(source, HttpSource):
            receive(followed, source)
        elif isinstance(source, BlockSource):
            Counting(session, source, followed.arrivals(source), tell).run()
        elif isinstance(source, SeekableSource):
            with suppress(Stopped):
                _read_along(followed, source, failing)
        if session.unfinished:
            return session.report  # the next session begins with the sinks
        if session.stream.released:
            session.publish()  # try once more, to end with the error of failed sinks
        return session.report


def _never() -> bool:
    return False


def _read_along(
    followed: Followed, source: SeekableSource[Any], failing: Callable[[str], None]
) -> None:
    """Takes in each step when it has ended; while the source is away, steps wait for it."""
    reach = _Reach(failing)
    arrivals: Arrivals[bytes] = followed.arrivals(source)
    for arrival in arrivals:
        if isinstance(arrival, Away):
            reach.lost(arrival.problem)
        elif isinstance(arrival, Ended):
            while not reach.takes(followed, source, arrival):
                if followed.stop.wait(PATIENCE):
                    return
            followed.told(arrival.step)


class _Reach:
    """Whether a source can be reached; says when that changes."""

    def __init__(self, failing: Callable[[str], None]) -> None:
        self._failing = failing
        self._away = False

    def takes(self, followed: Followed, source: SeekableSource[Any], arrival: Ended) -> bool:
        """Closes steps; False if the source cannot be reached now."""
        try:
            followed.engine.take(followed.session, source, arrival.step, arrival.ends)
        except SourceAway as problem:
            self.lost(problem)
            return False
        if self._away:
            self._failing("The source can be read again.")
        self._away = False
        return True

    def lost(self, problem: SourceAway) -> None:
        if not self._away:
            self._failing(f"{problem.what} Steps wait, and are released when it is back.")
        self._away = True
