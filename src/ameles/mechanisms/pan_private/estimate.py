"""Estimates from a table of noisy entries: the value, its standard error, its interval.

Theorem      a sum of independent terms with ranges r_i, and of discrete Laplace variables Z_j
             with weights w_j, is within m of its mean except with probability beta, where
               m = min over h > 0 of (sum r_i^2 h^2 / 8 + sum K(w_j h) + ln(2 / beta)) / h
             (Hoeffding's lemma and Chernoff's bound), K(h) = ln E exp(h Z) =
             -ln(1 - (sinh(h / 2) / sinh(1 / 2b))^2) for scale b
Coins        a sum of coins has smaller tails than that, close to those of a normal variable: see
             ``coin_tails``.  The theorem's interval is 1.4 times as wide

The standard error is an upper bound over all streams, so it depends on public numbers alone.

>>> error = EstimateError(unit=0.01, variance=25.0, spread=100.0, weights=(1.0,), scale=Fraction(2))
>>> round(error.std(1), 4), round(error.bound(1, 0.05), 4)
(0.0573, 0.1669)
>>> round(replace(error, coins=((1.0, 25.0),)).bound(1, 0.05), 4)
0.1286
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from ameles.core.error import checks_step
from ameles.core.parameters import refuse
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.pan_private.coin_tails import CoinTails

# The part of beta that is left to sums of coins which are very far from their mean.
RARE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A released statistic with its interval.

    The noise has mean zero, so ``value`` may be impossible, such as a negative fraction.  The
    interval from ``low`` to ``high`` has possible values only, and covers the truth with
    probability ``confidence``.

    >>> found = Estimate(value=-0.01, standard_error=0.02, low=0.0, high=0.03, confidence=0.95)
    >>> found.low, found.high
    (0.0, 0.03)
    """

    value: float
    standard_error: float
    low: float
    high: float
    confidence: float

    @property
    def complement(self) -> Estimate:
        """For a fraction: the estimate for all other users."""
        return Estimate(
            value=1 - self.value,
            standard_error=self.standard_error,
            low=1 - self.high,
            high=1 - self.low,
            confidence=self.confidence,
        )


def check_beta(beta: object) -> None:
    """Refuses a number that is not a probability."""
    if not isinstance(beta, float) or not 0 < beta < 1:
        raise refuse("beta", "a probability above 0 and below 1, such as 0.05", beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateError:
    """The error of ``unit`` times (a sum over the table plus weighted Laplace noise)."""

    unit: float
    variance: float  # of the sum over the table, at most
    spread: float  # the squared ranges of its independent terms, summed
    weights: tuple[float, ...]  # of the output's Laplace variables
    scale: Fraction  # theirs
    # The sums of coins in the table's, each with its weight and the most variance; and the rest of
    # it, R with E exp(h R) <= exp(h^2 rest / 2).  No coins: nothing more than ranges is known.
    coins: tuple[tuple[float, float], ...] = ()
    rest: float = 0.0

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation, at most, of any release."""
        noise = laplace_sum.std(1, self.scale) ** 2 * math.fsum(w * w for w in self.weights)
        return self.unit * math.sqrt(self.variance + noise)

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """One release is this close to the truth with probability at least 1 - beta."""
        return max(self.margins(beta))

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """This many releases at once are this close."""
        return self.bound(1, beta / steps)

    def margins(self, beta: float) -> tuple[float, float]:
        """How far below and above a release the truth may be, except with probability beta."""
        check_beta(beta)
        margin = self.unit * _margin(self, beta)
        return margin, margin

    def tails(self, beta: float) -> tuple[CoinTails, float]:
        """The tails of the sum, and for how much of beta they hold."""
        return CoinTails(coins=self.coins, scale=float(self.scale), rest=self.rest), beta

    def estimate(self, value: float, beta: float, *, top: float = 1.0) -> Estimate:
        """The estimate with its interval, cut to what is possible: 0 to ``top``."""
        below, above = self.margins(beta)
        return Estimate(
            value=value,
            standard_error=self.std(1),
            low=min(max(value - below, 0.0), top),
            high=min(max(value + above, 0.0), top),
            confidence=1 - beta,
        )

    def exponent(self, h: float) -> float:
        """The logarithm of the moment generating function of the table's sum, at most."""
        return self.spread * h * h / 8


@lru_cache(maxsize=256)
def _margin(error: EstimateError, beta: float) -> float:
    """How far the sum may be from its mean; what is remembered is public."""
    high = _deviation(error, math.log(2 / beta))
    if not error.coins or error.weights != (1.0,):
        return high
    tails, allowed = error.tails(beta)
    return tails.quantile(allowed, high)


def _deviation(error: EstimateError, level: float) -> float:
    """The theorem's m, in units of the sum."""
    edge = math.sinh(1 / (2 * float(error.scale)))
    heaviest = max(abs(w) for w in error.weights)

    def reach(h: float) -> float:
        noise = math.fsum(-math.log1p(-((math.sinh(w * h / 2) / edge) ** 2)) for w in error.weights)
        return (error.exponent(h) + noise + level) / h

    # The numerator is convex, so the quotient falls and then rises: narrow down on log h.
    # Any h gives a bound that holds, so that the best one need not be exact.
    high = math.log((1 - 1e-9) / (heaviest * float(error.scale)))
    low = high - 60.0
    for _ in range(50):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if reach(math.exp(left)) < reach(math.exp(right)) else (left, high)
    return reach(math.exp((low + high) / 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceError(EstimateError):
    """Where each of ``count`` terms is a coin of one of the two ``chances``: sharper than
    ranges, if both are small."""

    count: int
    chances: tuple[float, float]

    def fraction(self, noisy: int) -> float:
        """The fraction of terms with the second chance, from their noisy sum."""
        return (noisy - self.chances[0] * self.count) * self.unit

    def exponent(self, h: float) -> float:
        return self.rest * h * h / 2 + self.count * max(
            _coin(sign * h, chance) for sign in (1, -1) for chance in self.chances
        )

    def tails(self, beta: float) -> tuple[CoinTails, float]:
        """Those of coins with chances near the two, unless the sum is so far off that this happens
        with a thousandth of beta."""
        far = NormalDist().inv_cdf(1 - RARE * beta / 2) * math.sqrt(self.count) / 2
        reach = (1 + far) / self.count
        nearest = min(max(0.5, self.chances[0] - reach), self.chances[1] + reach)
        coins = ((1.0, self.count * nearest * (1 - nearest)),)
        return replace(EstimateError.tails(self, beta)[0], coins=coins), beta * (1 - RARE)


def _coin(h: float, chance: float) -> float:
    """The logarithm of E exp(h (X - chance)) for a coin X."""
    if h > 500:  # exp would overflow; ln(1 - p + p exp(h)) <= h
        return h * (1 - chance)
    return math.log1p(chance * math.expm1(h)) - h * chance
