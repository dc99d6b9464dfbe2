"""Perceptron: a separating direction, learned from noisy sums of the rows on the wrong side.

Theorem      Blum-Dwork-McSherry-Nissim 2005: each round adds the sum of label times row over all
             rows that the present direction tells wrongly, with noise
Neighbours   stated; a row is added, removed or replaced
Noise        discrete Laplace on each sum, scale d grid T / epsilon for d features and T rounds
             (twice that if rows are replaced)
Error        each published sum is within the bound; how well the direction separates depends on the
             data
Memory       nothing is kept

>>> import numpy as np
>>> from ameles.noise import Zero
>>> recipe = Perceptron(epsilon=1, rounds=20, features=2, grid=10, neighbours="add-remove")
>>> rows = [[3, 1], [9, -2], [-4, 1], [-7, -1]]
>>> direction = recipe.start(Zero()).step((rows, [1, 1, 0, 0]))
>>> [bool(direction @ row > 0) for row in np.array(rows)]
[True, True, False, False]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.learning.iterated_sums import (
    Floats,
    IteratedSums,
    features_of,
    labels_of,
)
from ameles.mechanisms.linear_queries import pair
from ameles.mechanisms.one_shot.geometric import GeometricError
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class Perceptron(IteratedSums[Floats]):
    """A direction of length 1; features are whole numbers from -``grid`` to ``grid``.

    The input is a table of rows and their labels.

    >>> Perceptron(epsilon=1, rounds=5, features=3, grid=100, neighbours="replace").scale
    Fraction(3000, 1)
    """

    @property
    def row_norm(self) -> int:
        """A row has at most the grid in each feature."""
        return int(self.features * self.grid)

    @property
    def error(self) -> GeometricError:
        """How far each published sum may be off."""
        return GeometricError(Fraction(self.scale), self.features)

    def checked(self, x: object) -> tuple[IntArray, IntArray]:
        given, told = pair(x, "rows", "their labels")
        rows, sound = features_of(given, self.features, -self.grid, self.grid)
        labels, known = labels_of(told, len(rows))
        return rows[sound & known], labels[sound & known]

    def release(self, x: tuple[IntArray, IntArray], noise: Noise) -> Floats:
        rows, labels = x
        signed = rows * labels[:, None]
        direction = np.zeros(self.features, dtype=np.int64)  # published sums, exactly
        for _ in range(self.rounds):
            wrong = signed @ direction <= 0
            sums = signed[wrong].sum(axis=0, dtype=np.int64)
            direction = direction + sums + noise.laplace(self.scale, self.features)
        length = float(np.sqrt(np.sum(direction.astype(np.float64) ** 2)))
        return np.asarray(direction / length if length else direction, dtype=np.float64)
