"""A session: a stream that this process has locked, and its steps.

One part of it keeps the stream's state: the store (``stored_state.py``), or the vault
(``sealed_state.py``) if the state may be seized.  The sinks get stored values.  If a transaction
does not commit, the session is over: its runs have drawn noise that nobody saw, and the next
session resumes the stored runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ameles.connectors.reading import Reading
from ameles.engine.releasing.batch_ids import BatchIds
from ameles.engine.releasing.held_stream import HeldStream, Intake
from ameles.engine.running.stream_sink import StreamSink
from ameles.engine.running.stream_sinks import StreamSinks, failure
from ameles.plan.plan import Plan
from ameles.store import StreamRecord


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did, in steps; nothing in it depends on the data."""

    launched: bool
    released: int  # the last released step
    new: int  # the number of steps that this run released
    horizon: int | None


class StreamState(Protocol):
    """Keeps the secret state of a locked stream, adds rows to it and closes steps."""

    @property
    def position(self) -> str | None:
        """How far the source was read; None: not known."""

    def finish(self) -> None:
        """Releases the steps that a crash left half done, with the totals they had then."""

    def take(self, intake: Intake) -> None:
        """Reads rows, and closes every open step up to a target."""

    def announce(self, why: str) -> int:
        """Adds fresh noise after an intrusion; returns the number of announcements so far."""

    def close(self) -> None:
        """Frees what it holds."""


class Session:
    """A locked stream, its state and its sinks; ``Engine.session()`` makes it."""

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
        """The stream's current record in the store."""
        return self._held.record

    @property
    def report(self) -> Report:
        """What this session has done so far."""
        released = self.stream.released
        horizon = self.plan.stream.horizon
        return Report(self._launched, released, released - self._before, horizon)

    @property
    def over(self) -> bool:
        """Whether the horizon is reached, so that no step is open any more."""
        return self._held.over

    @property
    def unfinished(self) -> bool:
        """Whether it was stopped between steps that are due; the next session releases them."""
        return self.stream.scheduled > self.stream.released

    @property
    def position(self) -> str | None:
        """How far the source was read."""
        return self.state.position

    @property
    def batch_ids(self) -> BatchIds:
        """The batches that the open step has taken, if the state may be seized."""
        return self._held.batch_ids

    def finish(self) -> None:
        """Releases the steps that a crash left half done, with the totals they had then."""
        self.state.finish()

    def take(
        self, reading: Reading, target: int, *, arrived: int | None = None, ended: int = 0
    ) -> None:
        """Reads rows, and closes every open step up to ``target``; 0 closes none.

        The other arguments are those of ``Intake``.
        """
        if not self.over:
            self.state.take(Intake(reading, target, arrived, ended))

    def announce(self, why: str) -> int:
        """Adds fresh noise after an intrusion; returns the number of announcements so far."""
        return self.state.announce(why)

    def publish(self) -> None:
        """Sends released steps to all sinks that can be written, waits for remote ones, and fails
        if any sink could not be written."""
        self.try_publish()
        failed = self._sinks.finish()
        if failed:
            raise failure(failed, len(self._sinks.sinks), self.stream.released)

    def try_publish(self) -> tuple[StreamSink, ...]:
        """The same for callers that retry: returns the sinks that could not be written."""
        return self._sinks.publish(self._held.store, self.stream)

    @property
    def deserted(self) -> bool:
        """Whether there were sinks, and none of them will ever accept anything again."""
        sinks = self._sinks.sinks
        return bool(sinks) and all(sink.lost for sink in sinks)

    def close(self) -> None:
        """Frees what the session holds."""
        try:
            self._sinks.close()
        finally:
            self.state.close()
