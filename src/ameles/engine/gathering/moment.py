"""Which steps of a stream are released, closing and open when rows are read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ameles.plan.clock import FAR, microseconds
from ameles.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Moment:
    """The last released step, the last step that closes now, and the last step of the stream.

    ``arrived`` is the step of events without a time of their own.
    """

    released: int
    target: int
    last: int
    arrived: int | None = None


def moment_at(plan: Plan, released: int, now: datetime) -> Moment:
    """The moment that a run would use now, if so many steps were released."""
    stream, ended = plan.stream, plan.clock.ended(microseconds(now))
    target = max(ended if stream.horizon is None else min(ended, stream.horizon), released)
    last = stream.horizon or min(target + FAR, plan.clock.latest)
    # events without a time column count in the step in which they arrive, the open one
    arrived = None if stream.time is not None else min(released + 1, last)
    return Moment(released, target, last, arrived)
