"""An engine that answers batches in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

from ameles.connectors.http_source import JSON, Batch, HttpSource, Outcome
from ameles.plan.source import plan_source
from tests.engine.posted import posted_world
from tests.engine.worlds import World


def source_in(folder: Path) -> HttpSource:
    """The source of a plan whose events are posted."""
    opened = plan_source(posted_world(World(folder)).plan)
    assert isinstance(opened, HttpSource)
    return opened


def batch(number: int) -> Batch:
    """A batch that names this step."""
    return Batch(number.to_bytes(16), number, 0, JSON, b"{}\n")


def reading(number: int) -> Callable[[], Awaitable[Batch]]:
    """The reading of a body that has come whole."""

    async def read() -> Batch:
        return batch(number)

    return read


class AnsweringEngine:
    """Answers batches in a thread of its own: those of odd steps are closed."""

    def __init__(self, source: HttpSource) -> None:
        self.source = source
        self.groups: list[list[int]] = []
        self.go = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for handed in self.source.incoming():
            self.groups.append([one.step for one in handed.batches])
            self.go.wait(60)
            handed.answer([outcome(one.step) for one in handed.batches])

    def end(self) -> None:
        """Ends the thread."""
        self.go.set()
        self.source.close()
        self._thread.join(60)


def outcome(step: int) -> Outcome:
    """What the engine says about a batch of a step."""
    return Outcome.CLOSED if step % 2 else Outcome.COUNTED
