"""The exact privacy of one integer with discrete Gaussian noise.

Theorem      for noise of law p(k) ~ exp(-k²/(2v)) on the integers and a shift s,
             delta(epsilon) = sum of p(k) - exp(epsilon) p(k+s) over k > epsilon v/s - s/2,
             where the summand h is positive (Canonne-Kamath-Steinke 2020)
Neighbours   the protected unit moves one released integer by at most s.  The law has a
             monotone likelihood ratio, so the threshold test that is best against a small
             shift is best against every larger one and gains by it: s itself is the
             worst case.  A vector of released integers is not covered: use rho there
Rounding     first terms up, second ones down, the normalising sum down: an upper bound
Wide laws    above some thousand integers only every b-th is evaluated.  h rises to one
             maximum and falls (x/(x+s) rises, exp(-(x - x0) s/v) falls, and h' is zero
             where they meet), so a block of b is at most b times its larger end, except
             for the one with the maximum: the sum is at most b times (sum of the
             evaluated + max h).  That overstates delta by about 0.2%, the variance by
             about 0.01%

delta is *not* decreasing in the variance: it dips wherever epsilon v/s - s/2 is an integer
and may rise after it; at epsilon 8 it more than doubles from variance 0.0625 to 0.07.  So a
returned variance is for noise of exactly that variance: do not round it up.

>>> variance = discrete_gaussian_variance(epsilon=1, delta="1e-6", sensitivity=1)
>>> round(float(variance) ** 0.5, 4)
4.2308
>>> discrete_gaussian_delta(variance=variance, sensitivity=1, epsilon=1) <= Fraction(1, 10**6)
True
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex

from ameles.accounting.arguments import amount, positive, probability
from ameles.accounting.calibration import gaussian_variance_for
from ameles.accounting.interval import DOWN, PI, UP, Interval
from ameles.accounting.search import edge
from ameles.core.parameters import Exact, whole

MOST_POINTS = 2**13
GRID_DIGITS = 9
# From this variance on, the sum over the integers of exp(-k²/(2v)) exceeds sqrt(2 pi v) by
# less than a relative 1e-68 (Poisson summation), and it never falls below.
SMOOTH_VARIANCE = 8
NEGLIGIBLE_WEIGHT = Decimal("1e-60")


def discrete_gaussian_delta(
    *, variance: Exact, sensitivity: SupportsIndex, epsilon: Exact
) -> Fraction:
    """An upper bound on the delta of adding discrete Gaussian noise to one integer.

    Within 1e-9 of the truth, relatively, for standard deviations below 1000, and within
    about 1% for all others.
    """
    v, loss, shift = positive(variance, "variance"), amount(epsilon, "epsilon"), _shift(sensitivity)
    start = loss * v / shift - Fraction(shift, 2)
    first = math.floor(start) + 1  # where start is an integer, its own summand is zero
    stride = 1 + math.isqrt(math.ceil(64 * v)) // MOST_POINTS
    # A shift far beyond the noise makes nearly all of the law count: what lies more than 16
    # standard deviations down, a part of 1e-55, is added whole instead of being walked through.
    lowest = -(16 * math.isqrt(math.ceil(v)) + 16)
    total = _summed(v, shift, loss, first=max(first, lowest), stride=stride)
    if stride > 1:
        total = stride * (total + _highest(v, shift, start))
    if first < lowest:
        total = total + _beyond(1 - lowest, v, stride=1)
    return min(Fraction(1), (total / _normaliser(v)).up())


def discrete_gaussian_variance(
    *, epsilon: Exact, delta: Exact, sensitivity: SupportsIndex
) -> Fraction:
    """A variance of discrete Gaussian noise for which one integer is (epsilon, delta)-private.

    Walks down from the variance that zCDP proves, in steps of a 32nd, to the first that
    fails, then bisects on a grid of 9 digits: below the result the next grid point fails,
    above it all points of the walk pass, and the result itself was evaluated.
    """
    loss, target = positive(epsilon, "epsilon"), probability(delta, "delta")
    shift = _shift(sensitivity)

    def passes(variance: Fraction) -> bool:
        bound = discrete_gaussian_delta(variance=variance, sensitivity=shift, epsilon=loss)
        return bound <= target

    proven = gaussian_variance_for(epsilon=loss, delta=target, sensitivity=shift)
    grid = Interval.of(proven / 10 ** (GRID_DIGITS - 1)).up(digits=1)
    passing = math.ceil(proven / grid)
    while not passes(passing * grid):  # only where the bound of a wide law is the looser one
        passing += passing // 32
    failing = passing - passing // 32
    while passes(failing * grid):
        passing, failing = failing, failing - max(1, failing // 32)
    return grid * edge(lambda n: passes(n * grid), passing=passing, failing=failing)


def _summed(v: Fraction, shift: int, loss: Fraction, *, first: int, stride: int) -> Interval:
    """The sum of w(k) - exp(loss) w(k + shift) for w(k) = exp(-k²/(2v)), over-estimated.

    w(k + stride) = w(k) * ratio(k), and ratio(k + stride) = ratio(k) * exp(-stride²/v), so
    each step takes four multiplications.
    """
    bend = Interval.of(-Fraction(stride**2) / v).exp()
    bend_up, bend_down = bend.high, bend.low
    gain = Interval.of(-Fraction(first**2) / (2 * v)).exp().high
    gain_ratio = _ratio(first, stride, v).high
    other = first + shift
    cost = Interval.of(loss - Fraction(other**2) / (2 * v)).exp().low
    cost_ratio = _ratio(other, stride, v).low
    # What is left out is bounded below; a wide law is overstated by more than this anyway.
    negligible = Decimal("1e-20") if stride == 1 else Decimal("1e-12")
    total = Decimal(0)
    k = first
    while k <= 0 or gain > UP.multiply(total, negligible):
        total = UP.add(total, UP.subtract(gain, cost))
        gain, gain_ratio = UP.multiply(gain, gain_ratio), UP.multiply(gain_ratio, bend_up)
        cost, cost_ratio = DOWN.multiply(cost, cost_ratio), DOWN.multiply(cost_ratio, bend_down)
        k += stride
    return Interval(total, total) + _beyond(k, v, stride=stride)


def _beyond(k: int, v: Fraction, *, stride: int) -> Interval:
    """An upper bound on w(k) + w(k + stride) + ... for k > 0.

    (k + j stride)² >= k² + 2 k j stride, so the sum is below a geometric series.
    """
    first = Interval.of(-Fraction(k**2) / (2 * v)).exp()
    return first / -(Interval.of(-Fraction(k * stride) / v).exp_less_one())


def _ratio(k: int, stride: int, v: Fraction) -> Interval:
    """w(k + stride) / w(k)."""
    return Interval.of(-Fraction(2 * k * stride + stride**2) / (2 * v)).exp()


def _highest(v: Fraction, shift: int, start: Fraction) -> Interval:
    """An upper bound on h = w(x) (1 - exp(-(x - start) shift/v)) over x >= start.

    With y = x - start > 0: w(x) <= w(start) exp(-start y/v), the second factor is at most
    y shift/v, and y exp(-start y/v) is at most v / (e start).
    """
    if start <= 0:
        return Interval.of(1)
    slope = shift / start / Interval.of(1).exp()
    factor = slope if slope.high < 1 else Interval.of(1)
    return Interval.of(-(start**2) / (2 * v)).exp() * factor


def _normaliser(v: Fraction) -> Interval:
    """A lower bound on the sum of exp(-k²/(2v)) over the integers."""
    if v >= SMOOTH_VARIANCE:
        return (2 * v * PI).sqrt()
    total = Interval.of(1)
    for k in range(1, 60):  # leaving terms out keeps it a lower bound
        pair = 2 * Interval.of(-Fraction(k**2) / (2 * v)).exp()
        if pair.high < NEGLIGIBLE_WEIGHT:
            break
        total = total + pair
    return Interval(total.low, total.low)


def _shift(sensitivity: SupportsIndex) -> int:
    return whole(sensitivity, "sensitivity", low=1, high=2**40)
