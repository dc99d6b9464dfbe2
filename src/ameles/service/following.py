"""The threads that follow the plans of a service, one each.

A stream that fails stops alone: the others go on, and the service goes on to show what was
published.  It is tried again, as a new process would do it, after pauses that grow: a full disk, a
database that was away or another process that held the stream are problems that pass.  A plan or a
budget that is refused is not.  Streams that are not launched yet are launched one after another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from ameles.connectors.http_source import HttpSource
from ameles.connectors.source import AnySource
from ameles.core.exceptions import AmelesError
from ameles.engine.engine import Engine
from ameles.engine.following.arrivals import now
from ameles.engine.following.batch_writer import open_step
from ameles.engine.following.follow import follow
from ameles.engine.running.launch import not_launched
from ameles.engine.running.session import Report
from ameles.plan.clock import instant
from ameles.plan.difference import difference
from ameles.plan.plan import Plan
from ameles.service.describing import Describing
from ameles.service.ingest.answers import Closed, OpenStep
from ameles.service.ingest.door import Door, SealedDoor
from ameles.service.launch_order import LaunchOrder
from ameles.service.log import Log
from ameles.service.published import Shown
from ameles.service.served_store import FIRST_PAUSE, LONGEST_PAUSE, ServedStore
from ameles.service.stream_failure import StreamFailure, stream_failure
from ameles.service.views import State
from ameles.store import Store


class FollowedStream:
    """A plan and the thread that follows it; ``told`` is called with the stream's name when
    something can be seen, ``failing`` when it fails.

    A stream that is not launched yet waits for its launch, unless this service ``launches`` it.
    """

    def __init__(
        self,
        shown: Shown,
        log: Log,
        told: Callable[[str], None],
        clock: Callable[[], int] = now,
        failing: Callable[[FollowedStream], None] = lambda stream: None,
        order: LaunchOrder | None = None,
        *,
        launches: bool = True,
    ) -> None:
        self._shown = shown
        self._launches = launches
        self._log = log
        self._order = order or LaunchOrder(())
        self._clock = clock
        self._told = told
        self._fails = failing
        self._describing = Describing(shown, log)
        self.door: Door | None = None  # while it runs, if its events are posted
        self._launched = False
        self._last = 0  # the last released step
        self._open = OpenStep(step=None, closes=None)
        self._stop = threading.Event()
        self._back = threading.Event()  # set to end a pause
        self._attempt = threading.Event()  # set to end what the thread does now
        self._pause = FIRST_PAUSE
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self.state = State.STARTING
        self.failure: StreamFailure | None = None  # why it does not run
        self._reason = ""  # the same, as it was last logged

    @property
    def name(self) -> str:
        """The name of the stream."""
        return self._plan.stream.name

    @property
    def store(self) -> Store:
        """The store of the stream."""
        return self._shown.store

    @property
    def _plan(self) -> Plan:
        return self._shown.plan

    def start(self) -> None:
        """Starts to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Asks the thread to end as soon as its current work is stored."""
        self._stop.set()
        self._back.set()
        self._attempt.set()
        self._order.wake()

    def try_now(self) -> None:
        """Ends the pause of a stream that has failed."""
        self._back.set()

    def begin_anew(self) -> None:
        """Asks the thread to take the lock of its stream anew, as soon as its work is stored."""
        self._attempt.set()

    def join(self) -> None:
        """Waits until the thread has ended."""
        self._thread.join()

    def close(self) -> None:
        """Ends what goes on beside a thread that has ended."""
        self._describing.stop()

    def _run(self) -> None:
        again = True
        while again:
            attempt = self._attempt = threading.Event()
            self._back.clear()  # before the look at whether to stop
            if self._stop.is_set():
                attempt.set()
            try:
                self._look()
                if not self._launched and not self._order.wait(self.name, self._stop):
                    self._log.say(State.STOPPED.value, stream=self.name, step=0)
                    self._become(State.STOPPED)
                    return
                again = self._ended(self._follow(attempt))
            except BaseException as problem:
                again = self._failed(problem)
            finally:
                attempt.set()  # threads of its own wait for that
                self._order.done(self.name)
            # the exception is gone by now: its trace may have had events
            if self.state is State.FAILED and again:
                self._back.wait(self._pause)
                again = not self._stop.is_set()
                self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def _ended(self, report: Report) -> bool:
        """Says what became of the stream; True if it is to begin anew."""
        if report.released == report.horizon:
            state = State.ENDED
        elif self._stop.is_set():
            state = State.STOPPED
        else:
            self._become(State.STARTING)
            return True
        self._log.say(state.value, stream=self.name, step=report.released)
        self._become(state)
        return False

    def _follow(self, stop: threading.Event) -> Report:
        """Follows until the stream ends, fails, is stopped or is to begin anew."""
        engine = Engine(self._plan, self.store, warn=self._warn, launches=self._launches)
        source = engine.source(waiting=True)
        return follow(
            engine,
            stop,
            source=source,
            begun=partial(self._begun, source),
            told=self._released,
            failing=self._failing,
            clock=self._clock,
        )

    def _failed(self, problem: BaseException) -> bool:
        """Says why it failed, once for each reason; True if it is to be tried again."""
        self.failure = failure = stream_failure(problem, self._pause, datetime.now(UTC))
        reason = f"{type(problem).__name__} {failure.what} {failure.why}"
        if reason != self._reason:
            self._log.failed(problem, stream=self.name)
        self._reason = reason
        self._become(State.FAILED)
        self._fails(self)
        return failure.again is not None

    def _look(self) -> None:
        """Looks whether the stream was launched; if so it is described, even if it cannot be
        followed now.

        Not by another plan: what it would say about the numbers is not true.
        """
        if isinstance(self.store, ServedStore) and self.store.missing and not self._launches:
            raise not_launched(self._plan)
        with self.store.reading() as transaction:
            stream = transaction.stream(self.name)
        self._launched = stream is not None
        if stream is not None and not difference(stream.plan, self._plan.to_json()):
            self._describing.begin(stream.released)

    def _become(self, state: State) -> None:
        if state is not State.RUNNING:
            self.door = None
        self.state = state
        self._told(self.name)

    def _begun(self, source: AnySource, report: Report) -> None:
        self._last, self.failure, self._reason = report.released, None, ""
        self._launched = True
        self._order.done(self.name)
        if isinstance(source, HttpSource):  # open before anybody hears that the stream runs
            sealed = self._plan.privacy.intrusions != "none"
            self.door = (
                SealedDoor(source, self._clock, self._behind)
                if sealed
                else Door(source, self._clock)
            )
        if report.launched:
            self._log.say("launched", stream=self.name, spent=str(self._plan.loss))
        self._log.say("following", stream=self.name, step=report.released + 1)
        self._describing.begin(report.released)
        self._become(State.RUNNING)

    def open_step(self) -> OpenStep:
        """The step that is open now."""
        plan = self._plan
        step = open_step(plan, self._last, self._clock)
        if step != self._open.step:
            closes = None if step is None else plan.clock.end_of(step) + plan.stream.grace_us
            self._open = OpenStep(step=step, closes=None if closes is None else instant(closes))
        return self._open

    def closed(self) -> Closed:
        """Why no events can be posted while there is no door."""
        if not self._plan.stream.source_kind.needs_service:
            return Closed.OTHER_SOURCE
        if self._launched:
            return Closed.NOT_RUNNING
        refused = self.failure is not None and self.failure.again is None
        return Closed.NEVER_LAUNCHED if refused else Closed.NOT_LAUNCHED

    def _behind(self) -> bool:
        """Whether steps wait to be released, besides the one that may just have ended."""
        ended = self._plan.clock.ended(self._clock())  # a sealed stream has no grace
        return min(ended, self._plan.stream.horizon or ended) - self._last > 1

    def _released(self, step: int) -> None:
        self._last, self._pause = step, FIRST_PAUSE
        fields: dict[str, object] = {"stream": self.name, "step": step}
        if step != self._plan.stream.horizon:
            due = self._plan.clock.end_of(step + 1) + self._plan.stream.grace_us
            fields["next"] = f"{instant(due):%Y-%m-%dT%H:%M:%SZ}"
        self._log.say("released", **fields)
        self._describing.released(step)
        self._told(self.name)

    def _failing(self, said: str) -> None:
        self._log.say("sink", stream=self.name, said=said)

    def _warn(self, problem: AmelesError) -> None:
        self._log.failed(problem, stream=self.name)


class Following:
    """All followed streams of a service."""

    def __init__(
        self,
        shown: Sequence[Shown],
        log: Log,
        told: Callable[[str], None] = lambda name: None,
        clock: Callable[[], int] = now,
        launches: Collection[str] | None = None,
    ) -> None:
        names = [one.plan.stream.name for one in shown]
        order = LaunchOrder(names)
        launched = names if launches is None else launches
        streams = [
            FollowedStream(one, log, told, clock, self._failing, order, launches=name in launched)
            for name, one in zip(names, shown, strict=True)
        ]
        for stream in streams:
            if isinstance(stream.store, ServedStore):
                stream.store.when_back(stream.try_now)
        self.streams: Mapping[str, FollowedStream] = {one.name: one for one in streams}

    def doing(self, name: str) -> State:
        """What the thread of a stream does."""
        return self.streams[name].state

    def failure(self, name: str) -> StreamFailure | None:
        """Why a stream does not run; None if it does, or has ended."""
        return self.streams[name].failure

    def door(self, stream: str) -> Door | None:
        """The way of posted events into a stream; None if there is none now."""
        return self.streams[stream].door

    def queue(self, stream: str) -> float | None:
        """How full the queue of posted batches is, in quarters; None if there is none now."""
        door = self.door(stream)
        return None if door is None else door.fill

    def open_step(self, stream: str) -> OpenStep:
        """The step of a stream that is open now."""
        return self.streams[stream].open_step()

    def closed(self, stream: str) -> Closed:
        """Why no events can be posted to a stream that has no door."""
        return self.streams[stream].closed()

    def reason(self, name: str) -> str | None:
        """Why a stream does not run, in a few words that anybody may read."""
        failure = self.failure(name)
        return None if failure is None else failure.reason

    @property
    def failed(self) -> Mapping[str, str]:
        """Why the streams that have failed do not run, by name."""
        return {
            name: self.reason(name) or ""
            for name, stream in self.streams.items()
            if stream.state is State.FAILED
        }

    @property
    def starting(self) -> int:
        """How many streams have not begun yet."""
        return sum(stream.state is State.STARTING for stream in self.streams.values())

    def _failing(self, failed: FollowedStream) -> None:
        """Has the others begin anew that lost their locks together with a stream that failed."""
        if failed.store.lost_locks:
            for stream in self.streams.values():
                if stream is not failed and stream.store is failed.store:
                    stream.begin_anew()

    def start(self) -> None:
        """Starts all threads; streams that are not launched yet wait there for their turn."""
        for stream in self.streams.values():
            stream.start()

    def stop(self) -> None:
        """Ends all threads, each as soon as its current work is stored."""
        for stream in self.streams.values():
            stream.stop()
        for stream in self.streams.values():
            stream.join()
            stream.close()
