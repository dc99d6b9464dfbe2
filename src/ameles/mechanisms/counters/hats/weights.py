"""The weights of a Hats counter: how much of each residual is in a count, by least squares.

The count of t is the sum of the nodes of single steps up to t, plus f times the residual of each
hat: its noise less the combination of lower noises that has the same data in it.  f is 1 for hats
left of the cell that t is in and 0 for hats right of it; for the two hats of the cell it is found
here, for each digit: the place of t in the cell, in cells of the level below.  So the noise of a
lower node counts with (its own f) - (the f of the level above, interpolated at its knot), and the
mean variance is a quadratic of all f.  It is made small level by level, a few times.  The top
level has a pair of its own for every place, since its shares differ and its last knot is missing.

Weights are rounded to multiples of 2**-BITS.  The guarantee needs no more: residuals have no data
in them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.counters.hats.repeated import RepeatedShape
from ameles.mechanisms.counters.hats.shape import PARTS, HatsShape
from ameles.noise.arrays import IntArray

BITS = 10
# Levels influence each other little, so a few rounds are enough.
ROUNDS = 3

Floats = NDArray[np.float64]
# For each level from 1 the weights of the left and the right hat of a cell.
WeightTables: TypeAlias = tuple[tuple[IntArray, IntArray], ...]


@lru_cache(maxsize=64)
def weight_tables(shape: HatsShape) -> WeightTables:
    """For each level from 1 the weights of the cell's two hats, by digit; the top's by place."""
    if isinstance(shape, RepeatedShape):
        return _repeated(shape)
    lower = [closed_form(k) for k in shape.radices[:-1]]
    cost = [float(1 / shape.share(level, 0)) ** 2 for level in range(shape.levels - 1)]
    top = _Top(shape)
    for _ in range(ROUNDS):
        for place, k in enumerate(shape.radices[:-1]):
            below = lower[place - 1] if place else None
            if place + 1 < len(lower):
                above = interpolated(*lower[place + 1])
            else:
                above = top.above(lower[-1])
            lower[place] = fitted_pairs(k, cost[place], below, cost[place + 1], above)
    pairs = [*lower, top.fitted(lower[-1] if lower else None)]
    return tuple((rounded(left), rounded(right)) for left, right in pairs)


def _repeated(shape: RepeatedShape) -> WeightTables:
    """The same for a shape without an end, for differences of counts that are far apart.

    At the top a hat of the later step's cell counts with f, one of the earlier step's with 1 - f.
    Every digit is as often the later one as the earlier, so f is best near a half there.
    """
    pairs = [closed_form(k) for k in shape.radices]
    cost = [float(1 / shape.share(level, 0)) ** 2 for level in range(shape.levels)]
    for _ in range(ROUNDS):
        for place, k in enumerate(shape.radices):
            below = pairs[place - 1] if place else None
            last = place + 1 == len(pairs)
            above = (0.5, 0.5) if last else interpolated(*pairs[place + 1])
            pairs[place] = fitted_pairs(k, cost[place], below, cost[place + 1], above)
    return tuple((rounded(left), rounded(right)) for left, right in pairs)


def rounded(weights: Floats) -> IntArray:
    """Weights in units of 2**-BITS."""
    whole: IntArray = np.rint(weights * (1 << BITS)).astype(np.int64)
    return whole


def closed_form(k: int) -> tuple[Floats, Floats]:
    """The weights in the limit of many cells, by the place u in the cell."""
    u = (np.arange(k) + 0.5) / k
    return 8 / 15 + 8 * u / 5 - u * u, u * u - 2 * u / 5 - 2 / 15


def interpolated(left: Floats, right: Floats) -> tuple[float, float]:
    """The mean of a level's f at the two knots of the level below around t."""
    k = len(left)
    at = np.arange(k) / k
    here = left * (1 - at) + right * at
    after = left * (1 - at - 1 / k) + right * (at + 1 / k)
    return float(here.mean()), float(after.mean())


