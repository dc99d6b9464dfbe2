"""What gathers: rows in, exact bounded totals out, with a state that only the gatherer knows.

The engine stores the state beside the position, in the transaction that releases the steps.  So
rows can be gathered elsewhere by the same SQL, such as in the tasks of a cluster: pieces of a
reading are sent there, ``EventSql`` asks each event, ``Bounding.with_keys`` and ``Bounding.keyed``
bound what comes back.  Noise is drawn by the engine alone, after everything was gathered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ameles.connectors.reading import Reading
from ameles.engine.gathering.bounds import SeenUsers
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import GathererState, Totals


@dataclass(frozen=True)
class Gathered:
    """What was read: totals of steps, and what the next reading needs."""

    totals: dict[str, Totals]
    position: str
    state: GathererState
    seen: list[SeenUsers] = field(default_factory=list)  # users that the store is to remember

    def __repr__(self) -> str:
        return "<Gathered>"


class Gatherer(Protocol):
    """From a reading and the state before it to totals, a position and the state after it."""

    def gather(
        self, reading: Reading, moment: Moment, salt: bytes, state: GathererState
    ) -> Gathered: ...

    def close(self) -> None:
        """Lets go of everything that it has of events."""
