"""A stream that is followed: its engine and session, its clock, and when to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ameles.connectors.source import Block, PassingSource, SeekableSource
from ameles.engine.engine import Engine
from ameles.engine.following.arrivals import Arrivals
from ameles.engine.running.session import Session


@dataclass(frozen=True, slots=True)
class Followed:
    """What every way of following needs."""

    engine: Engine
    session: Session
    stop: threading.Event
    now: Callable[[], int]
    told: Callable[[int], None]  # called after each release

    def arrivals(
        self, source: SeekableSource[Any] | PassingSource[Block] | None
    ) -> Arrivals[Block]:
        """What happens to the stream from now on."""
        plan = self.engine.plan
        return Arrivals(
            plan.clock,
            source,
            self.stop,
            released=self.session.stream.released,
            horizon=plan.stream.horizon,
            grace=plan.stream.grace_us,
            now=self.now,
        )
