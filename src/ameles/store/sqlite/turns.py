"""Turns: the threads of a process write one after the other, in the order in which they asked.

SQLite lets a writer that finds the database locked sleep, ever longer, and then look again.  So a
thread with many short transactions can keep another one waiting for a second.

>>> turns = Turns()
>>> turns.take(1), turns.take(0)
(True, False)
>>> turns.give_back()
>>> turns.take(0)
True
"""

from __future__ import annotations

import threading
from collections import deque


class Turns:
    """A lock that is given to those who wait in their order, and not to whoever comes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    def take(self, patience: float) -> bool:
        """Waits for one's turn; False if that takes more than so many seconds."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        try:
            given = mine.acquire(timeout=patience)
        except BaseException:  # a signal: nobody must be given what nobody waits for
            if not self._leaves(mine):
                self.give_back()
            raise
        return given or not self._leaves(mine)

    def give_back(self) -> None:
        """Ends a turn; the next one begins."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

    def _leaves(self, mine: threading.Lock) -> bool:
        """Stops to wait; False if the turn was given at the last moment."""
        with self._lock:
            waits = mine in self._waiting
            if waits:
                self._waiting.remove(mine)
            return waits
