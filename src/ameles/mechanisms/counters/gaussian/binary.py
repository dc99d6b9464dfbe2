"""Gaussian binary counter: dyadic blocks, each with discrete Gaussian noise.

Theorem      Chan-Shi-Song 2010, Thm 3.2 (catalogue 5) with Gaussian noise: a count of t steps
             is the sum of the blocks that the binary ones of t name, and one unit changes
             all blocks by at most sqrt(h) * bound in L2, h = floor(log2 T) + 1
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Gaussian, variance bound^2 * h / (2 rho) for each block; with more than
             one contribution the exact maximum of ``squared_changes`` in place of h
Error        as many noises as t has binary ones: variance popcount(t) * that of one
Memory       h + 3 integers per counter and up to 1024 noise values taken ahead

Only blocks that open a larger one are ever used: [1], [1,2], [3], [1,4], [5], ...  So each
step draws one number z, and the noise is n(t) = z(t) + n(t without its lowest one).

>>> from ameles.noise import Zero
>>> run = GaussianBinaryCounter(rho=0.5, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from ameles.accounting.calibration import gaussian_variance
from ameles.core.error import checks_step
from ameles.core.noise import Noise
from ameles.core.parameters import Horizon
from ameles.mechanisms.counters.arity import digits_of
from ameles.mechanisms.counters.digits import unshared_blocks
from ameles.mechanisms.counters.gaussian.band import SMALLEST_BETA, GaussianBand
from ameles.mechanisms.counters.gaussian.calibration import GaussianCounter
from ameles.mechanisms.counters.gaussian.error import (
    EqualGaussiansError,
    GaussianSum,
    discrete_variance,
    sum_factor,
)
from ameles.mechanisms.counters.summed import Process
from ameles.mechanisms.laplace.confined import Band, Floats, Walk, blocks_leaving
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class GaussianBinaryCounter(GaussianCounter):
    """Counts from dyadic blocks with Gaussian noise."""

    horizon: Horizon = Horizon()

    @property
    def steps(self) -> int:
        """The horizon."""
        return self.horizon

    @property
    def variance(self) -> Fraction:
        """The parameter of each block's noise."""
        squared = self.bound**2 * squared_changes(self.horizon, self.contributions)
        return gaussian_variance(rho=self.spend, squared_sensitivity=Fraction(squared))

    @property
    def error(self) -> DyadicError:
        """Independent noises, as many as t has binary ones."""
        return DyadicError(float(self.variance))

    @property
    def memory(self) -> int:
        """The exact sum, the noise taken ahead and the noise of each prefix of t."""
        return self.columns * (1 + self.ahead + self.horizon.bit_length() + 1) + 1

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return DyadicProcess(noise, self.variance, self.horizon.bit_length(), self.columns, state)


def squared_changes(horizon: int, contributions: int) -> int:
    """The most by which m steps, each changed by one, change all used blocks, squared and added.

    It is reached by the first m steps.  For a tree of height p over 2^p steps let L(m) be the
    maximum with its root block in use and R(m) = L(m) - m^2 that without; R_p(m) is the
    maximum of L(i) + R(m - i) over its halves, of height p - 1.  By induction on p:
    L(i) + L(j) <= L(i + j), because moving j steps next to i others only adds to the products
    2ij; and R(j) - R(j - r) <= L(2^p) - L(2^p - r), because the steps that fill up a tree join
    more others than any r steps of a tree without root.  The first gives i = m where m fits
    into the left half, the second i = 2^(p-1) where it does not.  The trees that make up a
    horizon, each larger than the next, are filled in their order for the same reasons.
    """
    m = min(horizon, contributions)
    total = 0
    for level in range(horizon.bit_length()):
        full, rest = m >> level, m & ((1 << level) - 1)
        total += (full + 1) // 2 << 2 * level  # blocks 1, 3, 5, ... are in use
        if full % 2 == 0 and (full + 1) << level <= horizon:
            total += rest * rest
    return total


class DyadicProcess:
    """The noise of t, from that of t without its lowest binary one."""

    def __init__(
        self, noise: Noise, variance: Fraction, levels: int, columns: int, state: IntArray | None
    ) -> None:
        self._noise = noise
        self._variance = variance
        self._t = 0
        # row i: the noise of t with the bits below i set to zero
        self._prefixes = np.zeros((levels + 1, columns), dtype=np.int64)
        if state is not None:
            self._t = int(state[0])
            self._prefixes = state[1:].reshape(levels + 1, columns).copy()

    def state(self) -> IntArray:
        return np.concatenate([np.array([self._t]), self._prefixes.reshape(-1)])

    def take(self, n: int) -> IntArray:
        levels, columns = self._prefixes.shape
        noises = self._noise.gaussian(self._variance, (n, columns))
        first, last = self._t + 1, self._t + n
        for level in reversed(range(levels - 1)):
            half = 1 << level
            # the rows of the steps whose lowest one is this bit, and of the steps without it
            rows = np.arange((half - first) % (2 * half), n, 2 * half)
            if len(rows) and rows[0] < half:  # that step is in the past
                noises[rows[0]] += self._prefixes[level + 1]
                rows = rows[1:]
            noises[rows] += noises[rows - half]
        for level in range(levels - 1):
            prefix = last >> level << level
            if prefix >= first:
                self._prefixes[level] = noises[prefix - first]
        self._t = last
        return noises


@dataclass(frozen=True, slots=True)
class DyadicError(EqualGaussiansError):
    """As many noises as t has binary ones."""

    def terms(self, t: int) -> int:
        return t.bit_count()

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """All of the first ``steps`` errors are at most this: the noise is a walk of walks."""
        most = max(steps.bit_count(), steps.bit_length() - 1)
        union = self.quantile(most, beta / steps)
        return union if beta < SMALLEST_BETA else _bound_all(self.variance, steps, beta, union)

    def rms(self, steps: int) -> float:
        """The root mean square of the error over the first ``steps`` steps."""
        ones = 0
        for level in range(steps.bit_length()):
            whole, rest = divmod(steps + 1, 2 << level)
            ones += (whole << level) + max(0, rest - (1 << level))
        return math.sqrt(ones / steps * discrete_variance(self.variance))

    def between(self, before: int, t: int) -> GaussianSum:
        """The law of the noise of a total over steps before + 1, ..., t: shared blocks cancel."""
        terms = sum(unshared_blocks(before, t, (2,) * t.bit_length()))
        return GaussianSum(terms * self.variance, sum_factor(terms, self.variance))


@lru_cache(maxsize=256)
def _bound_all(variance: float, steps: int, beta: float, union: int) -> int:
    parameter, digits = Fraction(variance), digits_of(steps, 2)

    def leaving(band: Band) -> Floats:
        arities = (2,) * (len(digits) - 1)
        return blocks_leaving(band.inside, digits, arities, partial(band.then, parameter))

    most = max(steps.bit_count(), steps.bit_length() - 1)
    walk = Walk(leaving, steps, most, frozenset((parameter,)), GaussianBand)
    return walk.bound(beta, union)
