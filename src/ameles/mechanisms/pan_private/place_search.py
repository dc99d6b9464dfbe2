"""The shape of a tree with shares by place that suits a horizon: the smallest mean variance.

For given radices all shares are found together.  Let S be the variance of the sum of a group's
estimates and M the mean variance of a count inside of the group, both for a group that has all of
epsilon.  A node at a place costs its own variance in all counts of later places of the group, and
in S; the smaller epsilon that it leaves to its children makes M larger for counts inside of it.
So, given what M and S of a level are worth to the level above, each place is decided on its own:
its rungs are tried.  Values go up the levels and worths go down until nothing changes.  Radices are
searched for; they are compared by the mean over all steps, exactly.

>>> found = best_shape(1024)
>>> found.radices
(10, 10, 11)
>>> found.steps[1]
(11, 11, 11, 10, 10, 9, 8, 7, 0, 0)
>>> best_shape(3).radices
(3,)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.pan_private.place_law import NodeLaws
from ameles.mechanisms.pan_private.place_shape import LADDER, PARTS, PlaceShape, bits_of, weighted

Floats = NDArray[np.float64]
# The radices that are tried: of the top level, and equal ones below it.
MOST_TOP = 24
LOWER = tuple(range(2, 17))
MOST_LEVELS = 20
# The most rungs that a place is tried with: so few are left to its children then.
MOST_RUNGS = 26
# Values and worths settle sooner.
ROUNDS = 40
# A scale at which noise is as good as continuous.
COARSE = Fraction(1 << 20)


@lru_cache(maxsize=1024)
def best_shape(horizon: int) -> PlaceShape:
    """The shape with the smallest mean variance over the horizon."""
    shapes = [best_rungs(horizon, radices) for radices in _candidates(horizon)]
    # of equal ones, the first has the fewest levels
    return min(shapes, key=lambda shape: float(f"{total_variance(shape):.9g}"))


def _candidates(horizon: int) -> Iterator[tuple[int, ...]]:
    """Equal radices below the top, and as many nodes at the top as the horizon needs."""
    if horizon <= MOST_TOP:
        yield (horizon,)
    for below in range(1, MOST_LEVELS):
        for k in LOWER:
            top = -(-horizon // k**below)
            if 2 <= top <= MOST_TOP:
                yield (*(k for _ in range(below)), top)


def best_rungs(horizon: int, radices: tuple[int, ...]) -> PlaceShape:
    """The shape with the best shares for these radices."""
    one = 1 << bits_of(len(radices))
    levels = [_Level(size, one) for size in radices[1:]]
    if levels:
        span = math.prod(radices[:-1])
        inside = np.minimum(horizon - span * np.arange(radices[-1]), span)
        levels[-1].counts = inside / horizon
    least, best = math.inf, [level.rungs for level in levels]
    for _ in range(ROUNDS):
        total, mean = float(radices[0]), (radices[0] - 1) / 2
        for level in levels:
            total, mean = level.valued(total, mean)
        if mean >= least * (1 - 1e-12):
            break
        least, best = mean, [level.rungs for level in levels]
        worth_mean, worth_total = 1.0, 0.0
        for level in reversed(levels):
            worth_mean, worth_total = level.decide(worth_mean, worth_total)
    rungs = tuple(int(rung) for row in best for rung in row[:-1])
    return PlaceShape(horizon, radices, rungs)


class _Level:
    """The rungs of one level's places, and what they lead to."""

    left = np.array(LADDER[:MOST_RUNGS]) / PARTS

    def __init__(self, size: int, one: int) -> None:
        self.rungs = np.zeros(size, dtype=np.int64)
        self.counts = np.full(size, 1 / size)  # the share of a group's counts, by place
        self._one = one  # weights are multiples of one over this
        self._variance = np.zeros(MOST_RUNGS)  # of a node, by its rungs
        self._gain = np.zeros(MOST_RUNGS)  # how much of S below is in that
        self._below = 0.0  # M of the level below

    def valued(self, total: float, mean: float) -> tuple[float, float]:
        """S and M of a group, from those of a group below."""
        found = [weighted(total, rung, self._one) for rung in range(MOST_RUNGS)]
        self._variance = np.array([variance for _, variance in found])
        self._gain = np.array([(weight / self._one) ** 2 for weight, _ in found]) / self.left**2
        self._below = mean
        own = self._variance[self.rungs]
        before = np.cumsum(own) - own
        inside = mean / self.left[self.rungs] ** 2
        return float(own.sum()), float(self.counts @ (before + inside))

    def decide(self, worth_mean: float, worth_total: float) -> tuple[float, float]:
        """Chooses the rungs; gives what M and S of the level below are worth."""
        later = np.cumsum(self.counts[::-1])[::-1] - self.counts
        uses = worth_mean * later + worth_total
        inside = worth_mean * self.counts
        costs = uses[:, None] * self._variance + inside[:, None] * self._below / self.left**2
        self.rungs = np.argmin(costs, axis=1)
        self.rungs[-1] = 0
        return (
            float(inside @ self.left[self.rungs] ** -2.0),
            float(uses @ self._gain[self.rungs]),
        )


def total_variance(shape: PlaceShape) -> float:
    """The sum over all steps of the variance of a count, for noise of scale 1 at epsilon."""
    return NodeLaws(shape, COARSE).total / float(COARSE) ** 2
