"""The mean of bounded values, one bit from each user.

Theorem      Catalogue 32: a user with value v from 0 to g rounds it to a bit that is one with
             probability v / g, and sends the bit through randomized response with odds r.  A report
             is one with probability q + (p - q) v / g, p = r / (r + 1) = 1 - q, so that the largest
             ratio is r and (mean - q) / (p - q) estimates the mean of v / g without bias
Neighbours   one user's value is replaced
Noise        one uniform draw below g (a + b), r = a / b, for rounding and response together
Error        at most c sqrt(n) / 2 for the sum of v / g, c = (r + 1) / (r - 1)
Memory       nothing is kept

A value outside of the range is moved to its nearer end; None counts as zero.

>>> from ameles.noise import Zero
>>> recipe = MeanResponse(largest=4, odds=3)
>>> [recipe.chance(value) for value in (0, 2, 4)]
[Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
>>> recipe.ratio, recipe.start(Zero()).feed([0, 4, 9]).tolist()
(Fraction(3, 1), [0, 1, 1])
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.parameters import Whole
from ameles.mechanisms.local.frequencies import FrequencyError
from ameles.mechanisms.local.odds import LocalEpsilon, Odds
from ameles.mechanisms.local.randomizer import (
    FrequencyRandomizer,
    Reports,
    whole_values,
)
from ameles.mechanisms.local.table import FiniteTable
from ameles.mechanisms.pan_private.erase import wipe
from ameles.noise.arrays import IntArray

FINEST = 1 << 20


@dataclass(frozen=True, kw_only=True)
class MeanResponse(FrequencyRandomizer):
    """A bit from each user, whose mean tells the mean of the users' values.

    ``estimate`` gives the sum of value / largest over all users, as the one count that there is.
    """

    largest: Whole = Whole(1, FINEST, 1)
    epsilon: LocalEpsilon = LocalEpsilon()
    odds: Odds = Odds()

    @property
    def values(self) -> int:
        """From 0 to the largest."""
        return self.largest + 1

    @property
    def p(self) -> Fraction:
        """The probability that a one is reported as one."""
        odds = self.table_odds
        return odds / (odds + 1)

    @property
    def q(self) -> Fraction:
        """The probability that a zero is reported as one."""
        return 1 - self.p

    @property
    def ratio(self) -> Fraction:
        """The ratio of the two ends of the range."""
        return self.p / self.q

    def chance(self, value: int) -> Fraction:
        """The probability that a value is reported as one."""
        return self.q + (self.p - self.q) * Fraction(value, self.largest)

    @property
    def table(self) -> FiniteTable:
        """A row for each value, and one for None."""
        chances = [self.chance(value) for value in range(self.values)]
        return FiniteTable([[1 - chance, chance] for chance in (*chances, self.q)])

    @property
    def draws(self) -> tuple[int, int]:
        """One draw."""
        odds = self.table_odds
        return 1, self.largest * (odds.numerator + odds.denominator)

    @property
    def report_values(self) -> int:
        """Bits."""
        return 2

    def encode(self, values: IntArray, drawn: IntArray) -> Reports:
        """The bit of a value, kept for low draws."""
        odds = self.table_odds
        place, response = np.divmod(drawn[:, 0], odds.numerator + odds.denominator)
        one = place < values
        kept = response < odds.numerator
        reports: Reports = (one == kept).astype(np.int64)[:, None]
        wipe(place, response, one, kept)
        return reports

    def listed(self, xs: object) -> IntArray:
        """Values moved into the range; None counts as zero."""
        numbers = whole_values(xs)
        return np.clip(numbers, 0, self.largest, out=numbers)

    def tally(self, reports: Reports) -> IntArray:
        """How many bits are one."""
        return np.array([int(np.sum(reports))], dtype=np.int64)

    @property
    def error(self) -> FrequencyError:
        """The error of the sum of value / largest."""
        return FrequencyError(float(self.p), float(self.q), graded=True)
