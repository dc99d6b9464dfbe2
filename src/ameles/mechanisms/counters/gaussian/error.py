"""The error of sums of discrete Gaussian variables, and how small it can be.

Theorem      (a) A discrete Gaussian of parameter v is sub-Gaussian with v, and so is any
             weighted sum with the sum of the weighted parameters (Canonne-Kamath-Steinke 2020):
             P(|Y| >= y) <= 2 exp(-y^2 / 2v).
             (b) Its probabilities are at most exp(1/24v) times those of a normal variable of
             variance v rounded to the nearest integer: by Jensen, the mean of exp(-(k+u)^2 / 2v)
             over |u| <= 1/2 is at least exp(-k^2/2v - 1/24v), and the normalising sum of the
             discrete law is at least sqrt(2 pi v).  For n independent ones: exp(n/24v).
             (c) The sum of two, of parameters A and B, has probabilities at most
             (1 + q(AB/(A+B))) (1 + q(A+B)) times those of one of parameter A + B, where
             q(v) = 2 sum over n >= 1 of exp(-2 pi^2 v n^2): complete the square and sum
             over the integers (Poisson).
             (d) n of one parameter: the n-th power of the transform of their probabilities, modulo
             N.  What lies beyond N / 2 comes back elsewhere: its mass is bounded by (a).
Error        a tail is the smaller of (a) and the normal tail times the factors of (b), (c):
             never below the truth; (b) makes it all but equal to it.  If parameters are so small
             that these are not close, (d) is: the smallest integer, up to 1e-3 of beta

>>> quantile(100.0, 0.05)  # 1.96 standard deviations
20
>>> round(gaussian_lower_bound(2**20), 3)
5.115
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.core.parameters import refuse
from ameles.noise.arrays import IntArray

# From this variance on, rounding adds 1/12 and the discrete law has its parameter as
# variance, both up to a relative exp(-2 pi^2 * 2) or so.
SMOOTH = 2.0
# Up to this factor, and from this variance on, the normal law is close enough.
CLOSE, WIDE = 1.001, 1e4
# Sums modulo at most so many points, and with what is left of them after rounding errors.
MOST_POINTS = 1 << 20
SMALLEST_BETA = 1e-9
# The sum of the lower bound is taken term by term up to here and as an integral beyond.
MOST_TERMS = 1 << 16


@dataclass(frozen=True, slots=True)
class GaussianSum:
    """The law of a sum of discrete Gaussian variables, or one whose tails bound it."""

    variance: float  # the sum of the parameters: a little above the variance if they are small
    factor: float = 1.0
    slack: float = 0.0

    @property
    def std(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)

    def quantile(self, beta: float) -> int:
        """An integer that the sum exceeds in size with probability at most beta."""
        if self.variance == 0:
            return 0
        return quantile(self.variance, beta, factor=self.factor, slack=self.slack)

    def plus(self, other: GaussianSum) -> GaussianSum:
        """The law of the sum of two independent ones."""
        return GaussianSum(
            self.variance + other.variance, self.factor * other.factor, self.slack + other.slack
        )


@dataclass(frozen=True, slots=True)
class EqualSum(GaussianSum):
    """The law of a sum of ``terms`` discrete Gaussian variables of one parameter."""

    terms: int = 0

    @property
    def std(self) -> float:
        """The standard deviation, which is below the root of the parameters if they are small."""
        if not self.terms:
            return 0.0
        return math.sqrt(self.terms * discrete_variance(self.variance / self.terms))

    def quantile(self, beta: float) -> int:
        """An integer that the sum exceeds in size with probability at most beta."""
        bound = GaussianSum.quantile(self, beta)
        close = self.factor <= CLOSE and self.variance > WIDE
        if close or beta < SMALLEST_BETA or not self.terms:
            return bound
        return _equal_quantile(self.terms, self.variance / self.terms, beta, bound)


class GaussianError(ABC):
    """Bounds at many steps, one after the other: each takes microseconds."""

    @abstractmethod
    def bound(self, t: int, beta: float) -> float:
        """The error at step ``t`` is at most this with probability at least 1 - beta."""

    @abstractmethod
    def between(self, before: int, t: int) -> GaussianSum:
        """A bound on the noise of a total over steps before + 1, ..., t."""

    def bounds(self, steps: IntArray, beta: float) -> NDArray[np.float64]:
        """``bound`` at each of these steps."""
        return np.array([self.bound(t, beta) for t in steps.tolist()], dtype=np.float64)

    def between_bounds(self, before: IntArray, after: IntArray, beta: float) -> NDArray[np.float64]:
        """The quantile of ``between`` for each pair of steps."""
        pairs = zip(before.tolist(), after.tolist(), strict=True)
        bounds = [self.between(start, t).quantile(beta) for start, t in pairs]
        return np.array(bounds, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class EqualGaussiansError(GaussianError):
    """A sum of independent discrete Gaussian variables of one parameter."""

    variance: float

    @abstractmethod
    def terms(self, t: int) -> int:
        """How many variables the noise at step ``t`` is the sum of."""

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation of the noise at step ``t``."""
        return math.sqrt(self.terms(t) * discrete_variance(self.variance))

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The error at step ``t`` is at most this with probability at least 1 - beta."""
        return self.quantile(self.terms(t), beta)

    def quantile(self, terms: int, beta: float) -> int:
        """What a sum of so many exceeds in size with probability at most beta."""
        return EqualSum(
            terms * self.variance, sum_factor(terms, self.variance), terms=terms
        ).quantile(beta)


def quantile(variance: float, beta: float, *, factor: float = 1.0, slack: float = 0.0) -> int:
    """The smallest integer m for which P(|Y| >= m + 1) <= beta is proven.

    Y differs by at most ``slack`` from a rounded sum of this variance, and its probabilities
    are at most ``factor`` times the normal ones.
    """
    if not 0 < beta < 1:
        raise refuse("beta", "a probability above 0 and below 1", beta)

    def tail(m: int) -> float:
        y = max(0.0, m + 0.5 - slack) / math.sqrt(2 * variance)
        return min(factor * math.erfc(y), 2 * math.exp(-y * y))

    low, high = -1, 1 + int(math.sqrt(variance))
    while tail(high) > beta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(middle) > beta else (low, middle)
    return high


@lru_cache(maxsize=4096)
def _equal_quantile(terms: int, parameter: float, beta: float, high: int) -> int:
    """(d): the smallest integer, if it is below ``high``, which is another bound."""
    # Beyond this the mass is below a thousandth of beta, by (a).
    reach = math.sqrt(2 * terms * parameter * math.log(2000 / beta))
    size = 1 << max(4, math.ceil(math.log2(high + reach + 2)))
    if size > MOST_POINTS:
        return high
    far = np.arange(size)
    distance = np.minimum(far, size - far).astype(np.float64)
    weights = np.exp(-(distance**2) / (2 * parameter))
    transform = np.fft.rfft(weights / weights.sum()).real
    law = np.fft.irfft(transform**terms, size)
    # tails[m] = P(|Y| > m) modulo the size
    tails = 1 - law[0] - 2 * np.cumsum(np.concatenate([[0.0], law[1 : size // 2]]))
    enough = np.flatnonzero(tails + 1e-3 * beta <= beta)
    return min(high, int(enough[0])) if len(enough) else high


def sum_factor(terms: int, variance: float) -> float:
    """How much likelier a sum of this many can be than the normal law: (c), then (b)."""
    if terms == 0:
        return 1.0
    ripple = sum(2 * math.exp(-(math.pi**2) * variance * n * n) for n in range(1, 9))
    exponent = 2 * (terms - 1) * math.log1p(ripple) + 1 / (24 * terms * variance)
    return math.exp(min(exponent, 700.0))


def discrete_variance(parameter: float) -> float:
    """The variance of a discrete Gaussian, a little below its parameter if that is small."""
    if parameter >= SMOOTH:
        return parameter
    squares = [k * k for k in range(1, 40)]
    weights = [math.exp(-square / (2 * parameter)) for square in squares]
    moment = math.fsum(s * w for s, w in zip(squares, weights, strict=True))
    return 2 * moment / (1 + 2 * math.fsum(weights))


def rounded_variance(variance: float) -> float:
    """The variance of a normal variable that is rounded to the nearest integer."""
    if variance >= SMOOTH:
        return variance + 1 / 12
    if variance == 0:
        return 0.0
    # E Y^2 is the sum of (2k - 1) P(|Y| >= k)
    root = math.sqrt(2 * variance)
    return math.fsum((2 * k - 1) * math.erfc((k - 0.5) / root) for k in range(1, 40))


@lru_cache(maxsize=256)
def gaussian_lower_bound(horizon: int) -> float:
    """A lower bound for every factorisation: the root mean square error over all steps, in units of
    the noise for sensitivity 1, is at least the nuclear norm of the prefix sums over T."""
    width = math.pi / (4 * horizon + 2)
    near = min(horizon, MOST_TERMS)
    total = float(np.sum(1 / np.sin((2 * np.arange(1, near + 1) - 1) * width)))
    if horizon > near:
        # the midpoint rule, backwards: its error is below 1 / (12 MOST_TERMS^2) of the sum
        ends = (math.log(math.tan(j * width)) for j in (horizon, near))
        total += (next(ends) - next(ends)) / (2 * width)
    return total / (2 * horizon)
