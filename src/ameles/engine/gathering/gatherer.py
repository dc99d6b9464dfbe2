"""A gatherer turns rows into exact bounded totals; its state is opaque to everybody else.

The engine stores the state beside the position, in the transaction that releases the steps.  So
rows can be gathered elsewhere by the same SQL, for example in the tasks of a cluster: pieces of a
reading are sent there, ``EventSql`` selects their events, and ``Bounding.with_keys`` and
``Bounding.keyed`` bound them.  Only the engine draws noise, after everything was gathered.
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
    """The result of a reading: totals of steps, and what the next reading needs."""

    totals: dict[str, Totals]
    position: str
    state: GathererState
    seen: list[SeenUsers] = field(default_factory=list)  # users that the store must remember

    def __repr__(self) -> str:
        return "<Gathered>"


class Gatherer(Protocol):
    """Takes a reading and the state before it; gives totals, a position and the next state."""

    def gather(
        self, reading: Reading, moment: Moment, salt: bytes, state: GathererState
    ) -> Gathered: ...

    def close(self) -> None:
        """Frees everything that it holds about events."""
