"""Tails of weighted sums of coins with noise, from public numbers alone.

Theorem      S is a sum of n independent coins of any chances, m their mean.  For s >= n m + 1
             P(S >= s) is at most that of n coins of chance m (Hoeffding 1956, Thm 4), so at
             most Phi(-sqrt(2 n KL((s - 1) / n, m))) (Zubkov-Serov 2013).  KL(u, m) is at least
             (u - m)^2 / 2v with v the largest u (1 - u) in between.  So S - n m has smaller
             tails than 1 + max(N, 0), N normal of variance n v <= n / 4; and so has n m - S
Weights      for w_i max(N_i, 0), summed over i: signs are independent of sizes, and |w_1 N_1| +
             |w_2 N_2| >= y only if w_1 N_1 + w_2 N_2 >= y for one choice of signs.  So P(sum >= y)
             is at most the sum over sets s of the i of 2^(|s| - all) Phi(-y / d_s), d_s^2 the sum
             of (w_i d_i)^2 over the set
Noise        discrete Laplace Z of scale b: P(Z >= y) <= P(L >= y - 1/2) for all y, L continuous
             of the same scale, because 2 <= exp(1/2b) + exp(-1/2b).  For y >= 0 and r = d/b
             P(|N| + L >= y) = 2 Phi(-y/d) + exp(r^2/2 - y/b) (Phi(y/d - r) - Phi(-r))
                               - exp(r^2/2 + y/b) Phi(-y/d - r).
             Discrete Gaussian noise of variance v has at most exp(1/24v) times the tails of
             normal noise that is rounded to whole numbers (``gaussian.error``, b)
Rest         what else is random, R with E exp(h R) <= exp(h^2 rest / 2): the tails T above are
             log-concave, so ln T(y - R) is at most ln T(y - a) + (R - a) k, k = -(ln T)'(y - a);
             then P(.. + R >= y) <= T(y - a) exp(-a k + k^2 rest / 2), for any a

>>> round(CoinTails(coins=((1.0, 250_000.0),), scale=1.0).quantile(0.05, 2000.0), 1)
981.5
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

Tail: TypeAlias = Callable[[float], float]
ROOT = math.sqrt(2)
# From here on exp(x^2) erfc(x) is given by its series.
LARGE = 25.0
# Halvings of an interval in which a number, or the best a, is looked for.
HALVINGS, TRIED = 20, 12
# The slope of a logarithm is taken over this part of what it is needed for.
STEP, LEAST_STEP = 1e-3, 1e-7
# Smaller probabilities have no logarithm that can be trusted.
FAINTEST = 1e-250


@dataclass(frozen=True, slots=True, kw_only=True)
class CoinTails:
    """Coins, each as a weight and the variance n v; the noise on their sum; and the rest."""

    coins: tuple[tuple[float, float], ...]
    scale: float = 0.0  # of one discrete Laplace variable, if there is one
    normal: float = 0.0  # the variance of one discrete Gaussian variable, if there is one
    rest: float = 0.0

    def quantile(self, beta: float, high: float) -> float:
        """What the sum is further from its mean than, with probability at most ``beta``.

        It is at most ``high``, which is another such number.
        """
        return _quantile(self, beta, high)

    def beyond(self) -> Tail:
        """A bound on the probability that the sum, less its offset, is at least y > 0."""
        sets = list(self._sets())
        alone = max(0.0, 1 - math.fsum(factor for factor, _ in sets))
        # |N| + G >= y only if N + G >= y or -N + G >= y
        tails = [
            (2 * factor, _normal_tail(variance + self.normal))
            if self.normal
            else (factor, _both_tail(math.sqrt(variance), self.scale))
            for factor, variance in sets
        ]
        more = math.exp(1 / (24 * self.normal)) if self.normal else 1.0

        def beyond(y: float) -> float:
            found = alone * self._noise_alone(y) if alone else 0.0
            for factor, tail in tails:
                found += factor * self._with_rest(tail, y)
            return found * more

        return beyond

    def _noise_alone(self, y: float) -> float:
        """The noise and the rest, without coins; by Chernoff's bound if the noise is small."""
        if self.normal:
            plain = math.exp(-y * y / (2 * (self.normal + self.rest)))
            return min(plain, self._with_rest(_normal_tail(self.normal), y))
        if not self.rest:
            return _laplace_tail(self.scale)(y) if self.scale else 0.0
        h = min(y / self.rest, 0.9 / self.scale) if self.scale else y / self.rest
        plain = math.exp(h * (h * self.rest / 2 - y)) / (1 - (h * self.scale) ** 2)
        return min(plain, self._with_rest(_laplace_tail(self.scale), y)) if self.scale else plain

    def _sets(self) -> Iterator[tuple[float, float]]:
        """For each set of coins half its factor, and its variance."""
        squares = [weight * weight * variance for weight, variance in self.coins]
        for size in range(1, len(squares) + 1):
            for chosen in combinations(squares, size):
                yield 0.5 ** (1 + len(squares) - size), math.fsum(chosen)

    def _with_rest(self, tail: Tail, y: float) -> float:
        if not self.rest:
            return tail(y)
        # Where the slope is k, the best a is k times the rest; the slope falls as a rises.
        step, best = max(STEP * self.rest / y, LEAST_STEP * y), 1.0
        low, high = 0.0, 2 * y
        for _ in range(TRIED):
            a = (low + high) / 2
            here, behind = tail(y - a), tail(y - a + step)
            if behind < FAINTEST:
                low = a
                continue
            # the secant is above the logarithm outside the step, and this much higher inside
            slope = math.log(here / behind) / step
            exponent = slope * (slope * self.rest / 2 - a + step)
            best = min(best, here * math.exp(min(exponent, 700.0)))
            low, high = (a, high) if a < slope * self.rest else (low, a)
        return best


