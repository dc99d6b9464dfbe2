"""The law of truncated discrete Laplace noise: its tails, and the loss of a shift.

>>> law = TruncatedLaplace(Fraction(1), 3)
>>> [round(float(law.tail(k)), 4) for k in (-3, 0, 1, 3, 4)]
[1.0, 0.7374, 0.2626, 0.0236, 0.0]
>>> round(law.lost(1) / ONE, 4)
0.0236
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.mechanisms.linear_queries import FloatArray
from ameles.noise.arrays import IntArray
from ameles.noise.enclosure import exp_minus

PRECISION = 256  # bits of a probability
ONE = 1 << PRECISION


@dataclass(frozen=True, slots=True)
class TruncatedLaplace:
    """Whole numbers k from -within to within, with weight a^|k|, a = e^(-1 / scale)."""

    scale: Fraction
    within: int

    def lost(self, shift: int) -> int:
        """The probability of the outermost ``shift`` values of one side, rounded up, times 2**256.

        Noise that is moved by ``shift`` cannot give them.  ``shift`` is at most ``within``.
        """
        end = self.within + 1
        inside = exp_minus((end - shift) / self.scale, PRECISION)[1]
        low, high = exp_minus(end / self.scale, PRECISION)
        step = exp_minus(1 / self.scale, PRECISION)[0]
        # (a^(K+1-c) - a^(K+1)) / (1 + a - 2 a^(K+1)), by the sums of geometric series
        return -((inside - low << PRECISION) // -(ONE + step - 2 * high))

    def tail(self, at: int | IntArray) -> FloatArray:
        """P(X >= at)."""
        place = np.clip(np.asarray(at, dtype=np.float64), -self.within, self.within + 1)
        upper = np.maximum(place, 1 - place)  # at least 1: of the other side the complement
        rate, end = 1 / float(self.scale), self.within + 1
        weights = -np.expm1(-end * rate) - np.exp(-rate) * np.expm1(-self.within * rate)
        above = np.exp(-upper * rate) * abs(np.expm1((upper - end) * rate)) / weights
        tails: FloatArray = np.where(place >= 1, above, 1 - above)
        return tails

    def quantile(self, beta: float) -> int:
        """The smallest w with P(|X| > w) at most beta."""
        return _first(lambda w: 2 * self.tail(w + 1) <= beta, 0, self.within)


def _first(holds: Callable[[int], object], low: int, high: int) -> int:
    """The first number from which on it holds; at ``high`` it does."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
