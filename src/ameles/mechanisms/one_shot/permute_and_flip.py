"""Permute and flip: chooses a candidate, never worse than the exponential mechanism on average.

Theorem      McKenna-Sheldon 2020: candidates are visited in random order, and the first whose coin
             of bias exp(-epsilon (best - q) / (2 Delta)) shows heads is chosen; this is
             epsilon-private, with Delta for 2 Delta if the scores are monotone.  The expected
             distance from the best is at most that of the exponential mechanism, and can be half.
             The first heads in random order is a uniform one of all heads, which is what is drawn
Neighbours   stated; between them every score q changes by at most ``sensitivity`` (Delta)
Noise        one exact coin for each candidate and one uniform draw
Error        the score is below the best by s or more with probability at most
             1 - (1 - (1 - p)^n) / (n p), p = e^(-s / b), b = 2 Delta / epsilon (monotone:
             Delta / epsilon), reached where all others are s below
Memory       nothing is kept

>>> from ameles.noise import Zero
>>> recipe = PermuteAndFlip(epsilon=1, candidates=3, neighbours="replace")
>>> recipe.start(Zero()).step([3, 14, 15])
2
>>> recipe.error.bound(1, 0.05)
5
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.error import checks_step
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon
from ameles.mechanisms.one_shot.noisy_max import one_of
from ameles.mechanisms.one_shot.selection import GUARD, Selection
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Selection[int]):
    """The index of the first candidate, in random order, whose coin shows heads.

    >>> from ameles.noise import Zero
    >>> PermuteAndFlip(epsilon=1, candidates=2, neighbours="replace").start(Zero()).step([3, 14])
    1
    """

    epsilon: Epsilon = Epsilon()

    @property
    def rate(self) -> Fraction:
        """One point of score less makes heads e^rate times rarer."""
        return self.epsilon / self.spread

    @property
    def loss(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon)

    @property
    def error(self) -> PermuteAndFlipError:
        """The worst case over all scores."""
        return PermuteAndFlipError(1 / self.rate, self.candidates)

    def release(self, x: IntArray, noise: Noise) -> int:
        gaps = x.max() - x
        heads = noise.accept(gaps, self.rate) | (gaps == 0)  # a best one always shows heads
        return one_of(np.flatnonzero(heads), noise)


@dataclass(frozen=True, slots=True)
class PermuteAndFlipError:
    """How much worse than the best the chosen candidate may be."""

    scale: Fraction
    candidates: int

    def tail(self, distance: float) -> float:
        """The probability of that distance or more, in the worst case.

        A candidate that is nearer to the best takes choices away from the far ones; so the worst
        case has all others at this distance.
        """
        p, n = math.exp(-distance / float(self.scale)), self.candidates
        if n * p < 1e-5:  # (n - 1) p / 2 (1 - (n - 2) p / 3 + ...), without the cancellation
            return (n - 1) * p / 2
        return 1 + math.expm1(n * math.log1p(-p)) / (n * p) if p < 1 else 1 - 1 / n

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The score is this close to the best, with probability at least 1 - beta."""
        low, high = 0, 1  # whether P(distance >= low) may be above beta; of high it is not
        while self.tail(high) > beta * (1 - GUARD):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            above = self.tail(middle) > beta * (1 - GUARD)
            low, high = (middle, high) if above else (low, middle)
        return high - 1

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many choices together."""
        return self.bound(1, beta / steps)
