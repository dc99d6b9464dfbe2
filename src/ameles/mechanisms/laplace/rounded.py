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
# The part of beta that each inaccuracy may have.
SPARE = 1e-4
# For smaller beta, differences of floats are too coarse.
SMALLEST_BETA = 1e-7
# The largest 1 / (2 scale) that is told apart from no noise.
STEEPEST = 300.0
# Terms of the series of the deviation; none if the variance is above this.
TERMS, WIDEST = 96, 4.0


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """The law of Y: how many variables of each scale and weight."""

    scales: Floats
    weights: Floats
    counts: Floats

    @property
    def _half(self) -> Floats:
        """sinh(1 / (2 scale)); beyond ``STEEPEST`` there is no noise, and the square is too large
        for a float."""
        half: Floats = np.sinh(np.minimum(0.5 / self.scales, STEEPEST))
        return half

    def transform(self, at: Floats) -> Floats:
        """E cos(at Y)."""
        ratio = np.sin(np.multiply.outer(self.weights, at) / 2)
        ratio /= self._half[:, None]
        transform: Floats = np.exp(-(self.counts @ np.log1p(ratio**2)))
        return transform

    def smallest(self, beta: float, *, high: int, far: float, spare: float) -> int:
        """The smallest m for which P(|Y| >= m + spare) <= beta is certain.

        ``high`` is a larger one, or equal; |Y| is above ``far`` with probability below SPARE beta.
        """
        if beta < SMALLEST_BETA or high > LARGEST:
            return high
        for width in WIDTHS:
            inside = _Inside(self, width, high + 2 + far, beta)
            low = -1
            while high - low > 1:
                m = (low + high) // 2
                tail = 1 - inside.within(m + spare - width) + 3 * SPARE * beta
                low, high = (low, m) if tail <= beta else (m, high)
            if low < 0 or 1 - inside.within(low + spare + width) - 2 * SPARE * beta > beta:
                break
        return high

    def rounded_variance(self) -> float:
        """The variance of Y, rounded to the nearest integer."""
        variance = float(self.counts @ (self.weights / self._half) ** 2) / 2
        if variance > WIDEST:
            return variance + 1 / 12
        k = np.arange(1, TERMS + 1)
        at = 2 * math.pi * k
        angle = np.multiply.outer(self.weights, at)
        edge = 2 * self._half[:, None] ** 2
        # f is the product of 1 / (1 + (1 - cos(a u)) / edge)
        over = 1 / (edge + 1 - np.cos(angle))
        value = np.exp(self.counts @ np.log(edge * over))
        slope = -value * (self.counts @ (self.weights[:, None] * np.sin(angle) * over))
        fejer = (1 - k / (TERMS + 1)) * (-1.0) ** k
        series = fejer * (value / (math.pi * k) ** 2 - 2 * slope / (math.pi * k))
        return max(variance + 1 / 12 + float(series.sum()), 0.0)


class _Inside:
    """How likely Y + U is to be inside of a distance, modulo the period."""

    def __init__(self, law: WeightedSum, width: float, period: float, beta: float) -> None:
        each = width / UNIFORM
        # what is left out is below the sum of (1 / (2 pi k each / W))^6 2 / (pi k)
        left = (2 / (math.pi * UNIFORM * SPARE * beta)) ** (1 / UNIFORM)
        count = math.ceil(left * period / (2 * math.pi * each))
        k = np.arange(1, count + 1)
        self._at = 2 * math.pi * k / period
        smooth = np.sinc(self._at * each / math.pi) ** UNIFORM
        self._terms = law.transform(self._at) * smooth * 2 / (math.pi * k)
        self._period = period

    def within(self, y: float) -> float:
        """P(|Y + U| < y), for y below half of the period."""
        if y <= 0:
            return 0.0
        return 2 * y / self._period + float(self._terms @ np.sin(self._at * y))
