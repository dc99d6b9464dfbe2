"""Counts rows that can be read only once, as they come."""

from __future__ import annotations

from collections.abc import Callable

from ameles.connectors.source import BlockSource
from ameles.engine.following.arrivals import Arrivals, Came, Ended
from ameles.engine.running.session import Session

# Rows are counted together up to this many bytes; QUIET says how long they may wait.
AT_ONCE = 4 << 20


class Counting:
    """Counts rows that can be read only once, in small batches between two releases."""

    def __init__(
        self,
        session: Session,
        source: BlockSource,
        arrivals: Arrivals[bytes],
        told: Callable[[int], None],
    ) -> None:
        self._session = session
        self._source = source
        self._arrivals = arrivals
        self._told = told
        self._blocks: list[bytes] = []
        self._size = 0
        self._arrived: int | None = None
        self._ended = session.stream.released

    def run(self) -> None:
        for arrival in self._arrivals:
            if isinstance(arrival, Ended):
                self._count(arrival.step)
                self._ended = arrival.step
                self._told(arrival.step)
            elif isinstance(arrival, Came):
                self._keep(arrival)
            elif self._blocks:
                self._count(0)
            del arrival  # free counted rows now, not when the next ones come
        if self._blocks:  # stopped: count what was read
            self._count(0)

    def _keep(self, came: Came[bytes]) -> None:
        arrived = self._step_of(came.at)
        if self._blocks and arrived != self._arrived:
            self._count(0)
        self._arrived = arrived
        if came.block is not None:
            self._blocks.append(came.block)
            self._size += len(came.block)
        if self._size >= AT_ONCE or came.block is None:
            self._count(0)

    def _step_of(self, at: int) -> int | None:
        """The step of rows without a time: the step in which they arrive.  It is an open step even
        if the clock was set back."""
        plan = self._session.plan
        if plan.stream.time is not None:
            return None
        return max(plan.clock.ended(at), self._ended) + 1

    def _count(self, target: int) -> None:
        # joined: each block costs a DuckDB query, and a pipe gives small blocks
        reading = self._source.reading([b"".join(self._blocks)])
        self._session.take(reading, target, arrived=self._arrived)
        self._source.acknowledge(len(self._blocks))
        self._arrivals.counted(self._size)
        self._blocks, self._size, self._arrived = [], 0, None
