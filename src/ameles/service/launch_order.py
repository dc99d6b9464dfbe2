"""The order of first launches: the budget of a population may not be enough for all plans.

Then the order of the command line decides which plans are launched, and not which thread is faster.

>>> order = LaunchOrder(["flu", "colds"])
>>> order.done("flu")
>>> order.wait("colds", stop=threading.Event())
True
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

LONGEST_TURN = 30.0  # seconds; a source that hangs must not keep the others from their launch


class LaunchOrder:
    """Turns of streams, one after another.

    A stream's turn ends when it is launched or its attempt has failed, and after ``LONGEST_TURN``.
    """

    def __init__(self, names: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._names = list(names)
        self._clock = clock
        self._changed = threading.Condition()
        self._until: float | None = None  # the end of the first one's turn

    def wait(self, name: str, stop: threading.Event) -> bool:
        """Waits for the turn of a stream; False if it is to stop before its turn has come.

        After its turn a stream waits for nothing.
        """
        with self._changed:
            while not stop.is_set() and name in self._names[1:]:
                if self._until is None:
                    self._until = self._clock() + LONGEST_TURN
                left = self._until - self._clock()
                if left <= 0:
                    self._end_turn(self._names[0])
                else:
                    self._changed.wait(left)
            return name not in self._names[1:]

    def done(self, name: str) -> None:
        """Ends the turn of a stream, or leaves it out if it never needs one."""
        with self._changed:
            if name in self._names:
                self._end_turn(name)

    def wake(self) -> None:
        """Has those who wait see whether they are to stop."""
        with self._changed:
            self._changed.notify_all()

    def _end_turn(self, name: str) -> None:
        if name == self._names[0]:
            self._until = None
        self._names.remove(name)
        self._changed.notify_all()
