"""How many requests a token, or an address without one, may send.

Each has a bucket that holds a second's worth of requests and fills steadily.

>>> now = [0.0]
>>> limit = RateLimit(clock=lambda: now[-1])
>>> [limit.wait("a", 2) for _ in range(3)]
[0.0, 0.0, 0.5]
>>> now.append(0.5)
>>> limit.wait("a", 2), limit.wait("b", 2)
(0.0, 0.0)
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST = 10_000  # buckets that are remembered; the longest unused is forgotten, and is then full


class RateLimit:
    """Buckets by name; every call may come from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST) -> None:
        self._clock = clock
        self._most = most
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str, rate: float) -> float:
        """Takes one request from a bucket; 0, or if it is empty the seconds until it is not."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.get(name, (rate, now))
            left = min(rate, left + (now - since) * rate)
            waits = 0.0 if left >= 1 else (1 - left) / rate
            self._buckets[name] = (left if waits else left - 1), now
            self._buckets.move_to_end(name)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
            return waits
