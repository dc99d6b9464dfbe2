"""Projected answers: noise on each of k queries, then the nearest answers that a table could give.

Theorem      Nikolov-Talwar-Zhang 2013 as in Dwork-Roth 2014, Alg 18, corrected (catalogue 49): the
             k answers get noise nu for their sensitivity and are projected on n K, with K the
             convex hull of the columns A^i of the queries, or of +-A^i (``symmetric``)
Neighbours   stated; one unit is one row, and changes each answer by at most ``grid``
Noise        pure: discrete Laplace of scale k grid / epsilon on each answer.  With delta or rho:
             discrete Gaussian for the squared sensitivity k grid^2
Error        always |a' - a|^2 <= 2 n max_i |<A^i, nu>| + gap and |a' - a| <= |nu| + sqrt(gap),
             whatever the noise, since the projection a' satisfies <a' - a, a' - a - nu> <= gap.
             The maximum is bounded by Chernoff for the |U| columns together
Memory       nothing is kept

The projection is computed from what is public (``projection``), to a certified gap that is part of
the recipe.  The texts print the constants 16 and sqrt(192) for the bound; neither is needed here.

>>> from ameles.noise import Zero
>>> recipe = ProjectedQueries(epsilon=1, universe=3, queries=2, rows=100, neighbours="replace")
>>> recipe.start(Zero()).step(([[1, 1, 0], [0, 1, 1]], [50, 30, 20])).round()
array([80., 50.])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ameles.core.error import checks_step
from ameles.core.guarantee import Norm
from ameles.core.noise import Noise
from ameles.core.parameters import Switch, Whole
from ameles.mechanisms.linear_queries import (
    LARGEST_GRID,
    LARGEST_UNIVERSE,
    FloatArray,
    check_fits,
    queries_and_answers,
)
from ameles.mechanisms.one_shot.gaussian import GaussianLookError
from ameles.mechanisms.one_shot.geometric import GeometricError
from ameles.mechanisms.one_shot.laplace_or_gaussian import LaplaceOrGaussian
from ameles.mechanisms.one_shot.projection import nearest
from ameles.noise.arrays import IntArray

# The gap of the projection, as a share of the expected square of all noise, and of n^2 k at least:
# floats cannot resolve smaller gaps.
NOISE_SHARE = 1e-3
BODY_SHARE = 1e-13


@dataclass(frozen=True, kw_only=True)
class ProjectedQueries(LaplaceOrGaussian[FloatArray]):
    """The answers of k linear queries: the possible answers of a table that are nearest to noisy
    ones.

    The input is a table of queries, one a row, and the exact histogram.  ``epsilon`` alone is pure;
    ``epsilon`` with ``delta``, or ``rho``, has Gaussian noise.

    >>> recipe = ProjectedQueries(rho="0.1", universe=50, queries=40_000, rows=1000,
    ...                           neighbours="replace")
    >>> print(recipe.guarantee.loss)
    rho 0.1
    >>> plain = 40_000**0.5 * recipe.std  # without the projection
    >>> round(recipe.error.bound(1, 0.05)), round(plain)
    (26561, 89443)
    """

    norm: ClassVar[Norm] = Norm.MAX

    universe: Whole = Whole(1, LARGEST_UNIVERSE)
    queries: Whole = Whole(1, 2**24)
    rows: Whole = Whole(1, 2**40)
    symmetric: Switch = Switch(False)
    grid: Whole = Whole(1, LARGEST_GRID, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fits(self.universe, self.rows, self.grid)

    @property
    def reach(self) -> int:
        """One row changes each answer by at most the grid."""
        return self.grid

    @property
    def largest_change(self) -> int:
        """One row changes all answers together by the grid for each."""
        return self.queries * self.grid

    @property
    def squared_change(self) -> int:
        """The same in L2, squared."""
        return self.queries * self.grid**2

    @property
    def std(self) -> float:
        """The standard deviation of the noise on each answer, or a little more."""
        if self.scale is None:
            return math.sqrt(self.variance)
        return math.sqrt(2) * float(self.scale)

    @property
    def gap(self) -> float:
        """How far the projection may be from optimal."""
        body = BODY_SHARE * self.queries * (self.rows * self.grid) ** 2
        return max(NOISE_SHARE * self.queries * self.std**2, body)

    @property
    def error(self) -> ProjectedError:
        """The Euclidean distance of all answers together."""
        return ProjectedError(self)

    def checked(self, x: object) -> tuple[IntArray, IntArray]:
        return queries_and_answers(
            x, count=self.queries, universe=self.universe, rows=self.rows, grid=self.grid
        )

    def release(self, x: tuple[IntArray, IntArray], noise: Noise) -> FloatArray:
        asked, exact = x
        noisy = self.measured(exact, noise)
        corners = self.rows * asked.astype(np.float64)
        if self.symmetric:
            corners = np.concatenate((corners, -corners), axis=1)
        return nearest(corners, noisy.astype(np.float64), gap=self.gap)


@dataclass(frozen=True, slots=True)
class ProjectedError:
    """The Euclidean distance from the exact answers, in units of 1 / ``grid`` rows."""

    recipe: ProjectedQueries

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """All answers together are this close with probability at least 1 - beta."""
        recipe = self.recipe
        widest = recipe.rows * recipe.grid * math.sqrt(recipe.queries)
        projected = math.sqrt(2 * recipe.rows * self.largest_product(beta) + recipe.gap)
        plain = math.sqrt(recipe.queries) * self.largest_noise(beta) + math.sqrt(recipe.gap)
        return min((2 if recipe.symmetric else 1) * widest, projected, plain)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many releases together."""
        return self.bound(1, beta / steps)

    def largest_noise(self, beta: float) -> float:
        """A bound on the noise of all answers, with probability 1 - beta."""
        recipe = self.recipe
        if recipe.scale is None:
            return GaussianLookError(float(recipe.variance), recipe.queries).bound_entries(beta)
        return GeometricError(recipe.scale, recipe.queries).bound_entries(beta)

    def largest_product(self, beta: float) -> float:
        """What max_i |<A^i, nu>| exceeds with probability at most beta, by Chernoff."""
        recipe = self.recipe
        log = math.log(2 * recipe.universe / beta)
        if recipe.scale is None:  # discrete Gaussians are sub-Gaussian with their parameter
            return recipe.grid * math.sqrt(2 * recipe.queries * float(recipe.variance) * log)
        q = math.exp(-1 / float(recipe.scale))
        # any h gives a bound: the best of many up to where the mean of exp(h nu) is infinite
        h = (1 / float(recipe.scale)) * np.geomspace(1e-6, 1 - 1e-6, 4000)
        means = 2 * math.log1p(-q) - np.log1p(-q * np.exp(h)) - np.log1p(-q * np.exp(-h))
        return recipe.grid * float(((recipe.queries * means + log) / h).min())
