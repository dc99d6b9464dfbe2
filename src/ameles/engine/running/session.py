"""A session: a stream that this process holds, step by step.

What keeps the stream's state is a part of it: the store (``stored_state.py``), or the vault
(``sealed_state.py``) if the state may be seized.  The sinks get what is stored.  If a transaction
does not commit, the session is over: its runs have drawn noise that nobody saw, and the next
session resumes those that were stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ameles.connectors.reading import Reading
from ameles.engine.releasing.held_stream import HeldStream, Intake
from ameles.engine.running.stream_sink import StreamSink
from ameles.engine.running.stream_sinks import StreamSinks, failure
from ameles.plan.plan import Plan
from ameles.store import StreamRecord


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, in steps; nothing of it depends on the data."""

    launched: bool
    released: int  # the last released step
    new: int  # how many of them by this run
    horizon: int | None


class StreamState(Protocol):
    """What keeps the secret state of a held stream, takes rows into it and closes steps."""

    @property
    def position(self) -> str | None:
        """How far the source was taken; None: not known."""

    def finish(self) -> None:
        """Releases the steps that a crash left half done, as they were."""

    def take(self, intake: Intake) -> None:
        """Takes rows in, and closes every open step up to a target."""

    def announce(self, why: str) -> int:
        """The state was seen: makes it one that nobody has seen; how often that has happened."""

    def close(self) -> None:
        """Lets go of what it holds."""


class Session:
    """What ``Engine.session()`` gives."""

    def __init__(
        self, held: HeldStream, state: StreamState, sinks: StreamSinks, *, launched: bool
    ) -> None:
        self.state = state
        self._held = held
        self._sinks = sinks
        self._launched = launched
        self._before = held.record.released

    @property
    def plan(self) -> Plan:
        """The plan of the stream."""
        return self._held.plan

    @property
    def stream(self) -> StreamRecord:
        """The stream as the store has it now."""
        return self._held.record

    @property
    def report(self) -> Report:
        """What this session has done so far."""
        released = self.stream.released
        horizon = self.plan.stream.horizon
        return Report(self._launched, released, released - self._before, horizon)

    @property
    def over(self) -> bool:
        """Whether the horizon is reached: nothing is open any more."""
        return self._held.over

    @property
    def position(self) -> str | None:
        """How far the source was taken."""
        return self.state.position

    def finish(self) -> None:
        """Releases the steps that a crash left half done, as they were."""
        self.state.finish()

    def take(
        self, reading: Reading, target: int, *, arrived: int | None = None, ended: int = 0
    ) -> None:
        """Takes rows in, and closes every open step up to ``target``; 0 closes none.

        The other arguments are those of ``Intake``.
        """
        if not self.over:
            self.state.take(Intake(reading, target, arrived, ended))

    def announce(self, why: str) -> int:
        """The state was seen: makes it one that nobody has seen; how often that has happened."""
        return self.state.announce(why)

    def publish(self) -> None:
        """Sends what is released to the sinks; all that can be written have it, then it says which
        could not."""
        failed = self.try_publish()
        if failed:
            raise failure(failed, len(self._sinks.sinks), self.stream.released)

    def try_publish(self) -> tuple[StreamSink, ...]:
        """The same, for who goes on and tries again: which sinks could not be written."""
        return self._sinks.publish(self._held.store, self.stream)

    @property
    def deserted(self) -> bool:
        """Whether there were sinks, and none of them will ever take anything again."""
        sinks = self._sinks.sinks
        return bool(sinks) and all(sink.lost for sink in sinks)

    def close(self) -> None:
        """Lets go of what the session holds."""
        self.state.close()
