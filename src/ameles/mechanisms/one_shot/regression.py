"""Regression, covariance and principal directions, computed from released second moments.

Theorem      with A the true moments, A' their release projected on the positive semidefinite
             matrices, and eta a bound on |A' - A| in Frobenius norm:
             ridge: |theta' - theta| <= (|b' - b| + eta |theta'|) / max(l, l + low - eta), l the
             penalty and low the least eigenvalue of A', because
             (A + l)(theta' - theta) = (b' - b) - (A' - A) theta';
             each eigenvalue of A' is within eta of A's (Weyl); the first k directions of A' catch
             as much as A's own, up to 2 k eta
Error        eta <= d q and |b' - b| <= q sqrt(d), q the bound on all noises together; these hold
             with probability 1 - beta
Memory       nothing is kept

All this is post-processing: it costs nothing, and floats are fine.  The projection only moves the
release closer to the truth, which is positive semidefinite.

>>> from ameles.mechanisms.one_shot.second_moments import SecondMoments
>>> from ameles.noise import Zero
>>> recipe = SecondMoments(epsilon=1, bounds=(1, 100, 100), neighbours="add-remove")
>>> rows = [[1, x, 2 * x + 5] for x in range(-40, 40)]
>>> moments = Moments(recipe, recipe.start(Zero()).step(rows))
>>> moments.ridge(target=2).values.round(6)  # y = 5 + 2 x
array([5., 2.])
>>> moments.covariance(ones=0).round(2)
array([[ 533.25, 1066.5 ],
       [1066.5 , 2133.  ]])
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.parameters import refuse, whole
from ameles.mechanisms.linear_queries import FloatArray
from ameles.mechanisms.one_shot.second_moments import SecondMoments
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of a regression, and how far from the exact ones they may be.

    >>> recipe = SecondMoments(epsilon=1, bounds=(1, 1), neighbours="add-remove")
    >>> found = Moments(recipe, np.array([10_000, 2_000, 3_000])).ridge(target=1, penalty=1000)
    >>> isinstance(found, Coefficients), found.values.round(3), round(found.radius, 4)
    (True, array([0.182]), 0.0013)
    """

    values: FloatArray
    radius: float  # in Euclidean norm; infinite if the noise hides the coefficients


@dataclass(frozen=True, eq=False)
class Directions:
    """Principal directions, one a column, the largest first; and their released moments.

    >>> recipe = SecondMoments(epsilon=1, bounds=(1, 1), neighbours="add-remove")
    >>> found = Moments(recipe, np.array([10_000, 0, 3_000])).principal(1)
    >>> isinstance(found, Directions), found.moments, np.abs(found.vectors[:, 0])
    (True, array([10000.]), array([1., 0.]))
    """

    vectors: FloatArray
    moments: FloatArray
    radius: float  # each moment is this close to the true one


class Moments:
    """Statistics that are computed from a release of ``SecondMoments``.

    >>> from ameles.noise import System
    >>> recipe = SecondMoments(epsilon=1, bounds=(1, 1), neighbours="add-remove")
    >>> released = recipe.start(System()).step([[1, 0], [1, 1]])
    >>> Moments(recipe, released).matrix.shape
    (2, 2)
    """

    def __init__(self, recipe: SecondMoments, released: IntArray) -> None:
        if released.shape != (recipe.entries,):
            raise BadInput(f"A release of this recipe has {recipe.entries} numbers.")
        columns = recipe.columns
        matrix = np.zeros((columns, columns))
        matrix[np.triu_indices(columns)] = released
        self._recipe = recipe
        self._matrix = np.triu(matrix) + np.triu(matrix, 1).T

    @property
    def matrix(self) -> FloatArray:
        """The released moments as a symmetric matrix."""
        return self._matrix.copy()

    def noise(self, beta: float) -> float:
        """All sums are this close to the true ones, with probability 1 - beta."""
        return self._recipe.error.bound_entries(beta)

    def ridge(self, *, target: int, penalty: float = 0.0, beta: float = 0.05) -> Coefficients:
        """The column ``target`` as a sum of the others; ``penalty`` keeps coefficients small.

        The radius holds with probability 1 - beta, for the regression on the clamped rows.
        """
        whole(target, "target", low=0, high=self._recipe.columns - 1)
        if not 0 <= penalty < math.inf:
            raise refuse("penalty", "zero or more", penalty)
        others = [i for i in range(self._recipe.columns) if i != target]
        if not others:
            raise BadInput("A regression needs a column besides its target.")
        _, values, vectors = _semidefinite(self._matrix[np.ix_(others, others)])
        products = self._matrix[others, target]
        # along directions without any moment or penalty, the coefficient is 0
        kept = values + penalty > 1e-12 * max(1.0, float(values.max()))
        inverse = np.divide(1.0, values + penalty, out=np.zeros_like(values), where=kept)
        coefficients = vectors @ (inverse * (vectors.T @ products))
        bound = self.noise(beta)
        eta, off = bound * len(others), bound * math.sqrt(len(others))
        least = max(penalty, penalty + float(values.min()) - eta)
        size = float(np.linalg.norm(coefficients))
        told = least > 0 and bool(kept.all())
        radius = (off + eta * size) / least if told else math.inf
        return Coefficients(coefficients, radius)

    def covariance(self, *, ones: int) -> FloatArray:
        """The covariance of the other columns; ``ones`` is the column of ones."""
        whole(ones, "ones", low=0, high=self._recipe.columns - 1)
        others = [i for i in range(self._recipe.columns) if i != ones]
        rows = max(1.0, float(self._matrix[ones, ones]))  # a noisy number may be below 1
        means = self._matrix[others, ones] / rows
        raw = self._matrix[np.ix_(others, others)] / rows - np.outer(means, means)
        return _semidefinite(raw)[0]

    def principal(self, count: int, *, beta: float = 0.05) -> Directions:
        """The ``count`` directions with the largest second moments."""
        whole(count, "count", low=1, high=self._recipe.columns)
        _, values, vectors = _semidefinite(self._matrix)
        radius = self.noise(beta) * self._recipe.columns
        return Directions(vectors[:, ::-1][:, :count], values[::-1][:count], radius)


def _semidefinite(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The nearest positive semidefinite matrix, its eigenvalues and its eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)
    return np.asarray((vectors * values) @ vectors.T), values, np.asarray(vectors)
