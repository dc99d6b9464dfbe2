"""The sinks of a stream, brought up to date with the releases in its store.

Sinks get stored values only: after the commit, at least once, and always the same values.  A sink
that cannot be written does not stop the others: it is tried again, and the run ends with its error.

The sinks also protect against a restored backup: a store that has released fewer steps than one of
its sinks has is refused.  So the store remembers which sinks it has had.  A sink that is missing
together with its note shows nothing; unless another sink does, nothing is released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from ameles.connectors.remote_sink import RemoteSink
from ameles.connectors.sink import Sink
from ameles.connectors.sinks import SINKS
from ameles.core.exceptions import AmelesError, PlanError, StoreRefused
from ameles.engine.running.remote_delivery import RemoteDelivery
from ameles.engine.running.sink_places import check_apart
from ameles.engine.running.store_table import in_store
from ameles.engine.running.stream_sink import StreamSink
from ameles.plan.clock import instant
from ameles.plan.plan import Plan
from ameles.store import Store, StreamRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkState:
    """How far a sink has come; all of it is public."""

    sink: str
    step: int | None  # the last step that it has; None if unknown
    behind: int | None  # how many more steps the store has
    behind_since: str | None  # when the first step ended that it lacks
    problem: str | None  # why it cannot be written, as far as this can be seen


class StreamSinks:
    """All sinks of one stream; ``genuine`` says whether this run's noise is real.

    ``sinks`` are already open, and come after those that the plan names.
    """

    def __init__(
        self,
        plan: Plan,
        identity: UUID,
        *,
        genuine: bool = True,
        sinks: Sequence[Sink] = (),
    ) -> None:
        check_apart(plan)
        self._plan = plan
        self._identity = identity
        self._genuine = genuine
        self.sinks = [
            in_store(plan, _driver(kind).of(plan, identity, kind, target, section.settings))
            for section in plan.sinks
            for kind, target in section.given.items()
        ]
        self.sinks += [StreamSink(sink.name, partial(_same, sink)) for sink in sinks]

    def check_launch(self, store: Store) -> None:
        """Refuses before anything is spent what a sink would refuse later."""
        self.check_new()
        self._check_noise(store)

    def check_new(self) -> None:
        """Refuses sinks that cannot take the first step of a new stream."""
        for sink in self.sinks:
            sink.check_fence(0)
            if sink.failed is not None:
                raise sink.failed

    def check(self, store: Store, stream: StreamRecord) -> None:
        """Refuses a store that is or may be behind its own sinks, or was run without real noise."""
        blind = self.check_fence(store, stream)
        if blind:
            raise blind[0].failed or StoreRefused(f"The sink {blind[0].name} cannot be opened.")
        self._check_noise(store)

    def check_fence(self, store: Store, stream: StreamRecord) -> tuple[StreamSink, ...]:
        """Refuses a store that is behind one of its own sinks, or has other numbers.

        Returns the sinks that cannot be seen, unless another one shows how far the stream had come.
        """
        with store.reading() as transaction:
            recorded = transaction.all_sent(stream)
            for sink in self.sinks:
                sink.expect(recorded.get(sink.name, 0))
            for sink in (*self.sinks, *self._earlier(recorded)):
                sink.check_fence(stream.released)
                sink.check_same(transaction, stream)
        if any(sink.last for sink in self.sinks):
            return ()
        return tuple(sink for sink in self.sinks if sink.sink is None)

    def publish(self, store: Store, stream: StreamRecord) -> tuple[StreamSink, ...]:
        """Sends each sink the steps that it lacks; returns the sinks that failed.

        Remote sinks are sent to by threads of their own, whether or not this has returned.
        """
        for sink in self.sinks:
            sink.publish(store, stream)
        return self._failed

    def finish(self) -> tuple[StreamSink, ...]:
        """Waits for remote sinks; returns the sinks that failed."""
        for sink in self.sinks:
            sink.finish()
        return self._failed

    def close(self) -> None:
        """Ends the threads of remote sinks."""
        for sink in self.sinks:
            sink.close()

    @property
    def _failed(self) -> tuple[StreamSink, ...]:
        return tuple(sink for sink in self.sinks if sink.failed is not None)

    def states(self, store: Store, stream: StreamRecord) -> tuple[SinkState, ...]:
        """How far each sink has come, by its note or, if it has none, by the store."""
        with store.reading() as transaction:
            recorded = transaction.all_sent(stream)
        states = []
        for sink in self.sinks:
            sink.expect(recorded.get(sink.name, 0))
            known = sink.sink is not None and not sink.sink.knows
            step = recorded.get(sink.name, 0) if known else sink.last
            states.append(
                SinkState(
                    sink=sink.name,
                    step=step,
                    behind=None if step is None else max(0, stream.released - step),
                    behind_since=self._since(step, stream.released),
                    problem=None if sink.failed is None else sink.failed.what,
                )
            )
        return tuple(states)

    def _since(self, step: int | None, released: int) -> str | None:
        """When the step after ``step`` ended, if it is released."""
        if step is None or step >= released:
            return None
        return f"{instant(self._plan.clock.end_of(step + 1)):%Y-%m-%dT%H:%M:%SZ}"

    def _earlier(self, recorded: dict[str, int]) -> list[StreamSink]:
        """Sinks that the plan no longer has, if they still exist: the fence includes them."""
        now = {sink.name for sink in self.sinks}
        gone = [name.partition(":") for name in recorded if name not in now]
        return [
            StreamSink.of(self._plan, self._identity, kind, target)
            for kind, _, target in gone
            if kind in SINKS and SINKS[kind].of_files
        ]

    def _check_noise(self, store: Store) -> None:
        if self.sinks and not (self._genuine and store.genuine):
            raise StoreRefused(
                "This store has been used with noise that is not the operating system's.",
                why="its releases are not private, and must not be published",
                tip="a new store",
            )


def sink_states(plan: Plan, store: Store, stream: StreamRecord) -> tuple[SinkState, ...]:
    """How far each sink of a plan has come, also if they cannot be used together: somebody may have
    put links where they were."""
    try:
        return StreamSinks(plan, stream.identity).states(store, stream)
    except PlanError as refused:
        unknown = partial(SinkState, step=None, behind=None, behind_since=None)
        return tuple(
            unknown(sink=f"{kind}:{target}", problem=refused.what)
            for section in plan.sinks
            for kind, target in section.given.items()
        )


def _driver(kind: str) -> type[StreamSink]:
    """What sends releases to a kind of sink."""
    return RemoteDelivery if issubclass(SINKS[kind], RemoteSink) else StreamSink


def _same(sink: Sink) -> Sink:
    return sink


def failure(failed: tuple[StreamSink, ...], of: int, released: int) -> AmelesError:
    """The error at the end of a run for sinks that could not be written."""
    errors = [sink.failed for sink in failed if sink.failed is not None]
    first = errors[0]
    kind = next((type(each) for each in errors if isinstance(each, StoreRefused)), AmelesError)
    rest = of - len(failed)
    others = "another sink has" if rest == 1 else f"{rest} other sinks have"
    has = f"{others} everything up to step {released}" if rest else ""
    more = "" if len(errors) == 1 else f" Also: {' '.join(each.what for each in errors[1:])}"
    return kind(first.what + more, why="; ".join(filter(None, [first.why, has])), tip=first.tip)
