"""How the streams of a service are run: their lag, sinks, alerts, incidents and failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ameles.core.release import COLUMNS
from ameles.engine.running.stream_sinks import sink_states
from ameles.plan.clock import microseconds
from ameles.plan.plan import Plan
from ameles.service.published import Shown
from ameles.service.stream_failure import StreamFailure
from ameles.store import StreamRecord, Transaction

LOOKED_BACK = 1_000  # steps in which alerts are looked for
MOST_ALERTS = 100
ABOVE = "above"
_KEY, _STEP, _END, _LABEL = (COLUMNS.index(name) for name in ("key", "step", "end", "label"))


class RunStreams:
    """Looks at streams and their sinks; ``failure`` says why a stream failed, ``queue`` how
    full the queue of its posted batches is."""

    def __init__(
        self,
        shown: Sequence[Shown],
        failure: Callable[[str], StreamFailure | None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        queue: Callable[[str], float | None] = lambda name: None,
    ) -> None:
        self._shown = {one.plan.stream.name: one for one in shown}
        self._failure = failure
        self._now = now
        self._queue = queue

    def operation(self, name: str) -> dict[str, Any]:
        """The lag, sinks, alerts, intrusions and restarts of a stream, and why it failed."""
        plan, store = self._shown[name].plan, self._shown[name].store
        failure = self._failure(name)
        told: dict[str, Any] = {
            "lag": 0,
            "queue": self._queue(name),
            "sinks": [],
            "alerts": [],
            "intrusions": [],
            "restarted": [],
            "problem": None if failure is None else asdict(failure),
        }
        with store.reading() as transaction:
            stream = transaction.stream(name)
            if stream is None:
                return told
            intrusions, epochs = transaction.intrusions(stream), transaction.epochs(stream)
            told["alerts"] = _alerts(transaction, stream, plan)
        told["lag"] = max(0, self._due(plan) - stream.released)
        told["sinks"] = [asdict(sink) for sink in sink_states(plan, store, stream)]
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


def _alerts(transaction: Transaction, stream: StreamRecord, plan: Plan) -> list[dict[str, Any]]:
    """What each alert says now, and when it was last above; all of that is published."""
    told = []
    for name in (release.name for release in plan.releases if release.measure == "alert"):
        first = max(1, stream.released - LOOKED_BACK + 1)
        rows = list(transaction.release_rows(stream, release=name, first=first))
        for key in dict.fromkeys(row[_KEY] for row in rows):
            own = [row for row in rows if row[_KEY] == key]
            above = [row for row in own if row[_LABEL] == ABOVE][-MOST_ALERTS:]
            told.append(
                {
                    "release": name,
                    "key": key,
                    "label": own[-1][_LABEL],
                    "above": [{"step": row[_STEP], "at": row[_END]} for row in above],
                }
            )
    return told
