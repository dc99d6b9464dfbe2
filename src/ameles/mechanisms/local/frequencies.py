"""Counts of categories from the reports that support them, with intervals that hold.

Theorem      S reports of n support a category; each is a coin of chance p (the user's own category)
             or q (any other), so (S - n q) / (p - q) is unbiased for the number N of its users
Variance     (N p (1 - p) + (n - N) q (1 - q)) / (p - q)^2, exactly
Interval     Let m be the mean chance.  Tails of S are at most those of n coins of chance m, for
             S <= n m - 1 and S >= n m + 1 (Hoeffding 1956, Thm 4), and those are at most
               P(S <= s) <= Phi(-sqrt(2 n KL((s + 1) / n, m)))
             (Zubkov-Serov 2013).  Solved for m at s, and for N: both hold for every n
Population   if the users are drawn from a population, S is binomial, and the same interval divided
             by n covers the population's share

>>> error = FrequencyError(0.75, 0.25, 2)
>>> found = error.estimate(np.array([600, 400]), 1000, beta=0.05)
>>> found.counts, found.standard_errors.round(2)
(array([700., 300.]), array([27.39, 27.39]))
>>> found.low.round(), found.high.round()
(array([637., 238.]), array([762., 363.]))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import check_beta, checks_step
from ameles.noise.arrays import IntArray

FloatArray: TypeAlias = NDArray[np.float64]

HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequencies:
    """Estimated counts of all categories, from ``reports`` reports.

    The counts are unbiased, so some may be negative.  The intervals from ``low`` to ``high`` are
    cut to possible counts.  Each covers the truth with probability ``confidence``, on its own.

    >>> from ameles.mechanisms.local import RandomizedResponse
    >>> found = RandomizedResponse(categories=2, odds=3).estimate(np.array([1, 1, 1, 0]))
    >>> isinstance(found, Frequencies), found.counts, found.shares
    (True, array([0., 4.]), array([0., 1.]))
    """

    reports: int
    counts: FloatArray
    standard_errors: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float

    @property
    def shares(self) -> FloatArray:
        """The counts as shares of all reports."""
        return self.counts / max(1, self.reports)


@dataclass(frozen=True, slots=True)
class FrequencyError:
    """The error of a category's estimated count; steps are reports.

    ``graded``: users may count in part, so that chances may be anywhere from q to p.
    """

    p: float
    q: float
    entries: int = 1
    graded: bool = False

    @checks_step
    def std(self, t: int) -> float:
        """The largest standard deviation after ``t`` reports of listed values."""
        chances = [self.p, self.q]
        if self.graded:
            chances.append(min(max(0.5, self.q), self.p))
        return math.sqrt(t * max(u * (1 - u) for u in chances)) / (self.p - self.q)

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """One category's count is this close with probability at least 1 - beta.

        KL(m + d, m) is at least d^2 / 2v, where v is the largest u (1 - u) from m to m + d.
        """
        return float(self.bounds(np.array([float(t)]), beta)[0])

    def bounds(self, steps: IntArray | FloatArray, beta: float) -> FloatArray:
        """``bound`` after each of these numbers of reports; zero after no reports."""
        z = NormalDist().inv_cdf(1 - beta / 2)
        t = np.maximum(steps, 1.0)
        reach = (1 + z * np.sqrt(t) / 2) / t  # v is at most 1/4: so far and no further
        nearest = np.clip(0.5, self.q - reach, self.p + reach)
        wide = (1 + z * np.sqrt(t * nearest * (1 - nearest))) / (self.p - self.q)
        return np.where(steps > 0, wide, 0.0)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The counts after each of the first ``steps`` reports are all this close, with probability
        at least 1 - beta."""
        # with 1/4 for v, which grows with the steps for sure
        z = NormalDist().inv_cdf(1 - beta / steps / 2)
        return (1 + z * math.sqrt(steps) / 2) / (self.p - self.q)

    def bound_entries(self, t: int, beta: float) -> float:
        """All categories' counts are this close together with probability at least 1 - beta."""
        return self.bound(t, beta / self.entries)

    def estimate(self, support: IntArray, reports: int, *, beta: float = 0.05) -> Frequencies:
        """The counts of all categories, from how many reports support each."""
        check_beta(beta)
        gap = self.p - self.q
        counts: FloatArray = (support.astype(np.float64) - reports * self.q) / gap
        own = np.clip(counts, 0, reports)
        variance = own * (self.p * (1 - self.p)) + (reports - own) * (self.q * (1 - self.q))
        if self.graded:  # n m (1 - m) is the most for chances of mean m
            mean = self.q + own / max(1, reports) * gap
            variance = reports * mean * (1 - mean)
        low, high = chance_interval(support, reports, beta)
        return Frequencies(
            reports=reports,
            counts=counts,
            standard_errors=np.sqrt(variance) / gap,
            low=np.clip(reports * (low - self.q) / gap, 0, reports) + 0.0,  # no -0.0
            high=np.clip(reports * (high - self.q) / gap, 0, reports),
            confidence=1 - beta,
        )


def chance_interval(hits: IntArray, trials: int, beta: float) -> tuple[FloatArray, FloatArray]:
    """For each number of hits, an interval that contains the mean chance with probability 1 - beta.

    >>> low, high = chance_interval(np.array([0, 50, 100]), 100, 0.05)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.393, 0.964]), array([0.036, 0.607, 1.   ]))
    """
    if not trials:
        nothing = np.zeros(len(hits))
        return nothing, nothing + 1
    return 1 - _upper(trials - hits, trials, beta), _upper(hits, trials, beta)


def _upper(hits: IntArray, trials: int, beta: float) -> FloatArray:
    """The largest mean under which so few hits still have probability beta / 2."""
    z = NormalDist().inv_cdf(1 - beta / 2)
    level = z * z / (2 * trials)
    seen = np.minimum((hits + 1) / trials, 1.0)
    low, high = seen.copy(), np.ones(len(hits))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        beyond = _divergence(seen, middle) > level
        high = np.where(beyond, middle, high)
        low = np.where(beyond, low, middle)
    # no trial hit: exactly (1 - m)^n; the inequality above is for at least one
    none = -math.expm1(math.log(beta / 2) / trials)
    return np.where(hits == 0, np.minimum(none, high), high)


def _divergence(s: FloatArray, m: FloatArray) -> FloatArray:
    """KL(s, m) of two coins, for m >= s; infinite where m is 1 and s is not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(s > 0, s * np.log(s / m), 0.0)
        zeros = np.where(s < 1, (1 - s) * np.log((1 - s) / (1 - m)), 0.0)
    return ones + zeros
