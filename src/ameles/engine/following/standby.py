"""Standing by: a process that waits while another one runs the stream, and takes over when it ends.

The lock of the stream decides which process runs it.  Who gets the lock begins as after a crash: it
reads the state, the position and the releases from the store, so no step is published twice.  A
process that loses its store goes back to waiting, because another one may have the lock by then.
It also waits for a store that is down when it starts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from ameles.engine.following.arrivals import PATIENCE
from ameles.store import Unavailable

T = TypeVar("T")


class Standby:
    """Follows a stream whenever this process can have it."""

    def __init__(self, stop: threading.Event, waiting: Callable[[str], None]) -> None:
        self._stop = stop
        self._waiting = waiting
        self._told: type[Unavailable] | None = None

    def begun(self) -> None:
        """The stream is locked for this process."""
        self._told = None

    def run(self, work: Callable[[], T]) -> T | None:
        """What the work returns at last, or None if the process was stopped while it waited."""
        while True:
            try:
                return work()
            except Unavailable as problem:
                self._wait_for(problem)
            if self._stop.wait(PATIENCE):
                return None

    def _wait_for(self, problem: Unavailable) -> None:
        if self._told is not type(problem):
            self._told = type(problem)
            self._waiting(f"{problem.what} Standing by.")
