"""Hadamard response: one small number a user, for very many categories.

Theorem      Acharya-Sun-Zhang 2019: each category has a row of a Hadamard matrix of size K > k, in
             which half of the K columns are plus.  A user reports a column of plus with odds r
             against one of minus, uniform within each; the largest ratio is r.  Two rows agree in
             half of the columns, so another user's report supports a category with 1/2 exactly
Neighbours   one user's value is replaced, by a listed one or by none
Noise        one uniform draw below K (a + b), r = a / b
Error        variance per user of ((r + 1) / (r - 1))^2 at most: not more with more categories
Memory       nothing is kept; a report has log2 K bits, and all counts together take one fast
             transform of K numbers

A value that is not listed is reported as any column: it counts nowhere.

>>> from ameles.noise import Zero
>>> recipe = HadamardResponse(categories=3, odds=3)
>>> recipe.size, recipe.p, recipe.q, recipe.ratio
(4, Fraction(3, 4), Fraction(1, 2), Fraction(3, 1))
>>> recipe.start(Zero()).step(2)
0
>>> large = HadamardResponse(categories=10_000, epsilon=1)
>>> large.size, round(large.error.std(1_000_000))
(16384, 2164)
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

MOST_CATEGORIES = (1 << 20) - 1


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(FrequencyRandomizer):
    """A column of a Hadamard matrix that probably agrees with the user's category.

    >>> from ameles.noise import System
    >>> recipe = HadamardResponse(categories=1000, epsilon=2)
    >>> run = recipe.start(System.direct())
    >>> found = recipe.estimate(run.feed([7] * 6000 + [8] * 4000), beta=1e-9)
    >>> bool(found.low[7] <= 6000 <= found.high[7])
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
    def size(self) -> int:
        """The columns K: the power of two above the categories, as the first row tells nothing."""
        return 1 << self.categories.bit_length()

    @property
    def _parts(self) -> tuple[int, int]:
        odds = self.table_odds
        return odds.numerator, odds.numerator + odds.denominator

    @property
    def p(self) -> Fraction:
        """The probability of a column that agrees with the user's category."""
        return Fraction(*self._parts)

    @property
    def q(self) -> Fraction:
        """The probability of one that agrees with another category."""
        return Fraction(1, 2)

    @property
    def ratio(self) -> Fraction:
        """The odds; reports of values that are not listed lie between."""
        return self.p / (1 - self.p)

    @property
    def table(self) -> FiniteTable:
        """A row for each category, and one for a value that is not listed."""
        half = Fraction(2, self.size)
        rows = [
            [half * (self.p if agrees(x + 1, y) else 1 - self.p) for y in range(self.size)]
            for x in range(self.categories)
        ]
        return FiniteTable([*rows, [Fraction(1, self.size)] * self.size])

    @property
    def draws(self) -> tuple[int, int]:
        """One draw."""
        return 1, self.size * self._parts[1]

    @property
    def report_values(self) -> int:
        """The columns."""
        return self.size

    def encode(self, values: IntArray, drawn: IntArray) -> Reports:
        """A column from the half that agrees or the half that does not.

        A half of the columns is numbered by all their bits but the lowest one of the row.  That
        one is set so that the column is in the right half.
        """
        draw, half = drawn[:, 0], self.size // 2
        column, share = draw % half, draw // half
        agree, unlisted = share < 2 * self._parts[0], values < 0
        row = values + 1
        row[unlisted] = 1
        lowest = -row
        lowest &= row
        below = lowest - 1
        below &= column  # the bits of the number that stay where they are
        column -= below
        column <<= 1
        column |= below
        common = column & row
        ones = np.bitwise_count(common)
        ones &= 1
        moves = ones == agree
        lowest *= moves
        column |= lowest
        np.remainder(draw, self.size, out=column, where=unlisted)
        wipe(share, agree, unlisted, row, lowest, below, common, ones, moves)
        return column[:, None]

    def tally(self, reports: Reports) -> IntArray:
        """How often each column was reported."""
        return np.bincount(reports, minlength=self.size).astype(np.int64)

    def supported(self, tally: IntArray, reports: int) -> IntArray:
        """How many reports agree with each category."""
        plus_less_minus = walsh_hadamard(tally)[1 : self.categories + 1]
        return (plus_less_minus + reports) // 2


def agrees(row: int, column: int) -> bool:
    """Whether the matrix has a plus there: the common bits are even in number."""
    return (row & column).bit_count() % 2 == 0


def walsh_hadamard(counts: IntArray) -> IntArray:
    """The product of the Hadamard matrix with a vector, in K log2 K additions.

    >>> walsh_hadamard(np.array([3, 1, 0, 0]))
    array([4, 2, 4, 2])
    """
    given = counts.copy()
    width = 1
    while width < len(given):
        pairs = given.reshape(-1, 2, width)
        given = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        width *= 2
    return given
