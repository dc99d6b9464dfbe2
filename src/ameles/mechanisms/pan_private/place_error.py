"""The error of a tree with shares by place: a weighted sum of two noises for each ended node."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.laplace.clusters import Clusters
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart, rounded_stds
from ameles.mechanisms.pan_private.place_clusters import GroupClusters
from ameles.mechanisms.pan_private.place_law import FINE, NodeLaws, Spectrum, laws_of
from ameles.mechanisms.pan_private.place_shape import PlaceShape
from ameles.noise.arrays import IntArray

# Below this deviation, noise has so few values that rounding does not add a twelfth.
FEW_VALUES = 1.0


@dataclass(frozen=True)
class PlaceError(LaplaceError):
    """The estimates of the nodes that a count is made of, and what announcements added.

    When announcements were made is not asked: the law is that of the worst times.
    """

    shape: PlaceShape
    scale: Fraction  # of a node with all of epsilon
    announcements: int = 0

    @property
    def rounding(self) -> float:
        """A twelfth if estimates have weights: they are rounded to the nearest whole number."""
        return 1 / 12 if self.shape.levels > 1 else 0.0

    @property
    def worst_std(self) -> float:
        """The largest standard deviation of a step."""
        return math.sqrt(self._worst_variance + self.rounding)

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation of the noise at step ``t``."""
        return float(self.stds(np.array([t]))[0])

    def stds(self, steps: IntArray) -> NDArray[np.float64]:
        """``std`` at each of these steps, all at once."""
        deviations = np.sqrt([self._variance(t) for t in steps.tolist()])
        few = np.flatnonzero(deviations < FEW_VALUES)
        deviations[few] = rounded_stds(map(self.law, steps[few].tolist()))
        return deviations

    def _variance(self, t: int) -> float:
        """The variance at step t, with that of rounding unless the noise has few values."""
        variance, rounding = self._announced(1).variance, 0.0
        for level, rung, digit in self.shape.cover(t):
            variance += self._laws.sums(level, rung)[digit]
            if digit and self.shape.corrects(level, digit):
                rounding = self.rounding
        return variance + rounding

    def law(self, t: int) -> LaplaceMixture:
        *longer, (_, rung, steps) = self.shape.cover(t)
        parts = self._laws.parts_above(tuple(longer), self.announcements)
        return self._mixture(rung, steps, parts, roundings=1)

    def between(self, before: int, t: int) -> LaplaceMixture:
        if not before:
            return replace(self.law(t), roundings=2)
        old, new = self.shape.cover(before), self.shape.cover(t)
        if old == new:
            return LaplaceMixture(())
        # Above, both have the same nodes; here the later count has more; below, it has others.
        split = next(i for i, (one, other) in enumerate(zip(old, new, strict=True)) if one != other)
        (level, _, first), (_, rung, end) = old[split], new[split]
        if not level:
            announced = Spectrum.joined([self._announced(2)])
            return self._mixture(rung, end - first, announced.parts, roundings=2)
        spectra = [self._announced(2)]
        inside = [digit for *_, digit in old[split + 1 :]]
        if any(inside):  # in place of these, the later count has the node that they are in
            spectra += self._less(level, rung, first, 1.0, inside)
            first += 1
        spectra.append(self._laws.some(level, rung, range(first, end)))
        *longer, (_, rung, steps) = new[split + 1 :]
        spectra += [self._laws.some(depth, own, range(digit)) for depth, own, digit in longer]
        return self._mixture(rung, steps, Spectrum.joined(spectra).parts, roundings=2)

    def clusters(self, last: int) -> Clusters | None:
        return None if self.announcements else GroupClusters(self._laws, last)

    def worst_law(self, steps: int) -> LaplaceMixture:
        # A sum of Laplace variables has the larger Chernoff bound the fewer and larger they are,
        # if their variance is the same: log 1 / (1 - x) is convex in x, the square of the scale.
        largest = Fraction(math.ceil(self._laws.largest * FINE))
        count = self._worst_variance / (2 * (float(largest) / FINE) ** 2)
        return LaplaceMixture((LaplacePart(largest, 1 / FINE, count),), bounding=True)

    @property
    def _laws(self) -> NodeLaws:
        return laws_of(self.shape, self.scale)

    @property
    def _worst_variance(self) -> float:
        """The largest variance of a step, without rounding."""
        return self._laws.worst + self._announced(1).variance

    def _announced(self, counts: int) -> Spectrum:
        """The noises of announcements, in so many counts."""
        return self._laws.all_announced(counts * self.announcements)

    def _less(
        self, level: int, rung: int, place: int, weight: float, inside: list[int]
    ) -> Iterator[Spectrum]:
        """A node's estimate times a weight, less those of the nodes that a count has inside of it.

        ``inside``: how many those are, level by level from the next one on.
        """
        laws = self._laws
        yield laws.own(level, rung, place).times(weight)
        weight *= laws.weight(level, place)
        rung = self.shape.below(level, rung, place)
        level -= 1
        counted, *inside = inside
        yield laws.some(level, rung, range(counted)).times(1 - weight)
        if any(inside):
            yield from self._less(level, rung, counted, weight, inside)
            counted += 1
        yield laws.some(level, rung, range(counted, self.shape.radices[level])).times(weight)

    def _mixture(
        self, rung: int, steps: int, others: tuple[LaplacePart, ...], *, roundings: int
    ) -> LaplaceMixture:
        """The law of single steps of a group on a rung, whose weight is 1, and of other noises."""
        scale = self._laws.scale(0, rung, 0)
        single = (LaplacePart(scale, 1.0, 2 * steps),) if scale and steps else ()
        return LaplaceMixture((*single, *others), roundings=roundings, varied=True)
