"""Bisection: where a condition turns, on a grid and on floats.

Results on floats only say where to look; the number on which a claim depends is then computed
there with intervals.

>>> edge(lambda n: n * n <= 50, passing=0, failing=50)
7
>>> round(root(lambda x: x * x - 2, low=1e-3, high=1e3), 12)
1.414213562373
"""

from __future__ import annotations

import math
from collections.abc import Callable


def edge(passes: Callable[[int], bool], *, passing: int, failing: int) -> int:
    """A passing number next to a failing one, between the two given, in either order.

    Whatever the shape of the condition, the number returned was seen to pass (or is
    ``passing`` itself) and its neighbour on the failing side was seen to fail.
    """
    while abs(passing - failing) > 1:
        middle = (passing + failing) // 2
        if passes(middle):
            passing = middle
        else:
            failing = middle
    return passing


def root(increasing: Callable[[float], float], *, low: float, high: float) -> float:
    """Where an increasing function of a positive number crosses zero.

    It bisects on a logarithmic scale.  If the function has one sign throughout, it returns the end
    of the range on the other side.
    """
    while True:
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            return high
        if increasing(middle) < 0:
            low = middle
        else:
            high = middle
