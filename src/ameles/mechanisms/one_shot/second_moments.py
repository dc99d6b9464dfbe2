"""Second moments: noisy sums of products of columns, from which regressions are computed.

Theorem      Dwork-Talwar-Thakurta-Zhang 2014, its upper triangle (catalogue 34, 38, 66): the sums
             of z_i z_j over all rows z, i <= j, with noise for what one row adds.  With
             |z_i| <= B_i that is sum B_i B_j in L1 and sum (B_i B_j)^2 in squared L2 over i <= j,
             and a row with z = B attains both
Neighbours   stated; one unit is one row.  If it is replaced, one row goes and another comes: twice
             the change
Noise        pure: discrete Laplace on each sum.  With delta or rho: discrete Gaussian
Error        that of the noise on each sum; what follows for coefficients, eigenvalues and
             directions is in ``regression``
Memory       nothing is kept

Values beyond their bounds are clamped.  A row with anything but whole numbers counts nowhere.
The number of rows is not public: a column of ones
with bound 1 gives it, with noise.

>>> from ameles.noise import Zero
>>> recipe = SecondMoments(epsilon=1, bounds=(1, 10), neighbours="add-remove")
>>> recipe.start(Zero()).step([[1, 3], [1, -4], [1, 99]])  # rows, sum, sum of squares
array([  3,   9, 125])
>>> recipe.largest_change, recipe.scale
(111, Fraction(111, 1))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours, Norm
from ameles.core.noise import Noise
from ameles.mechanisms.clamped import reports
from ameles.mechanisms.one_shot.gaussian import GaussianLookError
from ameles.mechanisms.one_shot.geometric import GeometricError
from ameles.mechanisms.one_shot.laplace_or_gaussian import LaplaceOrGaussian
from ameles.mechanisms.one_shot.series import Wholes
from ameles.noise.arrays import IntArray

LARGEST_BOUND = 1 << 11  # so that the sums of 2^40 rows fit into 64 bits
MOST_COLUMNS = 1 << 10
ONE_ROW = (Neighbours.ADD_REMOVE, Neighbours.USER_PRESENCE)


@dataclass(frozen=True, kw_only=True)
class SecondMoments(LaplaceOrGaussian[IntArray]):
    """The sums of products of all pairs of columns, as an upper triangle row by row.

    ``epsilon`` alone is pure; ``epsilon`` with ``delta``, or ``rho``, has Gaussian noise.

    >>> recipe = SecondMoments(rho="1/2", bounds=(1, 10), neighbours="replace")
    >>> recipe.squared_change, recipe.variance  # 4 (1^2 + 10^2 + 100^2)
    (40404, Fraction(40404, 1))
    """

    norm: ClassVar[Norm] = Norm.MAX

    bounds: Wholes = Wholes()

    def __post_init__(self) -> None:
        super().__post_init__()
        if max(self.bounds) > LARGEST_BOUND or len(self.bounds) > MOST_COLUMNS:
            raise BadInput(
                f"There may be {MOST_COLUMNS} columns, with bounds up to {LARGEST_BOUND}.",
                why="larger sums of products might not fit into 64 bits",
                tip="a coarser grid for the values",
            )
        if self.neighbours is Neighbours.STEP:
            raise BadInput(
                "Second moments are of a table, not of a stream.",
                tip="neighbours='add-remove' or 'replace'",
            )

    @property
    def reach(self) -> int:
        """The largest value of a row."""
        return max(self.bounds)

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return len(self.bounds)

    @property
    def entries(self) -> int:
        """How many sums are published."""
        return self.columns * (self.columns + 1) // 2

    @property
    def largest_change(self) -> int:
        """The most that one unit changes all sums together, in L1."""
        total, squares = sum(self.bounds), sum(bound**2 for bound in self.bounds)
        return self._rows_changed * (total**2 + squares) // 2

    @property
    def squared_change(self) -> int:
        """The square of the most that one unit changes all sums together, in L2."""
        squares, fourths = (sum(bound**power for bound in self.bounds) for power in (2, 4))
        return self._rows_changed**2 * (squares**2 + fourths) // 2

    @property
    def _rows_changed(self) -> int:
        return 1 if self.neighbours in ONE_ROW else 2

    @property
    def error(self) -> GeometricError | GaussianLookError:
        """The law of the noise on each sum."""
        if self.scale is not None:
            return GeometricError(self.scale, self.entries)
        return GaussianLookError(float(self.variance), self.entries)

    def checked(self, x: object) -> IntArray:
        widest = max(self.bounds)
        rows, _ = reports(x, -widest, widest, width=self.columns, refuse=self._not)
        limits = np.array(self.bounds, dtype=np.int64)
        inside = np.clip(rows, -limits, limits)  # the zeros of an odd row add nothing
        return np.asarray((inside.T @ inside)[np.triu_indices(self.columns)], dtype=np.int64)

    def _not(self, got: str) -> BadInput:
        return BadInput(
            f"The input must be rows of {self.columns} whole numbers. Got {got} instead.",
            why="nothing private may meet a float: its rounding can leak",
            tip="an array of integers with a row for each unit, on a grid of your choice",
        )

    def release(self, x: IntArray, noise: Noise) -> IntArray:
        return self.measured(x, noise)
