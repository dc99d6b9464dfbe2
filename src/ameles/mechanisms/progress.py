"""How far a run has come, and whether it may continue: what a ledger remembers about a run.

The run and the ledger that sold it share this record, so it outlives the run.  A snapshot from
before the last released step is refused for ever, even after the run was spent or
garbage-collected.

Whatever draws noise holds ``turn``, and so do ``snapshot``, ``spend`` and ``ledger.resume``.  A
step that only uses noise drawn before takes it from ``queue`` with ``next`` and holds nothing: each
noise is given once, to one thread.  ``still`` empties the queue meanwhile, so such a step waits for
the turn like all others.

>>> progress = Progress(5)
>>> progress.draw([30, 40, 50])
>>> next(progress.queue), progress.step
(30, 6)
>>> with progress.still():
...     next(progress.queue, "nothing"), progress.step, progress.unused
('nothing', 6, 2)
>>> next(progress.queue), progress.step
(40, 7)
>>> progress.close()
>>> next(progress.queue, "nothing"), progress.step, progress.live
('nothing', 7, False)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import Any


class Progress:
    """The last released step of a run, its noise drawn ahead, and the lock of what draws."""

    __slots__ = ("_held", "cut_short", "end", "live", "queue", "turn")

    def __init__(self, step: int) -> None:
        self.end = step  # the last step whose noise is drawn
        self.queue: Iterator[Any] = iter([])  # the noise of the next steps, up to that one
        self.live = True
        self.cut_short = False  # whether it ended because a step did not
        self.turn = threading.RLock()
        self._held: list[Any] | None = None  # the queue, while it is kept still

    @property
    def step(self) -> int:
        """How many steps were released."""
        return self.end - self.unused

    @property
    def unused(self) -> int:
        """For how many more steps noise was drawn."""
        return len(self._held or ()) + length_hint(self.queue)

    def draw(self, ahead: list[Any]) -> None:
        """Appends noise for this many steps after the last; the queue has to be empty."""
        self.end += len(ahead)
        self.queue = iter(ahead)

    def use(self, count: int) -> None:
        """Counts this many steps as released while the queue is still."""
        held = self._held or []
        self.end += max(0, count - len(held))
        del held[:count]

    @contextmanager
    def still(self) -> Iterator[None]:
        """Holds the turn, and prevents the use of noise drawn ahead."""
        with self.turn:
            if self._held is not None:  # by this thread, further out
                yield
                return
            # In one operation: no other thread runs while a list takes over the rest of another.
            self._held = list(self.queue)
            try:
                yield
            finally:
                held, self._held = self._held, None
                self.queue = iter(held)

    def close(self) -> None:
        """Ends the run: noise drawn ahead is dropped.  The caller must have the turn."""
        self.live = False
        self.end -= len(list(self.queue))
        if self._held is not None:
            self.end -= len(self._held)
            self._held.clear()

    def forget_noise(self) -> None:
        """Closes the record of a run that was garbage-collected, without waiting for a lock."""
        if self.turn.acquire(blocking=False):
            try:
                self.close()
            finally:
                self.turn.release()

    def close_in_fork(self) -> None:
        """Closes the record in a forked child, where another thread may have had the turn."""
        self.turn = threading.RLock()
        self.close()
