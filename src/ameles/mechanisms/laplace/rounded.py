"""Weighted sums of discrete Laplace variables that are rounded: close tails and deviations.

Theorem      Y = sum of a_i Z_i.  Let U be a sum of six uniform variables, |U| <= w.  Then
             P(|Y| >= x) <= P(|Y + U| >= x - w).  Modulo a period W, Y + U is within y with
             probability 2 y / W + sum over k >= 1 of c_k sin(2 pi k y / W),
             c_k = 2 f(2 pi k / W) g(2 pi k / W) / (pi k), f and g the transforms of Y and U.
             As g falls like a sixth power, few k are needed.  What is beyond W - y comes back
             inside: its probability is below Chernoff's bound
Smallest     if P(|Y + U| >= x + w), which is at most P(|Y| >= x), is above beta for the integer
             before, there is no smaller one; if not, w is made smaller
Deviation    rounding adds 1/12 + sum over k >= 1 of (-1)^k (f(u) / (pi k)^2 - 2 f'(u) / (pi k)),
             u = 2 pi k, to the variance (Fourier series of the rounding error): a twelfth, unless
             Y has few values.  The terms have Fejer's weights, so that the sum is never negative
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Larger bounds than this are close enough without.
LARGEST = 40
# The width of U, and a smaller one for the second try.
WIDTHS = (0.125, 0.03)
# U is a sum of so many uniform variables.
UNIFORM = 6
# Periods are multiples of this whole number.
PERIODS = 16
# More logarithms than this, each at all frequencies, are not kept.
MOST_REMEMBERED = 256
# The part of beta that each inaccuracy may have.
SPARE = 1e-4
# For smaller beta, differences of floats are too coarse.
SMALLEST_BETA = 1e-7
# The largest 1 / (2 scale) that is told apart from no noise.
STEEPEST = 300.0
# Terms of the series of the deviation; none if the variance is above this.
TERMS, WIDEST = 96, 4.0
# So many laws are looked at together, so that what they share stays in the cache.
TOGETHER = 64


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """The law of Y: how many variables of each scale and weight."""

    scales: Floats
    weights: Floats
    counts: Floats

    @property
    def half(self) -> Floats:
        """sinh(1 / (2 scale)); beyond ``STEEPEST`` there is no noise, and the square is too large
        for a float."""
        half: Floats = np.sinh(np.minimum(0.5 / self.scales, STEEPEST))
        return half

    @property
    def variance(self) -> float:
        """The variance of Y."""
        return float(self.counts @ (self.weights / self.half) ** 2) / 2


def rounded_variances(laws: Sequence[WeightedSum]) -> Floats:
    """For each law the variance of Y, rounded to the nearest integer.

    Much faster than one by one: a variable that many laws have is looked at once.
    """
    found = np.array([law.variance + 1 / 12 for law in laws])
    few = np.flatnonzero(found <= WIDEST + 1 / 12).tolist()
    for start in range(0, len(few), TOGETHER):
        some = few[start : start + TOGETHER]
        found[some] = np.maximum(found[some] + _series([laws[place] for place in some]), 0.0)
    return found


def _series(laws: Sequence[WeightedSum]) -> Floats:
    """What rounding adds to the variance of each law besides a twelfth."""
    added = np.zeros(len(laws))
    pairs = np.concatenate([law.half + 1j * law.weights for law in laws])
    different, places = np.unique(pairs, return_inverse=True)
    half, weights = different.real[:, None], different.imag[:, None]
    k = np.arange(1, TERMS + 1)
    angle = weights * (2 * math.pi * k)
    edge = 2 * half**2
    # f is the product of 1 / (1 + (1 - cos(a u)) / edge)
    # 1 - cos(x) is 2 sin(x / 2)^2, which is not lost beside 1 if weights are tiny
    over = 1 / (edge + 2 * np.sin(angle / 2) ** 2)
    logarithms, slopes = np.log(edge * over), weights * np.sin(angle) * over
    fejer = (1 - k / (TERMS + 1)) * (-1.0) ** k
    end = 0
    for place, law in enumerate(laws):
        own = places[end : end + len(law.counts)]
        end += len(law.counts)
        value = np.exp(law.counts @ logarithms[own])
        slope = -value * (law.counts @ slopes[own])
        series = fejer * (value / (math.pi * k) ** 2 - 2 * slope / (math.pi * k))
        added[place] = series.sum()
    return added


class SmallestBounds:
    """Finds, for one law after the other, the smallest m for which P(|Y| >= m + spare) <= beta is
    certain.

    What laws have in common is computed once: the period is a multiple of ``PERIODS``, so that many
    laws have the same frequencies, at which many of their variables are the same, too.
    """

    def __init__(self, beta: float, spare: float) -> None:
        self._beta = beta
        self._spare = spare
        self._grids: dict[float, _Grid] = {}  # of the last period, by width
        self._period = 0

    def smallest(self, law: WeightedSum, *, high: int, far: float) -> int:
        """``high`` is an m that is certain; |Y| is above ``far`` with probability below SPARE beta.

        Laws with similar periods (``period``) are best asked for one after the other.
        """
        beta, spare = self._beta, self._spare
        if beta < SMALLEST_BETA or high > LARGEST:
            return high
        for width in WIDTHS:
            grid = self._grid(width, period(high, far))
            terms = grid.terms(law)
            # that |Y + U| is below m + spare - width, and below m + spare + width, for each m
            narrow, wide = (grid.within(terms, spare + by) for by in (-width, width))
            low = -1
            while high - low > 1:
                m = (low + high) // 2
                tail = 1 - narrow[m] + 3 * SPARE * beta
                low, high = (low, m) if tail <= beta else (m, high)
            if low < 0 or 1 - wide[low] - 2 * SPARE * beta > beta:
                break
        return high

    def _grid(self, width: float, length: int) -> _Grid:
        if length != self._period:
            self._grids, self._period = {}, length
        if width not in self._grids:
            self._grids[width] = _Grid(width, length, self._beta)
        return self._grids[width]


def period(high: int, far: float) -> int:
    """A period for a law with these bounds: more than ``far`` above ``high``."""
    return PERIODS * math.ceil((high + 2 + far) / PERIODS)


class _Grid:
    """The frequencies of one width and period, and what was computed at them."""

    def __init__(self, width: float, length: int, beta: float) -> None:
        each = width / UNIFORM
        # what is left out is below the sum of (1 / (2 pi k each / W))^6 2 / (pi k)
        left = (2 / (math.pi * UNIFORM * SPARE * beta)) ** (1 / UNIFORM)
        count = math.ceil(left / (2 * math.pi * each)) * length  # whole periods of k
        k = np.arange(1, count + 1)
        self._at = 2 * math.pi * k / length
        self._smooth = np.sinc(self._at * each / math.pi) ** UNIFORM * 2 / (math.pi * k)
        self._length = length
        self._logarithms: dict[tuple[float, float], Floats] = {}
        self._turns: dict[float, NDArray[np.complex128]] = {}

    def terms(self, law: WeightedSum) -> Floats:
        """The c_k of a law: E cos(at Y) is the product of what its variables have there."""
        if len(self._logarithms) > MOST_REMEMBERED:
            self._logarithms.clear()
        variables = zip(law.counts.tolist(), law.weights.tolist(), law.half.tolist(), strict=True)
        logarithm = np.zeros_like(self._at)
        for count, weight, half in variables:  # products of matrices would start threads
            logarithm += count * self._logarithm(weight, half)
        terms: Floats = np.exp(-logarithm) * self._smooth
        return terms

    def _logarithm(self, weight: float, half: float) -> Floats:
        if (known := self._logarithms.get((weight, half))) is None:
            known = np.log1p((np.sin(self._at * (weight / 2)) / half) ** 2)
            self._logarithms[weight, half] = known
        return known

    def within(self, terms: Floats, beyond: float) -> Floats:
        """P(|Y + U| < m + beyond) modulo the period, for m = 0, 1, ... below the period.

        The period is whole: so sin(2 pi k (m + beyond) / W) depends on m only through the
        remainder of k, and terms with the same remainder are added up first.
        """
        if beyond not in self._turns:
            self._turns[beyond] = np.exp(1j * beyond * self._at)
        added = (terms * self._turns[beyond]).reshape(-1, self._length).sum(axis=0)
        # the first remainder is 1, and that of the last is 0
        waves = np.fft.ifft(np.roll(added, 1), norm="forward").imag
        y = np.arange(self._length) + beyond
        return np.where(y > 0, 2 * y / self._length + waves, 0.0)