def step_weights(places: IntArray, digits: IntArray, below: tuple[Floats, Floats] | None) -> Floats:
    """f of the lower nodes at these places, if t is at each of the digits: a smooth step down."""
    ahead = places - digits[:, None]
    if below is None:
        return (ahead <= 0).astype(np.float64)
    return np.where(ahead == 0, below[0].mean(), np.where(ahead == 1, below[1].mean(), ahead < 0))


def fitted_pairs(
    k: int,
    cost: float,
    below: tuple[Floats, Floats] | None,
    own: float,
    above: tuple[float, float],
) -> tuple[Floats, Floats]:
    """The best pair for each digit, with what is below and above as it is."""
    places = np.arange(-k, 2 * k)
    at = places / k
    left, right = np.maximum(0, 1 - abs(at)), np.maximum(0, 1 - abs(at - 1))
    rest = step_weights(places, np.arange(k), below) - np.maximum(0, 1 - abs(at + 1))
    a = cost * (rest * left).sum(1) + own * above[0]
    b = cost * (rest * right).sum(1) + own * above[1]
    diagonal, other = cost * float((left * left).sum()) + own, cost * float((left * right).sum())
    corner = cost * float((right * right).sum()) + own
    return solved(a, b, diagonal, other, corner)


def solved(a: Floats, b: Floats, diagonal: Any, other: Any, corner: Any) -> tuple[Floats, Floats]:
    """The two weights at which a quadratic is least, for each place."""
    whole = diagonal * corner - other * other
    return (a * corner - b * other) / whole, (b * diagonal - a * other) / whole


class _Top:
    """The top level: a pair of weights for each place, one place a cell of the level below."""

    def __init__(self, shape: HatsShape) -> None:
        k, self._count = shape.radices[-1], -(-shape.horizon // shape.spans[-2])
        self._places = np.arange(self._count)
        cell = (self._places - shape.offset) // k
        # the nodes below that the cell's two hats and the one before reach, for each place
        self._reach = (cell * k + shape.offset)[:, None] + np.arange(-k, 2 * k)
        at = (self._reach - shape.offset) / k - cell[:, None]
        first = cell == 0
        self._left = np.where(first[:, None] & (at < 0), 1.0, np.maximum(0, 1 - abs(at)))
        self._left[cell < 0] = 0
        self._right = np.maximum(0, 1 - abs(at - 1))
        self._right[(cell < 0)[:, None] & (at < 1)] = 1
        self._right[cell + 1 >= shape.knots] = 0
        self._before = np.where((cell > 0)[:, None], np.maximum(0, 1 - abs(at + 1)), 0.0)
        exists = self._reach >= 0
        lower = np.array([float(left) for left in shape.lefts])[shape.piece(self._reach)]
        share = shape.lows[-1] / PARTS
        self._cost = exists / (share * lower) ** 2
        tops = np.array([*shape.tops, 1, 1]) / PARTS
        self._own = 1 / tops[np.clip(cell, 0, None)] ** 2, 1 / tops[cell + 1] ** 2
        weight = 1 / lower[:, k] ** 2
        self._weight = weight / weight.sum()

    def fitted(self, below: tuple[Floats, Floats] | None) -> tuple[Floats, Floats]:
        """The best pair for each place."""
        rest = step_weights(self._reach, self._places, below) - self._before
        left, right, cost = self._left, self._right, self._cost
        a, b = (cost * rest * left).sum(1), (cost * rest * right).sum(1)
        diagonal = (cost * left * left).sum(1) + self._own[0]
        corner = (cost * right * right).sum(1) + self._own[1]
        return solved(a, b, diagonal, (cost * left * right).sum(1), corner)

    def above(self, below: tuple[Floats, Floats]) -> tuple[float, float]:
        """The mean of the top's f at the two lower knots around t, where noise is large more."""
        left, right = self.fitted(below)
        f = self._before + left[:, None] * self._left + right[:, None] * self._right
        ahead = self._reach - self._places[:, None]
        here, after = f[ahead == 0] @ self._weight, f[ahead == 1] @ self._weight
        return float(here), float(after)
