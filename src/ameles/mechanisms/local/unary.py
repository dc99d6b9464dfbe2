"""Unary encodings: a bit for each category, each flipped on its own.

Theorem      Wang-Blocki-Li-Jha 2017: of two users' vectors two bits differ, so that the ratio is
             p (1 - q) / (q (1 - p)), where p keeps the user's own one and q makes a one of a zero.
             Optimised: p = 1/2 and q = 1 / (r + 1), which is best for rare categories.  Plain
             (RAPPOR's): q = 1 - p and the square root of the odds in each bit
Neighbours   one user's value is replaced, by a listed one or by none
Noise        one uniform draw for each bit
Error        variance per user of 4 r / (r - 1)^2 where a category is rare: not more with more
             categories
Memory       nothing is kept; a report has a bit for each category

A value that is not listed is a vector without a one: it counts nowhere.

>>> from ameles.noise import Zero
>>> recipe = UnaryEncoding(categories=4, odds=3)
>>> recipe.p, recipe.q, recipe.ratio
(Fraction(1, 2), Fraction(1, 4), Fraction(3, 1))
>>> recipe.start(Zero()).feed([2, None]).tolist()
[[0, 0, 1, 0], [0, 0, 0, 0]]
>>> plain = UnaryEncoding(categories=4, odds=9, optimised=False)
>>> plain.p, plain.q, plain.ratio
(Fraction(3, 4), Fraction(1, 4), Fraction(9, 1))
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from ameles.core.parameters import Switch, Whole
from ameles.mechanisms.local.odds import LocalEpsilon, Odds, root_odds
from ameles.mechanisms.local.randomizer import (
    FrequencyRandomizer,
    Reports,
)
from ameles.mechanisms.local.table import FiniteTable
from ameles.mechanisms.pan_private.erase import wipe
from ameles.noise.arrays import IntArray

MOST_CATEGORIES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(FrequencyRandomizer):
    """A flipped bit for each category: exact for some hundreds of categories."""

    categories: Whole = Whole(2, MOST_CATEGORIES)
    epsilon: LocalEpsilon = LocalEpsilon()
    odds: Odds = Odds()
    optimised: Switch = Switch(True)

    @property
    def values(self) -> int:
        """The categories."""
        return self.categories

    @property
    def _parts(self) -> tuple[int, int, int]:
        """How many draws keep a one; the first that makes a zero a one; how many there are."""
        if self.optimised:
            odds = self.table_odds
            both = odds.numerator + odds.denominator
            return both, 2 * odds.numerator, 2 * both
        odds = root_odds(self.table_odds)
        return odds.numerator, odds.numerator, odds.numerator + odds.denominator

    @property
    def p(self) -> Fraction:
        """The probability that a one stays one."""
        kept, _, every = self._parts
        return Fraction(kept, every)

    @property
    def q(self) -> Fraction:
        """The probability that a zero becomes one."""
        _, zeros, every = self._parts
        return Fraction(every - zeros, every)

    @property
    def ratio(self) -> Fraction:
        """The ratio of two bits that differ; an unlisted value differs in one of them only."""
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

    @property
    def table(self) -> FiniteTable:
        """A row for each category and one for none; a column for each vector.  For few only."""
        vectors = list(product((0, 1), repeat=self.categories))

        def chance(x: int, vector: tuple[int, ...]) -> Fraction:
            ones = (self.p if x == y else self.q for y in range(self.categories))
            return prod(
                (one if bit else 1 - one for one, bit in zip(ones, vector, strict=True)),
                start=Fraction(1),
            )

        return FiniteTable(
            [[chance(x, vector) for vector in vectors] for x in (*range(self.categories), -1)]
        )

    @property
    def draws(self) -> tuple[int, int]:
        """One draw for each bit."""
        return self.categories, self._parts[2]

    @property
    def report_size(self) -> int:
        """A bit for each category."""
        return self.categories

    @property
    def report_values(self) -> int:
        """Bits."""
        return 2

    def encode(self, values: IntArray, drawn: IntArray) -> Reports:
        """Ones of the users' own categories stay for low draws, zeros become ones for high."""
        kept, zeros, _ = self._parts
        bits = (drawn >= zeros).view(np.uint8)
        listed = values >= 0
        users = np.flatnonzero(listed)
        own = values[users]
        draws = drawn[users, own]
        ones = draws < kept
        bits[users, own] = ones
        wipe(listed, users, own, draws, ones)
        return bits

    def tally(self, reports: Reports) -> IntArray:
        """How many vectors have a one at each category."""
        ones: IntArray = np.asarray(reports, dtype=np.uint8).sum(axis=0, dtype=np.int64)
        return ones
