"""How the streams of a service are run: their lag, sinks, incidents and failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ameles.core.exceptions import AmelesError
from ameles.engine.running.stream_sinks import StreamSinks
from ameles.plan.clock import microseconds
from ameles.plan.plan import Plan
from ameles.service.published import Shown


class RunStreams:
    """Looks at streams and their sinks; ``problem`` says why a stream failed."""

    def __init__(
        self,
        shown: Sequence[Shown],
        problem: Callable[[str], AmelesError | None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._shown = {one.plan.stream.name: one for one in shown}
        self._problem = problem
        self._now = now

    def operation(self, name: str) -> dict[str, Any]:
        """The lag, sinks, intrusions and restarts of a stream, and why it failed if it did."""
        plan, store = self._shown[name].plan, self._shown[name].store
        problem = self._problem(name)
        told: dict[str, Any] = {
            "lag": 0,
            "sinks": [],
            "intrusions": [],
            "restarted": [],
            "problem": None
            if problem is None
            else {"what": problem.what, "why": problem.why, "tip": problem.tip},
        }
        with store.reading() as transaction:
            stream = transaction.stream(name)
            if stream is None:
                return told
            intrusions, epochs = transaction.intrusions(stream), transaction.epochs(stream)
        told["lag"] = max(0, self._due(plan) - stream.released)
        sinks = StreamSinks(plan, stream.identity).states(store, stream)
        told["sinks"] = [asdict(sink) for sink in sinks]
        told["intrusions"] = [
            {"number": one.number, "at": one.at, "why": one.why} for one in intrusions
        ]
        told["restarted"] = [
            {"number": number, "at": one.at, "why": one.why}
            for number, one in enumerate(epochs, start=1)
        ]
        return told

    def _due(self, plan: Plan) -> int:
        """The last step that should be released by now."""
        due = plan.clock.ended(microseconds(self._now()) - plan.stream.grace_us)
        return due if plan.stream.horizon is None else min(due, plan.stream.horizon)
