"""The law of a sum of independent discrete Laplace variables, as exact tails.

Theorem      with q = exp(-1/b), p = 1 - q, a sum Y of k such variables has, for m >= 1,
             P(Y >= m) = sum over r = 1..k of w[k-r] P(N_r >= m), where N_r is negative binomial
             and w[j] is the coefficient of s^j in ((1 + u s / (1 - v s)) / (1 + q))^k,
             u = q^2 / (1 + q), v = 1 / (1 + q)  (partial fractions of the generating function)
Error        every term is positive, so nothing cancels: tails are good to relative 1e-12

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

from ameles.core.parameters import refuse

# Up to here the finite formula; beyond, the Fourier sum, whose terms then die out quickly.
MOST_TERMS = 128
# The Fourier sum is good to an absolute 1e-14; below this only the Chernoff bound is sharp.
FAINTEST = 1e-12


def std(terms: int, scale: Fraction) -> float:
    """The standard deviation of a sum of ``terms`` discrete Laplace variables."""
    # 2 q / (1 - q)^2 = 1 / (2 sinh(1 / 2b)^2)
    return math.sqrt(terms / 2) / math.sinh(1 / (2 * float(scale)))


def tail(terms: int, scale: Fraction, m: int) -> float:
    """P(|Y| > m) for m >= 0; never below the truth by more than a relative 1e-9."""
    if terms <= MOST_TERMS:
        return min(1.0, 2 * _upper_tail(terms, float(scale), m + 1))
    fourier = _fourier_tail(terms, float(scale), m)
    return fourier if fourier > FAINTEST else _chernoff(terms, float(scale), m + 1)


def quantile(terms: int, scale: Fraction, beta: float) -> int:
    """The smallest integer m with P(|Y| > m) <= beta."""
    if not 0 < beta < 1:
        raise refuse("beta", "a probability above 0 and below 1", beta)
    return _quantile(terms, scale, beta)


@lru_cache(maxsize=4096)
def _quantile(terms: int, scale: Fraction, beta: float) -> int:
    low, high = -1, 1 + int(std(terms, scale))
    while tail(terms, scale, high) > beta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(terms, scale, middle) > beta else (low, middle)
    return high


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
    u, v = q * q / (1 + q), 1 / (1 + q)
    first = v**terms
    rest = (
        first
        * math.fsum(
            math.comb(terms, i) * math.comb(j - 1, i - 1) * u**i * v ** (j - i)
            for i in range(1, j + 1)
        )
        for j in range(1, terms)
    )
    return [first, *rest]


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


def _fourier_tail(terms: int, scale: float, m: int) -> float:
    """P(|Y| > m) from the characteristic function, summed over a period that no Y leaves."""
    deviation = math.sqrt(terms / 2) / math.sinh(1 / (2 * scale))
    period = m + 1 + int(12 * deviation + 40 * scale)
    steep = (1 / math.sinh(1 / (2 * scale))) ** 2
    inside = [(2 * m + 1) / period]
    for n in range(1, period // 2 + 1):
        angle = math.pi * n / period
        weight = math.exp(-terms * math.log1p(steep * math.sin(angle) ** 2))
        if weight < 1e-20:
            break
        inside.append(2 / period * weight * math.sin((2 * m + 1) * angle) / math.sin(angle))
    return max(0.0, 1 - math.fsum(inside))


def _chernoff(terms: int, scale: float, m: int) -> float:
    """An upper bound on P(|Y| >= m): the moment generating function at its best point."""
    edge = math.sinh(1 / (2 * scale))

    def logarithm(h: float) -> float:
        return -terms * math.log1p(-((math.sinh(h / 2) / edge) ** 2)) - h * m

    low, high = 0.0, 1 / scale
    for _ in range(200):  # the logarithm is convex: narrow down to its minimum
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if logarithm(left) < logarithm(right) else (left, high)
    return min(1.0, 2 * math.exp(logarithm((low + high) / 2)))
