"""The weights of Hats without an end, by least squares, for each stretch between two top knots.

Lower levels have a pair of weights for each digit, as in ``weights``.  The top level has one
for each cell of the level below: its left hat falls back into the stretch before, which is
shorter, its right hat reaches over the next one, which is longer.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from ameles.mechanisms.counters.hats.endless_shape import EndlessShape
from ameles.mechanisms.counters.hats.weights import (
    ROUNDS,
    Floats,
    WeightTables,
    closed_form,
    fitted_pairs,
    interpolated,
    rounded,
    solved,
    step_weights,
)

FAR = 1 << 40  # further than any cell


@lru_cache(maxsize=256)
def stretch_tables(shape: EndlessShape, number: int) -> WeightTables:
    """For each level from 1 the weights of the cell's two hats, by digit; the top's by cell of the
    level below."""
    if number > shape.usual:
        return stretch_tables(shape, shape.usual)
    if number == 0:
        right = _before_the_first_knot(shape)
        return ((rounded(np.zeros_like(right)), rounded(right)),)
    k, (cost, _), top = shape.radix, _costs(shape, number), _Top(shape, number)
    lower = [closed_form(k) for _ in cost[1:]]
    for _ in range(ROUNDS):
        for place in range(len(lower)):
            below = lower[place - 1] if place else None
            if place + 1 < len(lower):
                above = interpolated(*lower[place + 1])
            else:
                above = top.above(lower[-1])
            lower[place] = fitted_pairs(k, cost[place], below, cost[place + 1], above)
    pairs = [*lower, top.fitted(lower[-1] if lower else None)]
    return tuple((rounded(left), rounded(right)) for left, right in pairs)


def _costs(shape: EndlessShape, number: int) -> tuple[list[float], Floats]:
    """The variance of a node of each level below the top, up to a factor, and that of each node of
    the highest one."""
    levels, nodes = shape.fitted_to(number)
    return [_cost(share) for share in levels], np.array([_cost(share) for share in nodes])


def _cost(share: Fraction) -> float:
    return float(1 / share) ** 2


def _before_the_first_knot(shape: EndlessShape) -> Floats:
    """The weight of the first hat of the top level at each step before its knot."""
    steps, cells = np.arange(1.0, shape.first + 1), shape.stretch(1).cells
    own, (step, *_), (_, after) = _cost(shape.knot_share(0)), _costs(shape, 0)[0], _costs(shape, 1)
    later = float((after * (1 - np.arange(cells) / cells) ** 2).sum())
    weights: Floats = step * steps / (step * shape.first + later + own)
    return weights


class _Top:
    """The top level in one stretch: its two hats, over the nodes below in this stretch and in
    those beside it."""

    def __init__(self, shape: EndlessShape, number: int) -> None:
        counts = [shape.stretch(number + place).cells for place in (-1, 0, 1)]
        before, here, after = (np.arange(count) / count for count in counts)
        self._here = slice(counts[0], counts[0] + counts[1])
        flat = np.ones_like(before)  # the first hat is 1 before its knot
        self._left = np.concatenate([before if number > 1 else flat, 1 - here, 0 * after])
        self._right = np.concatenate([0 * before, here, 1 - after])
        passed = 1 - before if number > 1 else 0 * before
        self._passed = np.concatenate([passed, 0 * here, 0 * after])
        self._cost = np.concatenate([_costs(shape, number + place)[1] for place in (-1, 0, 1)])
        self._own = _cost(shape.knot_share(number - 1)), _cost(shape.knot_share(number))
        self._cells = np.arange(counts[1])
        later = np.arange(counts[2]) + (FAR if shape.born(number + 1) else counts[1])
        self._places = np.concatenate([np.full(counts[0], -FAR), self._cells, later])

    def fitted(self, below: tuple[Floats, Floats] | None) -> tuple[Floats, Floats]:
        """The best pair for each cell."""
        left, right, cost = self._left, self._right, self._cost
        rest = step_weights(self._places, self._cells, below) - self._passed
        return solved(
            (cost * rest * left).sum(1),
            (cost * rest * right).sum(1),
            float((cost * left * left).sum()) + self._own[0],
            float((cost * left * right).sum()),
            float((cost * right * right).sum()) + self._own[1],
        )

    def above(self, below: tuple[Floats, Floats]) -> tuple[float, float]:
        """The mean of the top's f at the two lower knots around t."""
        left, right = self.fitted(below)
        at = self._cells / len(self._cells)
        here = left * (1 - at) + right * at
        after = left * (1 - at - at[1]) + right * (at + at[1])
        return float(here.mean()), float(after.mean())
