"""Randomized response: the truth with high probability, any other category with low.

Theorem      Warner 1965, Dwork-Roth 2014, 12.1 (catalogue 31): with odds r = a / b a user of k
             categories reports the truth with probability r / (r + k - 1) and each other category
             with 1 / (r + k - 1); the largest ratio is r.  With k = 2 and odds 3 it is the two
             coins of the slides: truth with 3/4, loss ln 3
Neighbours   one user's value is replaced
Noise        one uniform draw below a + b (k - 1)
Error        variance per user of about (r + k - 2) / (r - 1)^2: it grows with k
Memory       nothing is kept

A value that is not listed is reported as a category that is as good as uniform, so that it counts
for 1 / k of a user everywhere.

>>> from ameles.noise import Zero
>>> slides = RandomizedResponse(categories=2, odds=3)
>>> slides.p, slides.q, slides.ratio
(Fraction(3, 4), Fraction(1, 4), Fraction(3, 1))
>>> slides.start(Zero()).step(1)
1
>>> round(RandomizedResponse(categories=2, epsilon=1).error.std(10_000), 1)
96.0
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.parameters import Whole
from ameles.mechanisms.local.odds import LocalEpsilon, Odds
from ameles.mechanisms.local.randomizer import (
    FrequencyRandomizer,
    Reports,
)
from ameles.mechanisms.local.table import FiniteTable
from ameles.mechanisms.pan_private.erase import wipe
from ameles.noise.arrays import IntArray

MOST_CATEGORIES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(FrequencyRandomizer):
    """The user's own category, or any other: for few categories.

    >>> from ameles.noise import System
    >>> recipe = RandomizedResponse(categories=4, epsilon=2)
    >>> run = recipe.start(System.direct())
    >>> found = recipe.estimate(run.feed([0] * 6000 + [3] * 4000), beta=1e-9)
    >>> bool(found.low[0] <= 6000 <= found.high[0])
    True
    """

    categories: Whole = Whole(2, MOST_CATEGORIES)
    epsilon: LocalEpsilon = LocalEpsilon()
    odds: Odds = Odds()

    @property
    def values(self) -> int:
        """The categories."""
        return self.categories

    @property
    def _parts(self) -> tuple[int, int, int]:
        """How many draws mean the truth, how many each other category, and how many there are."""
        odds = self.table_odds
        truth, other = odds.numerator, odds.denominator
        return truth, other, truth + other * (self.categories - 1)

    @property
    def p(self) -> Fraction:
        """The probability to report the truth."""
        truth, _, every = self._parts
        return Fraction(truth, every)

    @property
    def q(self) -> Fraction:
        """The probability to report one other category."""
        _, other, every = self._parts
        return Fraction(other, every)

    @property
    def ratio(self) -> Fraction:
        """p / q; reports of values that are not listed lie between."""
        return self.p / self.q

    @property
    def table(self) -> FiniteTable:
        """A row for each category, and one for a value that is not listed."""
        k, (_, _, every) = self.categories, self._parts
        rows = [[self.p if x == y else self.q for y in range(k)] for x in range(k)]
        unlisted = [Fraction(every // k + (y < every % k), every) for y in range(k)]
        return FiniteTable([*rows, unlisted])

    @property
    def draws(self) -> tuple[int, int]:
        """One draw."""
        return 1, self._parts[2]

    @property
    def report_values(self) -> int:
        """The categories."""
        return self.categories

    def encode(self, values: IntArray, drawn: IntArray) -> Reports:
        """The truth for low draws, another category for high ones."""
        truth, other, _ = self._parts
        draw = drawn[:, 0]
        kept, unlisted = draw < truth, values < 0
        reports = draw - truth
        reports //= other  # the place among the other categories, in their order
        after = reports >= values
        reports += after
        np.copyto(reports, values, where=kept)
        np.remainder(draw, self.categories, out=reports, where=unlisted)
        wipe(kept, unlisted, after)
        return reports[:, None]

    def tally(self, reports: Reports) -> IntArray:
        """How often each category was reported."""
        return np.bincount(reports, minlength=self.categories).astype(np.int64)
