"""Tails of a sum of coins of two chances and a discrete Laplace variable, exactly.

Theorem      V = the sum of n - d coins of chance p, d coins of chance r, and Z of scale b.  For
             h > 0, exp(h k) P(V >= k) is summable over k, with transform exp(K(s)) / (1 - exp(-s))
             at s = h + i u, K the logarithm of E exp(s V).  So P(V >= k) is the mean of
             exp(K(s) - s k) / (1 - exp(-s)) over all u; the mean over N points is larger by
             the sum of exp(h j N) P(V >= k + j N) over j other than 0, which are positive
Error        relative 1e-6, above: h is where the integrand is largest, N is so large that the terms
             with j are that small, and points are left out where the integrand is
Intervals    V grows with d: if r > p, every P(V >= k) does.  So the d for which neither P(V >= v)
             nor P(V <= v) is below beta / 2 are an interval, and it covers the truth with
             probability 1 - beta at least, whatever the truth is (Clopper-Pearson 1934)
Margins      how far V may be from its mean, for the worst d: all of them are tried up to 1,024
             coins, and 65 beyond that, with one count to spare
Mixed        coins may have any chances between the two: then, of all with one mean, equal ones
             have the largest tails from one above the mean on (Hoeffding 1956), and d is what
             their mean says.  Where Z alone goes that far, the tail is taken to be 1

>>> law = CoinSum(count=100, chances=(0.5, 0.8), scale=0.0)
>>> round(float(law.at_least(np.array([0]), np.array([60]))[0]), 6)  # 100 fair coins
0.028444
>>> law.interval(60, 0.05)
(0, 64)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.noise.arrays import IntArray

Floats: TypeAlias = NDArray[np.float64]
Complex: TypeAlias = NDArray[np.complex128]
# The logarithm of what the terms with j, and points that are left out, may add.
SMALL = 24.0
# Halvings of an interval in which a number is looked for.
HALVINGS = 30
# Up to so many users all numbers of them are searched for the worst, beyond that so many.
ALL, SOME = 1 << 10, 65
# Numbers that are worked on together, and points of one law.
TOGETHER, POINTS = 1 << 20, 1 << 12
# How many numbers are tried at a time.
WAYS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class CoinSum:
    """``count`` coins, each of one of two chances, the second larger; no noise if the scale is 0.

    ``mixed``: of any chance between them, so that ``second`` is the number that has the same mean.
    """

    count: int
    chances: tuple[float, float]
    scale: float
    mixed: bool = False

    def mean(self, second: IntArray) -> Floats:
        """The mean, if so many coins have the second chance."""
        low, high = self.chances
        return np.asarray(self.count * low + second * (high - low), dtype=np.float64)

    def at_least(self, second: IntArray, k: IntArray) -> Floats:
        """P(V >= k) for each number of coins with the second chance, and its k."""
        return self._at_least(np.asarray(second), np.asarray(k), self.chances)

    def at_most(self, second: IntArray, k: IntArray) -> Floats:
        """P(V <= k): the coins the other way round."""
        low, high = self.chances
        return self._at_least(np.asarray(second), self.count - np.asarray(k), (1 - low, 1 - high))

    def interval(self, seen: int, beta: float) -> tuple[int, int]:
        """How many coins may have the second chance, if V was seen to be this."""
        return _interval(self, seen, beta)

    def margin(self, beta: float) -> float:
        """How far V may be from its mean, whatever the number of coins with the second chance."""
        return _margin(self, beta)

    def _at_least(self, second: IntArray, k: IntArray, chances: tuple[float, float]) -> Floats:
        law = self._law(second, chances)
        above = k > law.mean
        tails = np.ones(len(k))
        if above.any():
            tails[above] = law.only(above).upper(k[above])
        if self.mixed:
            tails[above] += law.only(above).far_noise(k[above])
            return np.minimum(tails, 1.0)
        # One minus the other tail, where that is the small one; else at most 1.
        other = self._law(second, (1 - chances[0], 1 - chances[1]))
        below = self.count - k + 1
        rest = ~above & (below > other.mean)
        if rest.any():
            tails[rest] = 1 - other.only(rest).upper(below[rest])
        return tails

    def _law(self, second: IntArray, chances: tuple[float, float]) -> _Tilted:
        low, high = (np.full(len(second), chance) for chance in chances)
        if self.mixed:
            low, second = low + (high - low) * (second / self.count), np.zeros_like(second)
        return _Tilted(self.count - second, second, low, high, self.scale)


class _Tilted:
    """Some laws, for tails above their means."""

    def __init__(
        self, first: IntArray, second: IntArray, low: Floats, high: Floats, scale: float
    ) -> None:
        self._rows = first, second, low, high
        self._scale = scale

    def only(self, rows: NDArray[np.bool_] | slice) -> _Tilted:
        first, second, low, high = self._rows
        return _Tilted(first[rows], second[rows], low[rows], high[rows], self._scale)

    @property
    def mean(self) -> Floats:
        first, second, low, high = self._rows
        mean: Floats = first * low + second * high
        return mean

    def far_noise(self, k: IntArray) -> Floats:
        """P(Z > k - mean - 1), at least."""
        if not self._scale:
            return np.zeros(len(k))
        far = np.maximum(np.ceil(k - self.mean - 1), 0.0)
        return np.exp(-far / self._scale) / (1 + math.exp(-1 / self._scale))

    def upper(self, k: IntArray) -> Floats:
        """P(V >= k)."""
        size = TOGETHER // POINTS
        rows = [slice(at, at + size) for at in range(0, len(k), size)]
        return np.concatenate([self.only(some)._upper(k[some]) for some in rows])

    def _upper(self, k: IntArray) -> Floats:
        h = self._crossing(k)
        level = self._logarithm(h.astype(np.complex128)[:, None])[:, 0].real - h * k
        spread = np.sqrt(self._slopes(h)[1])
        # so many points that the terms with j are small, below 0 and above: P(V >= k) falls at
        # least like a power of exp(-1 / b)
        period = np.maximum((SMALL - level) / h, 8.0)
        if self._scale:
            period = np.maximum(period, SMALL / (1 / self._scale - h))
        step = 2 * math.pi / np.ceil(period)
        reach = np.minimum(math.pi, math.sqrt(2 * SMALL) / np.maximum(spread, 1e-9))
        points = int(np.ceil(reach / step).max()) + 1
        tails = np.zeros(len(k))
        for start in range(0, points, POINTS):
            at = np.arange(start, min(points, start + POINTS))
            u = at * step[:, None]
            s = h[:, None] + 1j * u
            terms = np.exp(self._logarithm(s) - s * k[:, None])
            terms /= 1 - np.exp(-s)
            # each point stands for itself and its mirror image; the first, and one at pi, for
            # itself alone
            half = step[:, None] / 4
            weight = np.where((at == 0) | (abs(u - math.pi) < half), 1.0, 2.0)
            weight[u > math.pi + half] = 0.0
            tails += (terms.real * weight).sum(axis=1) * step / (2 * math.pi)
        return np.clip(tails, 0.0, 1.0)

    def _crossing(self, k: IntArray) -> Floats:
        """Where the mean of the tilted law is k, but neither close to 0 nor to the pole at 1 / b:
        every h is right, and there many points would be needed."""
        low = 0.5 / np.sqrt(self._slopes(np.zeros(len(k)))[1] + self._scale**2 + 1)
        high = np.full(len(k), min(0.8 / self._scale, 40.0) if self._scale else 40.0)
        low = np.minimum(low, high)
        for _ in range(HALVINGS):
            middle = np.sqrt(low * high)
            short = self._slopes(middle)[0] < k
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        crossing: Floats = low
        return crossing

    def _slopes(self, h: Floats) -> tuple[Floats, Floats]:
        """The mean of the tilted law, and the variance of its coins."""
        first, second, low, high = self._rows
        mean, variance = np.zeros(len(h)), np.zeros(len(h))
        for count, chance in ((first, low), (second, high)):
            tilted: Floats = chance / (chance + (1 - chance) * np.exp(-h))
            mean += count * tilted
            variance += count * tilted * (1 - tilted)
        if self._scale:
            edge = math.sinh(0.5 / self._scale) ** 2
            mean += np.sinh(h) / 2 / (edge - np.sinh(h / 2) ** 2)
        return mean, variance

    def _logarithm(self, s: Complex) -> Complex:
        first, second, low, high = self._rows
        grown = np.expm1(s)
        logarithm = np.zeros_like(s)
        logarithm += np.log1p(low[:, None] * grown) * first[:, None]
        logarithm += np.log1p(high[:, None] * grown) * second[:, None]
        if self._scale:
            logarithm -= np.log1p(-((np.sinh(s / 2) / math.sinh(0.5 / self._scale)) ** 2))
        return logarithm


@lru_cache(maxsize=1024)
def _interval(law: CoinSum, seen: int, beta: float) -> tuple[int, int]:
    # P(V >= seen) rises with the number of second chances, P(V <= seen) falls
    first = _turning(law, lambda at: law.at_least(at, np.full_like(at, seen)) > beta / 2)
    last = _turning(law, lambda at: law.at_most(at, np.full_like(at, seen)) <= beta / 2) - 1
    return min(first, law.count), max(last, 0)


def _turning(law: CoinSum, test: Callable[[IntArray], NDArray[np.bool_]]) -> int:
    """The first number of second chances that passes the test, as all after it do, or one more than
    there are."""
    low, high = -1, law.count + 1
    while high - low > 1:
        places = np.unique(np.linspace(low + 1, high - 1, min(WAYS, high - low - 1)).astype(int))
        passed = np.flatnonzero(test(places))
        if len(passed):
            high = int(places[passed[0]])
            low = int(places[passed[0] - 1]) if passed[0] else low
        else:
            low = int(places[-1])
    return high


@lru_cache(maxsize=256)
def _margin(law: CoinSum, beta: float) -> float:
    places = np.unique(np.linspace(0, law.count, min(law.count + 1, SOME)).astype(np.int64))
    noise = 0.5 / math.sinh(0.5 / law.scale) ** 2 if law.scale else 0.0
    low, high = 0.0, math.sqrt(law.count / 4 + noise)
    while _outside(law, places, high) > beta:
        low, high = high, 2 * high
    while high - low > max(0.02, 1e-3 * high):
        middle = (low + high) / 2
        low, high = (middle, high) if _outside(law, places, middle) > beta else (low, middle)
    if law.count > ALL:
        # Between the numbers that were searched, the lattice lies differently around the mean.
        return high + 1
    while _outside(law, np.arange(law.count + 1), high) > beta:
        high += max(0.02, 2e-3 * high)
    return high


def _outside(law: CoinSum, places: IntArray, margin: float) -> float:
    """The largest probability, for these numbers of second chances, of being further off."""
    mean = law.mean(places)
    above = law.at_least(places, np.floor(mean + margin).astype(np.int64) + 1)
    below = law.at_most(places, np.ceil(mean - margin).astype(np.int64) - 1)
    return float((above + below).max())
