"""Gaussian steps: discrete Gaussian noise on every increment, and the running sum of them.

Theorem      one unit changes the increments by at most sqrt(contributions) * bound in L2; the
             discrete Gaussian is sensitivity^2 / (2 variance)-zCDP in any dimension
             (Canonne-Kamath-Steinke 2020); the sums are post-processing
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Gaussian, variance contributions * bound^2 / (2 rho) on each increment
Error        standard deviation sqrt(t) times that of one; sqrt(w) for the last w steps
Memory       one exact sum and one of noise per counter, and up to 1024 noise values taken ahead

For totals every tree is better.  For single steps and short windows, if users may have events in
many steps, no counter is better: Laplace noise grows with their number, this with its square root.

>>> from ameles.noise import Zero
>>> run = GaussianStepsCounter(rho=0.5).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ameles.accounting.calibration import gaussian_variance
from ameles.core.error import checks_step
from ameles.core.noise import Noise
from ameles.core.parameters import OptionalHorizon
from ameles.mechanisms.counters.gaussian.calibration import GaussianCounter
from ameles.mechanisms.counters.gaussian.error import (
    EqualGaussiansError,
    EqualSum,
    GaussianSum,
    sum_factor,
)
from ameles.mechanisms.counters.summed import Process
from ameles.noise.arrays import IntArray

# So many steps are followed one by one, within a band of at most so many counts on each side.
MOST_FOLLOWED = 64
WIDEST_BAND = 256


@dataclass(frozen=True, kw_only=True)
class GaussianStepsCounter(GaussianCounter):
    """Running sums of increments that each have their own Gaussian noise."""

    choosable: ClassVar[bool] = False  # for totals of single steps, not for running counts

    horizon: OptionalHorizon = OptionalHorizon()

    @property
    def steps(self) -> int | None:
        """The horizon; None: without end."""
        return self.horizon

    @property
    def variance(self) -> Fraction:
        """The parameter of each increment's noise."""
        steps = min(self.contributions, self.horizon or self.contributions)
        squared = Fraction(steps * self.bound**2)
        return gaussian_variance(rho=self.spend, squared_sensitivity=squared)

    @property
    def error(self) -> GaussianWalkError:
        """A symmetric random walk."""
        return GaussianWalkError(float(self.variance))

    @property
    def memory(self) -> int:
        """The exact sum, the sum of the noise and the noise taken ahead."""
        return self.columns * (2 + self.ahead)

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return _Walk(noise, self.variance, self.columns, state)


class _Walk:
    """The sum of all noise so far."""

    def __init__(
        self, noise: Noise, variance: Fraction, columns: int, state: IntArray | None
    ) -> None:
        self._noise = noise
        self._variance = variance
        self._sums = np.zeros(columns, dtype=np.int64) if state is None else state.copy()

    def state(self) -> IntArray:
        return self._sums

    def take(self, n: int) -> IntArray:
        walked = self._noise.gaussian(self._variance, (n, len(self._sums)))
        np.cumsum(walked, axis=0, out=walked)
        walked += self._sums
        if n:
            self._sums = walked[-1].copy()
        return walked


@dataclass(frozen=True, slots=True)
class GaussianWalkError(EqualGaussiansError):
    """As many noises as there were steps."""

    def terms(self, t: int) -> int:
        return t

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """Lévy's inequality: a symmetric walk leaves a band at most twice as often as its end.

        A few steps within a narrow band are followed one by one, exactly.
        """
        high = int(self.bound(steps, beta / 2))
        if steps > MOST_FOLLOWED or high > WIDEST_BAND:
            return high
        return _confined(self.variance, steps, beta, high)

    def between(self, before: int, t: int) -> GaussianSum:
        """The law of the noise of a total over steps before + 1, ..., t."""
        terms = t - before
        return EqualSum(terms * self.variance, sum_factor(terms, self.variance), terms=terms)


@lru_cache(maxsize=256)
def _confined(parameter: float, steps: int, beta: float, high: int) -> int:
    """The smallest m such that the walk leaves [-m, m] with probability at most beta; ``high`` is
    another one, or equal."""
    distance = np.arange(-2 * high, 2 * high + 1, dtype=np.float64)
    weights = np.exp(-(distance**2) / (2 * parameter))
    # what the tails beyond have, too, is at most this
    beyond = 2 * math.exp(-((2 * high + 1) ** 2) / (2 * parameter)) / weights.sum() * (high + 2)
    law = weights / (weights.sum() * (1 + beyond))
    low = -1
    while high - low > 1:
        m = (low + high) // 2
        inside = np.zeros(2 * m + 1)
        inside[m] = 1.0
        near = law[len(law) // 2 - 2 * m : len(law) // 2 + 2 * m + 1]
        for _ in range(steps):
            inside = np.convolve(inside, near)[2 * m : 4 * m + 1]
        low, high = (low, m) if 1 - inside.sum() <= beta else (m, high)
    return high
