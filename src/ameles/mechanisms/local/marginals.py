"""Marginals of many yes-or-no attributes, from one bit of each user.

Theorem      Cormode-Kulkarni-Srivastava 2018.  A marginal of k attributes is a sum of 2^k parities:
             P(x_B = z) = 2^-k sum over A in B of (-1)^<A, z> E (-1)^<A, x>.  A user draws one of
             the T parities of at most k attributes and reports its sign through randomized
             response.  The draw is public and independent of the data; the ratio is the odds r
Neighbours   one user's attributes are replaced
Noise        one uniform draw below 2 T (a + b), r = a / b
Error        variance per cell of at most T c^2 / (2^k n), c = (r + 1) / (r - 1), for all
             marginals of k attributes at once
Memory       nothing is kept

A user's value is the whole number whose binary digits are the attributes, the first the lowest.

>>> from ameles.noise import System
>>> recipe = MarginalResponse(attributes=8, ways=2, epsilon=2)
>>> recipe.parities, recipe.ratio <= Fraction("7.3891")
(36, True)
>>> reports = recipe.start(System.direct()).feed([0b11] * 30_000 + [0b00] * 10_000)
>>> found = recipe.marginal(reports, (0, 1), beta=1e-9)
>>> bool(abs(found.shares[3] - 0.75) < found.half_width)
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.parameters import Whole
from ameles.mechanisms.local.frequencies import FloatArray
from ameles.mechanisms.local.odds import LocalEpsilon, Odds
from ameles.mechanisms.local.randomizer import (
    LocalRandomizer,
    Reports,
)
from ameles.mechanisms.local.table import FiniteTable
from ameles.mechanisms.pan_private.erase import wipe
from ameles.noise.arrays import IntArray

MOST_PARITIES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """The shares of all 2^k combinations; each is within the half-width with this confidence.

    >>> recipe = MarginalResponse(attributes=2, ways=1, odds=3)
    >>> found = recipe.marginal(np.array([0, 1]), (0,))
    >>> isinstance(found, Marginal), found.shares
    (True, array([0.5, 0.5]))
    """

    shares: FloatArray
    standard_error: float
    half_width: float
    confidence: float


@dataclass(frozen=True, kw_only=True)
class MarginalResponse(LocalRandomizer):
    """One randomised sign of a random parity from each user."""

    attributes: Whole = Whole(1, 60)
    ways: Whole = Whole(1, 8, 2)
    epsilon: LocalEpsilon = LocalEpsilon()
    odds: Odds = Odds()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ways > self.attributes or self.parities > MOST_PARITIES:
            raise BadInput(
                f"{self.ways} of {self.attributes} attributes have too many marginals, or none.",
                why="a report is one of at most 2**20 parities",
                tip="fewer ways",
            )

    @property
    def values(self) -> int:
        """All combinations of the attributes."""
        return 1 << self.attributes

    @property
    def parities(self) -> int:
        """T: how many sets of 1 to ``ways`` attributes there are."""
        return sum(math.comb(self.attributes, size) for size in range(1, self.ways + 1))

    @property
    def ratio(self) -> Fraction:
        """The odds of the sign."""
        return self.table_odds

    @property
    def table(self) -> FiniteTable:
        """A row for each combination and one for None; for few attributes."""
        p = self.table_odds / (self.table_odds + 1)
        masks = parity_masks(self.attributes, self.ways).tolist()
        rows = []
        for value in range(self.values):
            odd = [(value & mask).bit_count() % 2 for mask in masks]
            rows.append([(p if sign == bit else 1 - p) for bit in odd for sign in (0, 1)])
        rows.append([Fraction(1, 2)] * (2 * len(masks)))
        return FiniteTable([[chance / len(masks) for chance in row] for row in rows])

    @property
    def draws(self) -> tuple[int, int]:
        """One draw; twice as many as needed, so that a value that is not listed has fair signs."""
        odds = self.table_odds
        return 1, 2 * self.parities * (odds.numerator + odds.denominator)

    @property
    def report_values(self) -> int:
        """Twice the parities."""
        return 2 * self.parities

    def encode(self, values: IntArray, drawn: IntArray) -> Reports:
        """Twice the number of the parity, plus one for a minus."""
        odds = self.table_odds
        every = odds.numerator + odds.denominator
        place, response = np.divmod(drawn[:, 0], 2 * every)
        common = parity_masks(self.attributes, self.ways)[place]
        common &= values
        minus = np.bitwise_count(common)
        minus &= 1
        flipped, unlisted = response >= 2 * odds.numerator, values < 0
        minus ^= flipped
        response &= 1
        np.copyto(minus, response, where=unlisted, casting="unsafe")
        place *= 2
        place += minus
        wipe(response, common, minus, flipped, unlisted)
        return place[:, None]

    def tally(self, reports: Reports) -> IntArray:
        """How often each parity was reported with each sign."""
        return np.bincount(reports, minlength=self.report_values).astype(np.int64)

    @property
    def error(self) -> MarginalError:
        """The error of one cell's share times the number of reports; a step is a report."""
        odds = float(self.table_odds)
        return MarginalError(self.parities, self.ways, (odds + 1) / (odds - 1))

    def marginal(
        self, reports: ArrayLike, attributes: Sequence[int], *, beta: float = 0.05
    ) -> Marginal:
        """The joint shares of these attributes, the first one the lowest digit of the cell."""
        asked = sorted(set(attributes))
        fits = all(type(one) is int and 0 <= one < self.attributes for one in attributes)
        if not fits or len(asked) < len(attributes) or not 1 <= len(asked) <= self.ways:
            raise BadInput(
                f"A marginal is of 1 to {self.ways} different attributes, numbered from 0 to "
                f"{self.attributes - 1}."
            )
        given = self.checked(reports)
        n = len(given)
        error = MarginalError(self.parities, len(asked), self.error.width)
        masks = parity_masks(self.attributes, self.ways)
        signs = self.tally(given).reshape(-1, 2)
        means = (signs[:, 0] - signs[:, 1]) * (self.parities * error.width / max(1, n))
        shares = np.full(1 << len(asked), 1.0)
        for mask, mean in zip(masks.tolist(), means.tolist(), strict=True):
            inside = sum(1 << i for i, one in enumerate(attributes) if mask >> one & 1)
            if mask == sum(1 << one for one in asked if mask >> one & 1):
                cells = np.arange(len(shares))
                shares += mean * (1.0 - 2.0 * (np.bitwise_count(cells & inside) & 1))
        return Marginal(
            shares=shares / len(shares),
            standard_error=error.std(n) / n if n else math.inf,
            half_width=error.bound(n, beta) / n if n else 1.0,
            confidence=1 - beta,
        )


@dataclass(frozen=True, slots=True)
class MarginalError:
    """The error of n times one cell's share, by Bernstein's inequality."""

    parities: int
    ways: int
    width: float  # c = (r + 1) / (r - 1)

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation after ``t`` reports, at most."""
        return math.sqrt(t * self._variance)

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """This close with probability at least 1 - beta."""
        level = math.log(2 / beta)
        reach = self.parities * self.width / (1 << self.ways) + 1
        return math.sqrt(2 * t * self._variance * level) + 2 * reach * level / 3

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The errors after each of the first ``steps`` reports are all this small."""
        return self.bound(steps, beta / steps)

    @property
    def _variance(self) -> float:
        """Of one report's part: 2^k - 1 of T parities matter, each then adds T c / 2^k."""
        cells = 1 << self.ways
        return self.parities * (cells - 1) * (self.width / cells) ** 2


@lru_cache(maxsize=16)
def parity_masks(attributes: int, ways: int) -> IntArray:
    """The sets of 1 to ``ways`` attributes as binary numbers, in one order."""
    sets = (s for size in range(1, ways + 1) for s in combinations(range(attributes), size))
    return np.array([sum(1 << one for one in each) for each in sets], dtype=np.int64)
