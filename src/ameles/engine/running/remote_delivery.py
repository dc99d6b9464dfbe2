"""Sends releases to a sink on another machine from a thread of its own.

No step waits for that machine.  The thread takes releases from the store, sends one batch after the
other, and records each step in the store when it was accepted.  A batch that is not accepted is
sent again, after a pause that doubles each time up to ``LONGEST`` and is partly random, or as long
as the other side asks.  Nothing is left out.  At the end of a run each batch gets ``ATTEMPTS`` more
attempts; what was not accepted by then stays in the store for the next run.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass

from ameles.connectors.remote_sink import RemoteSink, Undelivered
from ameles.connectors.sink import Row, Sink
from ameles.core.exceptions import AmelesError
from ameles.core.release import COLUMNS
from ameles.engine.running.stream_sink import StreamSink
from ameles.store import Store, StreamRecord

FIRST = 1.0  # seconds before the second attempt
LONGEST = 300.0
ATTEMPTS = 3  # at the end of a run
PATIENCE = 10.0  # seconds; a sink that asks for more is not waited for at the end of a run
_ROWS = 10_000  # about how many rows are in memory
_STEP = COLUMNS.index("step")


def pause(
    failures: int, asked: float = 0.0, draw: Callable[[int], int] = secrets.randbelow
) -> float:
    """Seconds before the next attempt, at least those that were ``asked`` for.

    Half of the others are random, so that many senders do not come back at one moment.

    >>> [pause(n, draw=lambda below: below - 1) for n in (1, 2, 3, 30)]
    [1.0, 2.0, 4.0, 300.0]
    >>> pause(3, draw=lambda below: 0), pause(3, asked=60.0)
    (2.0, 60.0)
    """
    whole = min(LONGEST, FIRST * 2.0 ** min(failures - 1, 30))
    return max(asked, whole * (0.5 + draw(1001) / 2000))


@dataclass(frozen=True, slots=True)
class _Work:
    store: Store
    stream: StreamRecord


class RemoteDelivery(StreamSink):
    """A remote sink of a stream, and the thread that sends to it once there is something to send.

    ``failed`` has the reason of the last attempt until one succeeds.
    """

    def __init__(self, name: str, open_it: Callable[[], Sink]) -> None:
        super().__init__(name, open_it)
        self._changed = threading.Condition()  # guards everything below
        self._work: _Work | None = None
        self._done = 0  # the last step that the sink has
        self._left: int | None = None  # attempts that are left at the end of a run
        self._ended = False
        self._broken: BaseException | None = None  # a mistake in this program
        self._failures = 0  # attempts since the last one that succeeded
        self._thread: threading.Thread | None = None
        self._reached: tuple[int | None] | None = None  # what the other side had at first

    @property
    def last(self) -> int | None:
        """The last step that the other side has; None if it does not tell, or is away.

        It is asked once: what was sent since is known.
        """
        if self._reached is None:
            try:
                has = self.sink.reached() if isinstance(self.sink, RemoteSink) else None
            except AmelesError as problem:
                has = None
                if not isinstance(problem, Undelivered):  # not away, but not fit
                    self.failed = problem
            self._reached = (has,)
        return self._reached[0]

    def publish(self, store: Store, stream: StreamRecord) -> None:
        """Tells the thread which steps are released, and returns at once."""
        with self._changed:
            self._check()
            self._work, self._left = _Work(store, stream), None
            self._changed.notify_all()
            if self._thread is None and stream.released:
                self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
                self._thread.start()

    def finish(self) -> None:
        """Waits until the sink has everything, or did not accept the last attempts."""
        with self._changed:
            self._left = ATTEMPTS
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._ended or not self._behind or self._left == 0)
            self._check()

    def close(self) -> None:
        """Ends the thread; an attempt that is under way is given up."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if isinstance(self.sink, RemoteSink):
            self.sink.abort()
        if self._thread is not None:
            self._thread.join(PATIENCE)
        if isinstance(self.sink, RemoteSink) and not (self._thread and self._thread.is_alive()):
            self.sink.close()

    @property
    def _behind(self) -> bool:
        return self._work is not None and self._done < self._work.stream.released

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _run(self) -> None:
        try:
            while not self._ended:
                self._next()
        except BaseException as problem:
            with self._changed:
                self._broken, self._ended = problem, True
                self._changed.notify_all()

    def _next(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._behind)
            work = self._work
        if self._ended or work is None:
            return
        try:
            done = self._send_some(work)
        except AmelesError as problem:
            self._wait(problem)
            return
        with self._changed:
            self._done, self.failed, self._failures = done, None, 0
            self._changed.notify_all()

    def _wait(self, problem: AmelesError) -> None:
        """Waits before the next attempt: not after the end, and less if a run ends."""
        asked = problem.wait if isinstance(problem, Undelivered) else 0.0
        with self._changed:
            self._failures += 1
            self.failed = problem
            self._ended = self._ended or (isinstance(problem, Undelivered) and problem.final)
            ending, failures = self._left is not None, self._failures
            if self._left is not None:
                self._left = 0 if asked > PATIENCE else max(0, self._left - 1)
                failures = ATTEMPTS - self._left
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._ended or (self._left is not None) != ending,
                pause(failures, asked),
            )

    def _send_some(self, work: _Work) -> int:
        """Sends the next steps in order; returns the last step that the sink has."""
        if not isinstance(self.sink, RemoteSink):
            self._open()
        if not isinstance(self.sink, RemoteSink):
            raise self.failed or AmelesError(f"The sink {self.name} cannot be opened.")
        with work.store.reading() as transaction:
            sent = transaction.sent(work.stream, self.name)
        first = self.sink.first_needed(sent)  # it may ask the other side
        rows: list[Row] = []
        through = work.stream.released
        with work.store.reading() as transaction:
            for row in transaction.release_rows(work.stream, first=first):
                if len(rows) >= _ROWS and row[_STEP] > max(min(first, sent) + 1, rows[-1][_STEP]):
                    through = rows[-1][_STEP]
                    break
                rows.append(row)
        through = max(through, rows[-1][_STEP]) if rows else through
        recorded = sent
        for batch in self.sink.batches(rows, sent):
            if self._ended:
                return recorded
            self.sink.send(batch)
            if self.sink.has > work.stream.released:
                raise self.older(self.sink.has, work.stream.released)
            if batch.last and batch.step > sent:
                self._record(work, batch.step)
                recorded = batch.step
        if recorded < through:
            self._record(work, through)
        return through

    def _record(self, work: _Work, step: int) -> None:
        with work.store.writing() as transaction:
            transaction.set_sent(work.stream, self.name, step)
        with self._changed:
            self._failures = 0
            self._left = ATTEMPTS if self._left else self._left
