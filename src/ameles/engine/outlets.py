"""Outlets: the sinks of a stream, brought up to what its store has released.

Sinks get stored values only, after the commit, at least once and always the same.
"""

from __future__ import annotations

from uuid import UUID

from ameles.connectors.sink import Sink, open_sink
from ameles.core.exceptions import StoreRefused
from ameles.engine.plan import Plan
from ameles.store import Store, StreamRecord


class Outlets:
    """All sinks of one stream; ``genuine`` says whether this run's noise is."""

    def __init__(self, plan: Plan, identity: UUID, *, genuine: bool) -> None:
        self._genuine = genuine
        self._sinks: list[Sink] = [
            open_sink(kind, target, plan.base, stream=plan.stream.name, identity=str(identity))
            for section in plan.sinks
            for kind, target in section.given.items()
        ]

    def check(self, store: Store, released: int) -> None:
        """Refuses a store that is behind its own sinks, or whose numbers are not private."""
        for sink in self._sinks:
            if sink.last() > released:
                raise StoreRefused(
                    f"The sink {sink.name} has step {sink.last()}; the store has released "
                    f"{released}.",
                    why="the store is older than what it published, such as a restored backup, "
                    "and would publish other numbers for the same steps",
                    tip="the newest copy of the store",
                )
        if self._sinks and not (self._genuine and store.genuine):
            raise StoreRefused(
                "This store has been used with noise that is not the operating system's.",
                why="what it holds is no private release, and must not leave it",
                tip="a new store",
            )

    def publish(self, store: Store, stream: StreamRecord) -> None:
        """Sends each sink what it does not have yet."""
        for sink in self._sinks:
            with store.reading() as transaction:
                sent = 0 if sink.knows else transaction.sent(stream, sink.name)
                first = sink.first_needed(sent)
                if first <= stream.released:
                    sink.write(transaction.release_rows(stream, first=first), stream.released)
            if not sink.knows and sent < stream.released:
                with store.writing() as transaction:
                    transaction.set_sent(stream, sink.name, stream.released)
