"""A stream that this process holds.

Nobody else changes a stream while this process holds it.  So the store is read once, and after that
each commit says what the store has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ameles.connectors.reading import Reading
from ameles.engine.releasing.batch_ids import BatchIds
from ameles.plan.plan import Plan
from ameles.store import Store, StreamRecord


class Stopped(Exception):
    """The process is to end although steps are due: the next session releases them, as after a
    crash."""


@dataclass(slots=True)
class HeldStream:
    """The plan of a held stream, its store, and its record as it was last committed.

    ``stopping`` says whether the process is to end before all steps that are due are released.
    """

    plan: Plan
    store: Store
    record: StreamRecord
    batch_ids: BatchIds = field(default_factory=BatchIds)  # of a state that may be seized
    stopping: Callable[[], bool] = lambda: False

    @property
    def over(self) -> bool:
        """Whether the stream has reached its horizon, so that no step is open."""
        return self.record.released == self.plan.stream.horizon


@dataclass(frozen=True, slots=True, repr=False)
class Intake:
    """Rows to take in, and the last step that closes with them.

    ``arrived`` is the step in which the rows arrived, for events without a time of their own;
    ``ended`` is the last step that has ended, where that is known and closes later.
    """

    reading: Reading
    target: int  # the last step to close; 0 closes none
    arrived: int | None = None
    ended: int = 0

    def __repr__(self) -> str:
        return "<Intake>"