@lru_cache(maxsize=1024)  # a search for the best recipe asks again and again; all is public
def _quantile(sums: CoinTails, beta: float, high: float) -> float:
    if 0 < sums.normal < 1:  # where its factor is not close to 1: E exp(h G) <= exp(h^2 v / 2)
        fewer = replace(sums, normal=0.0, rest=sums.rest + sums.normal)
        return fewer.quantile(beta, high)
    noise = 0.5 if sums.scale or sums.normal else 0.0
    offset = math.fsum(abs(weight) for weight, _ in sums.coins) + noise
    low, top = 0.0, high - offset
    beyond = sums.beyond()
    if top <= 0 or beyond(top) > beta / 2:
        return high
    for _ in range(HALVINGS):
        middle = (low + top) / 2
        low, top = (middle, top) if beyond(middle) > beta / 2 else (low, middle)
    return top + offset


def _normal_tail(variance: float) -> Tail:
    root = math.sqrt(2 * variance)
    return lambda y: math.erfc(y / root) / 2


def _laplace_tail(scale: float) -> Tail:
    return lambda y: math.exp(-y / scale) / 2 if y > 0 else 1 - math.exp(y / scale) / 2


def _both_tail(deviation: float, scale: float) -> Tail:
    """P(|N| + L >= y)."""
    if not scale:
        return lambda y: math.erfc(y / deviation / ROOT) if y > 0 else 1.0
    ratio = deviation / scale
    start = _scaled(ratio / ROOT)

    def tail(y: float) -> float:
        if y <= 0:
            return 1 - math.exp(y / scale) * start / 2
        far = y / deviation
        near = math.exp(-far * far / 2)
        found = math.erfc(far / ROOT) - near * _scaled((far + ratio) / ROOT) / 2
        found -= math.exp(-y / scale) * start / 2
        if far < ratio:
            found += near * _scaled((ratio - far) / ROOT) / 2
        else:
            found += math.exp(ratio * (ratio / 2 - far)) * math.erfc((ratio - far) / ROOT) / 2
        return min(max(found, 0.0), 1.0)

    return tail


def _scaled(x: float) -> float:
    """exp(x^2) erfc(x) for x >= 0."""
    if x < LARGE:
        return math.exp(x * x) * math.erfc(x)
    inverse = 1 / (2 * x * x)
    return (1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse))) / (x * math.sqrt(math.pi))
