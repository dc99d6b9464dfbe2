"""The law of a sum of independent discrete Laplace variables, as exact tails.

Theorem      with q = exp(-1/b), p = 1 - q, a sum Y of k such variables has, for m >= 1,
             P(Y >= m) = sum over r = 1..k of w[k-r] P(N_r >= m), where N_r is negative binomial
             and w[j] is the coefficient of s^j in ((1 + u s / (1 - v s)) / (1 + q))^k,
             u = q^2 / (1 + q), v = 1 / (1 + q)  (partial fractions of the generating function)
Error        every term is positive, so nothing cancels: tails are good to relative 1e-12
             up to 128 terms; beyond, ``contour`` gives them to relative 1e-9

The source texts bound these tails, some of them wrongly (catalogue 13).  For continuous
Laplace variables the tail is ``continuous_tail``; the discrete one tends to it as b grows.

>>> round(tail(1, Fraction(10), 30), 4)  # 2 q^31 / (1 + q)
0.0473
>>> round(continuous_tail(5, 6.0), 7)
0.0613878
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ameles.core.parameters import refuse
from ameles.mechanisms.laplace.contour import Sums
from ameles.mechanisms.laplace.saddle_path import FloatArray
from ameles.noise.arrays import IntArray

# Up to here the finite formula; beyond, an integral in the complex plane.
MOST_TERMS = 128
# The integral is accurate to a relative 1e-11 for more terms than that.
GUARD = 1e-9


def std(terms: int, scale: Fraction) -> float:
    """The standard deviation of a sum of ``terms`` discrete Laplace variables."""
    # 2 q / (1 - q)^2 = 1 / (2 sinh(1 / 2b)^2)
    return math.sqrt(terms / 2) / math.sinh(1 / (2 * float(scale)))


def tail(terms: int, scale: Fraction, m: int) -> float:
    """P(|Y| > m) for m >= 0; never below the truth by more than a relative 1e-9."""
    if terms <= MOST_TERMS:
        return min(1.0, 2 * _upper_tail(terms, float(scale), m + 1))
    tails = _many(np.array([terms]), scale).tails(np.array([m + 0.5]))
    return float(tails[0])


def quantile(terms: int, scale: Fraction, beta: float) -> int:
    """The smallest integer m with P(|Y| > m) <= beta; for many terms, beta less 1e-9 of it."""
    return _quantile(terms, scale, probability(beta))


def quantiles(terms: IntArray, scale: Fraction, beta: float) -> IntArray:
    """The quantile for each number of terms."""
    different, places = np.unique(terms, return_inverse=True)
    few = int(np.searchsorted(different, MOST_TERMS, side="right"))
    numbers = np.empty(len(different), dtype=np.int64)
    numbers[:few] = [quantile(int(count), scale, beta) for count in different[:few]]
    if few < len(different):
        numbers[few:] = _many_quantiles(different[few:], scale, probability(beta))
    return numbers[places]


def probability(beta: float) -> float:
    """Refuses a number that is not above 0 and below 1."""
    if not 0 < beta < 1:
        raise refuse("beta", "a probability above 0 and below 1", beta)
    return beta


@lru_cache(maxsize=4096)
def _quantile(terms: int, scale: Fraction, beta: float) -> int:
    if terms > MOST_TERMS:
        return int(_many_quantiles(np.array([terms]), scale, beta)[0])
    low, high = -1, 1 + int(std(terms, scale))
    while tail(terms, scale, high) > beta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(terms, scale, middle) > beta else (low, middle)
    return high


def width(scale: Fraction) -> float:
    """The width of the continuous variable that a discrete one corresponds to: its deviation / sqrt
    2."""
    return 0.5 / math.sinh(1 / (2 * float(scale)))


def _many(terms: IntArray, scale: Fraction) -> Sums:
    widths = np.full((len(terms), 1), width(scale))
    return Sums(widths, terms[:, None].astype(np.float64), lattice=True)


def _many_quantiles(terms: IntArray, scale: Fraction, beta: float) -> FloatArray:
    return np.ceil(_many(terms, scale).quantiles(beta, GUARD) - 0.5)


def continuous_tail(terms: int, y: float) -> float:
    """P(|Y| > y b) for a sum of continuous Laplace variables of scale b."""
    k = terms
    total = 0.0
    poisson = 1.0  # the sum of y^l / l! up to l = m
    power = 1.0
    for m in range(k):
        if m:
            power *= y / m
            poisson += power
        j = k - 1 - m
        total += poisson * math.comb(k - 1 + j, j) * 2.0 ** (1 - k - j)
    return math.exp(-y) * total


@lru_cache(maxsize=256)
def _coefficients(terms: int, q: float) -> list[float]:
    """w[0..k-1] of the module's theorem."""
    # f'/f = k u / ((1 + (u - v) s) (1 - v s)), from the lowest coefficient on
    u, v = q * q / (1 + q), 1 / (1 + q)
    coefficients, before = [v**terms], 0.0
    for j in range(terms - 1):
        here = coefficients[j]
        coefficients.append(((terms * u + (2 * v - u) * j) * here + (u - v) * v * before) / (j + 1))
        before = j * here
    return coefficients


def _upper_tail(terms: int, scale: float, m: int) -> float:
    """P(Y >= m) for m >= 1."""
    p = -math.expm1(-1 / scale)
    weights = _coefficients(terms, math.exp(-1 / scale))
    total, reached, term = 0.0, 0.0, math.exp(-m / scale)
    for r in range(1, terms + 1):
        reached += term  # P(N_r >= m): fewer than r successes before the m-th failure
        total += weights[terms - r] * reached
        term *= p * (m - 1 + r) / r
    return total
