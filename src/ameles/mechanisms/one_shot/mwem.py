"""Multiplicative weights with the exponential mechanism: a synthetic table for known queries.

Theorem      Hardt-Ligett-McSherry 2012, with its own constants (catalogue 39, 48, 50): in each of T
             rounds the exponential mechanism picks the query that the hypothesis answers worst, at
             epsilon / 2T; its answer gets noise at epsilon / 2T; the hypothesis is multiplied by
             exp(4 g q), g the noisy gap as a share of all rows.  Pure epsilon in all
Neighbours   stated; one unit is one row, and changes each answer by at most ``grid``
Noise        the pick has weight exp(epsilon_1 |gap| / (2 grid)); the noise of an answer is discrete
             Laplace of scale grid / epsilon_1, with epsilon_1 = epsilon / 2T
Error        with probability 1 - beta every query of the average hypothesis is within
             n (s + 2 m + sqrt(ln|U| / 2T + m^2)), m the quantile of the answers' noise and
             s = (2 / epsilon_1 n) ln(2 k T / beta) the loss of the picks (k queries), if the table
             has exactly n rows.  Proof: a round lowers the relative entropy by at least
             2 (g - m)^2 - 2 m^2
Memory       nothing is kept

The hypothesis is computed from what was published.  Its answers are rounded to the grid before the
exact answers are subtracted.

>>> import numpy as np
>>> from ameles.noise import Zero
>>> queries = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]])
>>> recipe = SyntheticTable(epsilon=1, universe=4, queries=3, rows=1000, rounds=30,
...                         neighbours="replace")
>>> table = recipe.start(Zero()).step((queries, [700, 100, 100, 100]))
>>> (queries @ table).round(), table.sum().round()
(array([789., 211., 684.]), np.float64(1000.0))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ameles.core.error import checks_step
from ameles.core.guarantee import Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Whole
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.linear_queries import (
    LARGEST_GRID,
    LARGEST_UNIVERSE,
    FloatArray,
    check_fits,
    queries_and_answers,
)
from ameles.mechanisms.one_shot.one_shot import Look
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class SyntheticTable(Look[FloatArray]):
    """A synthetic histogram that answers declared linear queries well (MWEM).

    The input is a table of queries, one a row, and the exact histogram.  The release has a share
    of ``rows`` for each element, so queries are answered by a product with it.

    >>> recipe = SyntheticTable(epsilon=1, universe=2, queries=1, rows=10, rounds=1,
    ...                         neighbours="add-remove")
    >>> print(recipe.guarantee.loss)
    epsilon 1
    """

    norm: ClassVar[Norm] = Norm.MAX

    epsilon: Epsilon = Epsilon()
    universe: Whole = Whole(1, LARGEST_UNIVERSE)
    queries: Whole = Whole(1, 2**28)
    rows: Whole = Whole(1, 2**40)
    rounds: Whole = Whole(1, 2**20)
    grid: Whole = Whole(1, LARGEST_GRID, 1)

    def __post_init__(self) -> None:
        check_fits(self.universe, self.rows, self.grid)

    @property
    def reach(self) -> int:
        """One row changes each answer by at most the grid."""
        return self.grid

    @property
    def share(self) -> Fraction:
        """The loss of each pick and of each answer."""
        return self.epsilon / (2 * self.rounds)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on an answer."""
        return self.grid / self.share

    @property
    def loss(self) -> Pure:
        """The sum over all rounds."""
        return Pure(self.epsilon)

    @property
    def error(self) -> SyntheticError:
        """How far the worst query may be."""
        return SyntheticError(self)

    def checked(self, x: object) -> tuple[IntArray, IntArray]:
        return queries_and_answers(
            x, count=self.queries, universe=self.universe, rows=self.rows, grid=self.grid
        )

    def release(self, x: tuple[IntArray, IntArray], noise: Noise) -> FloatArray:
        asked, exact = x
        weights = np.full(self.universe, 1 / self.universe)
        total = np.zeros(self.universe)
        for _ in range(self.rounds):
            total += weights
            guesses = self.rows * (asked @ weights)
            place, answer = self.round(exact, np.rint(guesses).astype(np.int64), noise)
            gap = (answer - float(guesses[place])) / (self.rows * self.grid)
            # no true gap exceeds 1, and within [-4, 4] no weight overflows
            weights = weights * np.exp(4 * max(-1.0, min(1.0, gap)) * asked[place] / self.grid)
            weights /= weights.sum()
        return np.asarray(total * (self.rows / self.rounds), dtype=np.float64)

    def round(self, exact: IntArray, guesses: IntArray, noise: Noise) -> tuple[int, int]:
        """The pick of one round and its noisy answer, which is everything that the round
        publishes."""
        gaps = np.abs(exact - guesses)
        place = noise.pick(gaps.max() - gaps, self.share / (2 * self.grid))
        return place, int(exact[place]) + int(noise.laplace(self.scale, 1)[0])


@dataclass(frozen=True, slots=True)
class SyntheticError:
    """How far the worst of all queries may be, in units of 1 / ``grid`` rows."""

    recipe: SyntheticTable

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """Every query is this close with probability at least 1 - beta."""
        recipe = self.recipe
        whole = recipe.rows * recipe.grid
        rounds = recipe.rounds
        noise = laplace_sum.quantile(1, recipe.scale, beta / (2 * rounds)) / whole
        lost = 2 * math.log(2 * recipe.queries * rounds / beta) / float(recipe.share)
        picks = (lost * recipe.grid + 1) / whole  # 1: two gaps are compared, each rounded
        entropy = math.log(recipe.universe) / (2 * rounds)
        relative = picks + 2 * noise + math.sqrt(entropy + noise * noise)
        return whole * min(1.0, relative)  # no table of these rows is further from another

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many releases together."""
        return self.bound(1, beta / steps)
