"""A second opinion on every law: exact to 80 digits, without the code under test.

Decimals are in the context ``DIGITS``, which conftest sets for every test.

``doubt`` is the one judge of a sample.  The tests of each law show it samples that are
nearly right, which it must reject.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
from scipy import stats

from ameles.noise.arrays import IntArray

# Far smaller exponents than any here would still not underflow.
DIGITS = Context(prec=80, rounding=ROUND_HALF_EVEN, Emin=-(10**15), Emax=10**15)

# A p-value below this is a verdict: the rate of false alarms of each assertion.
ALARM = 1e-6


def decimal(number: Fraction | int) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def exp(number: Fraction | int) -> Decimal:
    return decimal(number).exp()


def laplace_cdf(scale: Fraction) -> Callable[[int], float]:
    """P(X <= k), from the sum of the geometric series."""

    def at(k: int) -> float:
        a = exp(-1 / scale)
        if k < 0:
            return float(exp(Fraction(k) / scale) / (1 + a))
        return 1 - at(-k - 1)

    return at


def gaussian_cdf(variance: Fraction) -> Callable[[int], float]:
    """P(X <= k): summed up where it is narrow, else the normal law's at k + 1/2.

    By Euler and Maclaurin the two differ by less than 1 / (24 variance), relatively: for a
    variance of 10**6 and 10**6 draws, nothing that a sample could show.
    """
    if variance >= 10**6:
        deviation = float(variance) ** 0.5
        return lambda k: float(stats.norm.cdf((k + 0.5) / deviation))
    last = int(20 * float(variance) ** 0.5) + 5
    weights = [exp(-Fraction(k * k) / (2 * variance)) for k in range(last + 1)]
    total = weights[0] + 2 * sum(weights[1:])

    @cache
    def at(k: int) -> float:
        if k >= 0:
            return 1 - at(-k - 1)
        return float(sum(weights[-k:], Decimal(0)) / total)

    return at


def cells(cdf: Callable[[int], float], scale: float, draws: int) -> tuple[list[int], list[float]]:
    """Edges of cells in which at least 50 draws are expected, and the probability of each.

    Narrow laws have a cell for each integer, wide ones 32 cells and finer ones in the tails.
    """
    if scale < 40:
        reach = int(20 * scale) + 3
        candidates = list(range(-reach, reach))
    else:
        tails = [10.0**-k for k in (5, 4, 3, 2)]
        quantiles = sorted([*tails, *(i / 32 for i in range(1, 32)), *(1 - q for q in tails)])
        candidates = [_quantile(cdf, q, scale) for q in quantiles]
    edges: list[int] = []
    below = 0.0
    for edge in candidates:
        at = cdf(edge)
        if min(at - below, 1 - at) * draws >= 50:
            edges.append(edge)
            below = at
    bounds = [0.0, *(cdf(edge) for edge in edges), 1.0]
    return edges, [high - low for low, high in pairwise(bounds)]


def _quantile(cdf: Callable[[int], float], q: float, scale: float) -> int:
    low, high = -int(40 * scale), int(40 * scale)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cdf(middle) < q else (low, middle)
    return high


def doubt(sample: IntArray, edges: Sequence[int], chances: Sequence[float]) -> float:
    """The chi-square p-value of a sample whose cells end at (and include) the edges."""
    place = np.searchsorted(np.array(edges, dtype=np.int64), sample, side="left")
    seen = np.bincount(place, minlength=len(chances))
    assert len(chances) > 1, "one cell holds every sample"
    return float(stats.chisquare(seen, np.array(chances) * sample.size).pvalue)
