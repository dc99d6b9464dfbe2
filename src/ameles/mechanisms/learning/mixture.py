"""Mixture: groups with their shares, centres and spreads, learned from noisy sums.

Theorem      Blum-Dwork-McSherry-Nissim 2005: expectation maximisation, whose steps need only the
             weight, the sum and the sum of squares of each group, with noise.  Each row spreads a
             whole weight of W over the groups; its features are from 0 to ``grid``
Neighbours   stated; a row is added, removed or replaced
Noise        discrete Laplace on every number, in units in which one row adds W of each of its three
             kinds for each feature: scale W (1 + 2 d) T / epsilon (twice that if rows are replaced)
Error        each published weight is within the bound, in units of 1/W rows
Memory       nothing is kept

Sums of features are published in units of the grid, squares in units of its square: a row's part is
rounded to them, and is W at most.  The spread of a group is the same in all directions of one
feature; centres and spreads outside of the range are put back into it.

>>> from ameles.noise import Zero
>>> recipe = Mixture(epsilon=1, rounds=20, features=1, grid=100, groups=2, neighbours="add-remove")
>>> rows = [[10], [12], [8], [80], [85], [90], [95], [75]]
>>> model = recipe.start(Zero()).step(rows)
>>> [round(centre) for (centre,) in model.centres], [round(share, 2) for share in model.shares]
([10, 85], [0.38, 0.62])
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from ameles.core.noise import Noise
from ameles.core.parameters import Whole
from ameles.mechanisms.learning.iterated_sums import Floats, IteratedSums, features_of
from ameles.mechanisms.one_shot.geometric import GeometricError
from ameles.noise.arrays import IntArray

WEIGHT = 1 << 8  # of each row, spread over the groups
FARTHEST = 24 << 10  # a group this far behind the likeliest, in logs of 2^-10, gets nothing


@dataclass(frozen=True, slots=True)
class MixtureModel:
    """Published groups: their shares of all rows, centres and spreads, one row a group.

    >>> MixtureModel(shares=(1.0,), centres=((3.0,),), spreads=((2.0,),)).centres[0]
    (3.0,)
    """

    shares: tuple[float, ...]
    centres: tuple[tuple[float, ...], ...]
    spreads: tuple[tuple[float, ...], ...]


def _model(shares: Floats, centres: Floats, spreads: Floats) -> MixtureModel:
    """The same from arrays."""
    rows = (tuple(map(tuple, table.tolist())) for table in (centres, spreads))
    return MixtureModel(tuple(shares.tolist()), *rows)


@dataclass(frozen=True, kw_only=True)
class Mixture(IteratedSums[MixtureModel]):
    """Groups of rows whose features are whole numbers from 0 to ``grid``.

    >>> Mixture(epsilon=1, rounds=5, features=2, grid=10, groups=3, neighbours="replace").row_norm
    1280
    """

    groups: Whole = Whole(1, 1 << 10)

    @property
    def row_norm(self) -> int:
        """A row adds its weight once, and at most once for each feature and each square."""
        return int(WEIGHT * (1 + 2 * self.features))

    @property
    def error(self) -> GeometricError:
        """How far each published weight may be off, in units of 1/256 rows."""
        return GeometricError(Fraction(self.scale), self.groups)

    def checked(self, x: object) -> IntArray:
        rows, sound = features_of(x, self.features, 0, self.grid)
        return rows[sound]

    def release(self, x: IntArray, noise: Noise) -> MixtureModel:
        model = self._first()
        for _ in range(self.rounds):
            weights = self._weights(x, model)
            # rows by groups by features; exact integers, rounded down row by row
            first = weights[:, :, None] * x[:, None, :] // self.grid
            second = first * x[:, None, :] // self.grid
            sums = np.concatenate(
                [
                    weights.sum(axis=0)[:, None],
                    first.sum(axis=0),
                    second.sum(axis=0),
                ],
                axis=1,
            )
            noisy = sums + noise.laplace(self.scale, sums.shape)
            model = self._next(noisy.astype(np.float64))
        return model

    def _first(self) -> MixtureModel:
        """Public: groups evenly along the range."""
        steps = (np.arange(self.groups) + 0.5) / self.groups * self.grid
        centres = np.repeat(steps[:, None], self.features, axis=1)
        spread = np.full((self.groups, self.features), self.grid / (2 * self.groups))
        return _model(np.full(self.groups, 1 / self.groups), centres, spread)

    def _weights(self, x: IntArray, model: MixtureModel) -> IntArray:
        """How the weight of each row is spread: whole numbers that add up to it.

        In integers, from a public model: a row's weights must depend on no other row, and floats
        do not promise that.
        """
        centres, spreads = np.array(model.centres), np.array(model.spreads)
        # a row is at most 50 spreads away, so this is below 2^44, and in units of 2^-10 below 2^16
        away = (x[:, None, :] << 8) - _whole(centres, 8)
        away = away * _whole(1 / spreads, 30) >> 28
        known = np.log(np.array(model.shares)) - np.log(spreads).sum(axis=1)
        logs = _whole(known, 20) - (away**2).sum(axis=2) // 2
        behind = logs.max(axis=1, keepdims=True) - logs
        odds = _odds()[np.minimum(behind >> 10, FARTHEST)]
        weights = np.asarray(odds * WEIGHT // odds.sum(axis=1, keepdims=True))
        weights[np.arange(len(x)), logs.argmax(axis=1)] += WEIGHT - weights.sum(axis=1)
        return weights

    def _next(self, noisy: Floats) -> MixtureModel:
        """The model of published sums, brought back into the range."""
        d = self.features
        weight = np.maximum(noisy[:, :1], 1.0)
        centres = np.clip(noisy[:, 1 : d + 1] / weight, 0, 1)
        variance = noisy[:, d + 1 :] / weight - centres**2
        spreads = np.sqrt(np.clip(variance, 1 / 2500, 1))  # at least a fiftieth of the range
        shares = weight[:, 0] / weight.sum()
        return _model(shares, centres * self.grid, spreads * self.grid)


def _whole(numbers: Floats, bits: int) -> IntArray:
    """Public numbers in units of 2^-bits."""
    return np.rint(np.ldexp(numbers, bits)).astype(np.int64)


@cache
def _odds() -> IntArray:
    """exp(-k / 2^10) for every place k of the table, in units of 2^-32."""
    return _whole(np.exp(-np.arange(FARTHEST + 1) / 1024), 32)
