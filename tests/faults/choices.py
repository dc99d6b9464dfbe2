"""Seeded choices: the same seed chooses the same instant, event and lost write again.

How long a kill waits also depends on the machine: spans adapt to it.  So each wait is printed with
its seed, which pytest shows if the test fails, and ``AMELES_TEST_WAITS`` repeats waits:

    AMELES_TEST_WAITS="0.0312 0.1" ./run test "tests/faults/test_faults.py::test_kills[8]"
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import TypeVar

WAITS = "AMELES_TEST_WAITS"
T = TypeVar("T")
_repeated = deque(os.environ.get(WAITS, "").split())


class Choices:
    """A sequence of choices that the seed determines; for faults only, never for noise.

    >>> Choices("a").below(1000) == Choices("a").below(1000)
    True
    """

    def __init__(self, *seed: object) -> None:
        self._seed = repr(seed).encode()
        self._made = 0

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        self._made += 1
        drawn = hashlib.sha256(self._seed + self._made.to_bytes(8, "little")).digest()
        return int.from_bytes(drawn[:16], "little") % n

    def chance(self, percent: int) -> bool:
        """True in ``percent`` of 100 cases."""
        return self.below(100) < percent

    def upto(self, most: float) -> float:
        """A number from 0 to ``most``."""
        return most * self.below(1 << 30) / (1 << 30)

    def sleep(self, most: float, least: float = 0.0) -> None:
        """Waits for ``least`` to ``most`` seconds; what it waits is printed."""
        seconds = least + self.upto(most - least)
        if _repeated:
            seconds = float(_repeated.popleft())
        sys.stdout.write(f"{WAITS}: {seconds:.6f}, seed {self._seed.decode()}\n")
        time.sleep(seconds)

    def shuffle(self, things: list[T]) -> None:
        """Shuffle a list in place."""
        for last in range(len(things) - 1, 0, -1):
            other = self.below(last + 1)
            things[last], things[other] = things[other], things[last]

    def one_of(self, things: Sequence[T]) -> T:
        """One of ``things``."""
        return things[self.below(len(things))]
