"""The threads that follow the plans of a service, one each.

A stream that fails stops alone: the others go on, and the service goes on to show what was
published.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ameles.connectors.http_source import HttpSource
from ameles.connectors.source import AnySource
from ameles.core.exceptions import AmelesError
from ameles.engine.engine import Engine
from ameles.engine.following.arrivals import now
from ameles.engine.following.batch_writer import open_step
from ameles.engine.following.follow import follow
from ameles.engine.running.session import Report
from ameles.plan.clock import instant
from ameles.plan.difference import difference
from ameles.plan.plan import Plan
from ameles.service.describing import Describing
from ameles.service.ingest.answers import OpenStep
from ameles.service.ingest.door import Door, SealedDoor
from ameles.service.log import Log
from ameles.service.published import Shown
from ameles.service.views import State


class FollowedStream:
    """A plan and the thread that follows it."""

    def __init__(
        self, shown: Shown, log: Log, told: Callable[[str], None], clock: Callable[[], int] = now
    ) -> None:
        self._shown = shown
        self._log = log
        self._clock = clock
        self._told = told  # called with the stream's name when something can be seen
        self._describing = Describing(shown, log)
        self.door: Door | None = None  # while it runs, if its events are posted
        self._last = 0  # the last released step
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self.state = State.STARTING
        self.problem: AmelesError | None = None  # why it failed, if that is a refusal

    @property
    def name(self) -> str:
        """The name of the stream."""
        return self._plan.stream.name

    @property
    def _plan(self) -> Plan:
        return self._shown.plan

    def start(self) -> None:
        """Starts to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Asks the thread to end as soon as its current work is stored."""
        self._stop.set()

    def join(self) -> None:
        """Waits until the thread has ended."""
        self._thread.join()

    def close(self) -> None:
        """Ends what goes on beside a thread that has ended."""
        self._describing.stop()

    def _run(self) -> None:
        try:
            self._describe_launched()
            engine = Engine(self._plan, self._shown.store, warn=self._warn)
            source = engine.source(waiting=True)

            report = follow(
                engine,
                self._stop,
                source=source,
                begun=partial(self._begun, source),
                told=self._released,
                failing=self._failing,
                clock=self._clock,
            )
        except BaseException as problem:
            self.problem = problem if isinstance(problem, AmelesError) else None
            self._log.failed(problem, stream=self.name)
            self._become(State.FAILED)
        else:
            over = report.released == report.horizon
            self._log.say("ended" if over else "stopped", stream=self.name, step=report.released)
            self._become(State.ENDED if over else State.STOPPED)

    def _describe_launched(self) -> None:
        """Describes a stream that was launched before, also if it cannot be followed now.

        Not by another plan: what it would say about the numbers is not true.
        """
        with self._shown.store.reading() as transaction:
            stream = transaction.stream(self.name)
        if stream is not None and not difference(stream.plan, self._plan.to_json()):
            self._describing.begin(stream.released)

    def _become(self, state: State) -> None:
        if state is not State.RUNNING:
            self.door = None
        self.state = state
        self._told(self.name)

    def _begun(self, source: AnySource, report: Report) -> None:
        self._last = report.released
        if isinstance(source, HttpSource):  # open before anybody hears that the stream runs
            sealed = self._plan.privacy.intrusions != "none"
            self.door = SealedDoor(source) if sealed else Door(source)
        if report.launched:
            self._log.say("launched", stream=self.name, spent=str(self._plan.loss))
        self._log.say("following", stream=self.name, step=report.released + 1)
        self._describing.begin(report.released)
        self._become(State.RUNNING)

    def open_step(self) -> OpenStep:
        """The step that is open now."""
        plan = self._plan
        step = open_step(plan, self._last, self._clock)
        if step is None:
            return OpenStep(step=None, closes=None)
        return OpenStep(step=step, closes=instant(plan.clock.end_of(step) + plan.stream.grace_us))

    def _released(self, step: int) -> None:
        self._last = step
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
    ) -> None:
        streams = [FollowedStream(one, log, told, clock) for one in shown]
        self.streams: Mapping[str, FollowedStream] = {one.name: one for one in streams}

    def doing(self, name: str) -> State:
        """What the thread of a stream does."""
        return self.streams[name].state

    def problem(self, name: str) -> AmelesError | None:
        """Why a stream failed, if that is a refusal."""
        return self.streams[name].problem

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

    @property
    def failed(self) -> int:
        """How many streams have failed."""
        return self._count(State.FAILED)

    @property
    def starting(self) -> int:
        """How many streams have not begun yet."""
        return self._count(State.STARTING)

    def _count(self, state: State) -> int:
        return sum(stream.state is state for stream in self.streams.values())

    def start(self) -> None:
        """Starts all threads."""
        for stream in self.streams.values():
            stream.start()

    def stop(self) -> None:
        """Ends all threads, each as soon as its current work is stored."""
        for stream in self.streams.values():
            stream.stop()
        for stream in self.streams.values():
            stream.join()
            stream.close()
