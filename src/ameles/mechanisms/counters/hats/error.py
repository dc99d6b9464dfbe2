"""The error of the Hats counter: a weighted sum of the noises of all nodes around t.

A node of level l counts with f_l at its knot less f_(l+1) there, see ``weights``; this is
zero except within two cells of the level above around t.  At the top it counts with f alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.mechanisms.counters.hats.bounds import LevelNodes, copies_quantiles, node_quantiles
from ameles.mechanisms.counters.hats.shape import PARTS, HatsShape
from ameles.mechanisms.counters.hats.weights import BITS, weight_tables
from ameles.mechanisms.counters.hats.worst import worst_of
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.laplace.clusters import Cluster, Clusters
from ameles.mechanisms.laplace.mixture import Copies, LaplaceMixture, LaplacePart, quantiles
from ameles.mechanisms.laplace.rounded import WeightedSum, rounded_variances
from ameles.noise.arrays import IntArray

Floats = NDArray[np.float64]
# The law that bounds all steps has noise on so fine a lattice that it is as good as continuous.
FINE = 1 << 20
# Below this deviation, noise has so few values that rounding does not add a twelfth.
FEW_VALUES = 1.0
# How many steps of a block are simulated together.
BLOCK = 16
# How many blocks are worked on together, so that their numbers stay in the cache.
TOGETHER = 128


@dataclass(frozen=True)
class NodeScales:
    """The scales that the noises of a level have; what is computed from them is computed once."""

    scales: tuple[Fraction, ...]

    @cached_property
    def sizes(self) -> Floats:
        """The same as floats."""
        return np.array([float(scale) for scale in self.scales])

    @cached_property
    def variances(self) -> Floats:
        """2 q / (1 - q)^2 with q = exp(-1 / b), which may be too small for a float."""
        rates = np.array([float(1 / scale) for scale in self.scales])
        variances: Floats = 2 * np.exp(-rates) / np.expm1(-rates) ** 2
        return variances


@dataclass(frozen=True)
class NodeRow:
    """Nodes of one level that follow each other, and how much of their noise counts at a step."""

    level: int
    first: int
    weights: Floats

    @property
    def end(self) -> int:
        return self.first + len(self.weights)

    def less(self, earlier: NodeRow) -> list[NodeRow]:
        """The difference of two steps; nodes between those of distant steps do not count."""
        if earlier.end <= self.first:
            return [earlier, self]
        first, end = min(self.first, earlier.first), max(self.end, earlier.end)
        weights = np.zeros(end - first)
        weights[self.first - first : self.end - first] = self.weights
        weights[earlier.first - first : earlier.end - first] -= earlier.weights
        return [NodeRow(self.level, first, weights)]


@dataclass(frozen=True)
class HatsError(LaplaceError):
    """The law of each step's noise, from the weights that the process has."""

    shape: HatsShape
    scale: Fraction  # of one unit's whole change, over epsilon

    @property
    def rounding(self) -> float:
        """A twelfth: weighted noise is not whole, and is rounded to the nearest whole number."""
        return 1 / 12

    @property
    def worst_std(self) -> float:
        """A bound on the standard deviation at every step."""
        return math.sqrt(float(self.scale) ** 2 * worst_of(self.shape)[1] + self.rounding)

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation of the noise at step ``t``."""
        return _std(self, int(t))

    def stds(self, steps: IntArray) -> Floats:
        """``std`` at each of these steps, all at once."""
        total = np.full(len(steps), self.rounding)
        lattices = self._lattices()
        for level, (first, weights) in enumerate(self._counting(steps)):
            nodes = first[:, None] + np.arange(weights.shape[1])
            variances = lattices[level].variances[self._kinds(level, nodes)]
            total += (weights**2 * variances).sum(axis=1)
        deviations: Floats = np.sqrt(total)
        # With few values the rounding adds something else.
        few = np.flatnonzero(deviations < FEW_VALUES)
        sums = self._sums(steps[few])
        deviations[few] = np.sqrt(rounded_variances(sums))
        whole = few[[not (one.weights != 1).any() for one in sums]]  # nothing is rounded
        deviations[whole] = [self.law(t).std for t in steps[whole].tolist()]
        return deviations

    def law(self, t: int) -> LaplaceMixture:
        return next(self._laws(self._rows(np.array([t])), roundings=1))

    def between(self, before: int, t: int) -> LaplaceMixture:
        return next(self._between(np.array([before]), np.array([t])))

    def bounds(self, steps: IntArray, beta: float) -> Floats:
        """``bound`` at each of these steps, all at once."""
        found = node_quantiles(self._nodes(steps), beta, roundings=1)
        others = np.flatnonzero(np.isnan(found))
        laws = self._laws(self._rows(steps[others]), roundings=1)
        found[others] = quantiles(laws, beta)
        return found

    def between_bounds(self, before: IntArray, after: IntArray, beta: float) -> Floats:
        """The quantile of ``between`` for each pair of steps, all at once."""
        found = node_quantiles(self._nodes_between(before, after), beta)
        others = np.flatnonzero(np.isnan(found))
        found[others] = quantiles(self._between(before[others], after[others]), beta)
        return found

    def copies_bounds(
        self, before: IntArray, after: IntArray, copies: Sequence[Copies], beta: float
    ) -> Floats:
        """Those of sums of copies, all at once."""
        found = copies_quantiles(self._nodes_between(before, after), copies, beta)
        others = np.flatnonzero(np.isnan(found).any(axis=1))
        found[others] = super().copies_bounds(before[others], after[others], copies, beta)
        return found

    def worst_law(self, steps: int) -> LaplaceMixture:
        # A sum of Laplace variables has the larger Chernoff bound the fewer and larger they are,
        # if their variance is the same: log 1 / (1 - x) is convex in x, the square of the scale.
        largest, variance = worst_of(self.shape)
        scale = Fraction(math.ceil(largest * FINE)) * self.scale
        count = variance / (2 * largest**2) * (1 + 1e-5)
        return LaplaceMixture((LaplacePart(scale, 1 / FINE, count),), bounding=True)

    def clusters(self, last: int) -> Clusters:
        def some(t: IntArray, alone: bool) -> Iterator[Cluster]:
            for start in range(0, len(t), TOGETHER):
                places = np.arange(start, min(start + TOGETHER, len(t)))
                yield self._cluster(places, t[places], last, alone=alone)

        return some

    def _cluster(self, places: IntArray, t: IntArray, last: int, *, alone: bool) -> Cluster:
        """Steps with those around them: the nodes that count move on with the cell."""
        inside = 1 if alone else BLOCK
        start = t - (t - 1) % inside
        block = start[:, None] + np.arange(inside)
        rows = np.arange(len(t))[:, None, None]
        weights, scales = [], []
        levels = self._counting(np.minimum(block, last).reshape(-1))
        lattices = self._lattices()
        for level, (flat, counted) in enumerate(levels):
            first = flat.reshape(block.shape)
            behind = first - first[:, :1]
            size = counted.shape[1]
            own = counted.reshape(*block.shape, size)
            if behind.any():  # the cell changes within a block
                moved = np.zeros((*block.shape, int(behind.max()) + size))
                at = behind[:, :, None] + np.arange(size)
                moved[rows, np.arange(inside)[:, None], at] = own
                own = moved
            nodes = first[:, :1] + np.arange(own.shape[2])
            law = lattices[level].sizes
            scales.append(law[np.clip(self._kinds(level, nodes), 0, len(law) - 1)])
            weights.append(own)
        return Cluster(
            places,
            np.concatenate(weights, axis=2),
            np.concatenate(scales, axis=1),
            t - start,
            block <= last,
        )

    def _between(self, before: IntArray, after: IntArray) -> Iterator[LaplaceMixture]:
        pairs = zip(self._rows(before), self._rows(after), before.tolist(), strict=True)
        differences = (
            [part for row, old in zip(new, then, strict=True) for part in row.less(old)]
            if at
            else new
            for then, new, at in pairs
        )
        return self._laws(differences)

    def _nodes(self, steps: IntArray) -> list[LevelNodes]:
        """The nodes that count at each step, level by level, as arrays."""
        levels, lattices = [], self._lattices()
        for level, (first, weights) in enumerate(self._counting(steps)):
            scales = lattices[level].sizes
            nodes = first[:, None] + np.arange(weights.shape[1])
            kinds = np.where(weights != 0, self._kinds(level, nodes), 0)
            levels.append(LevelNodes(first, weights, scales[kinds]))
        return levels

    def _nodes_between(self, before: IntArray, after: IntArray) -> list[LevelNodes]:
        """The nodes that count in each difference, level by level."""
        if not before.any():
            return self._nodes(after)
        both = self._nodes(np.concatenate([after, np.maximum(before, 1)]))
        new = [level.part(slice(len(after))) for level in both]
        old = [level.part(slice(len(after), None)).only(before > 0) for level in both]
        return [one.less(other) for one, other in zip(new, old, strict=True)]

    def _sums(self, steps: IntArray) -> list[WeightedSum]:
        """The law of each step as arrays alone."""
        levels = self._nodes(steps)
        weights = abs(np.concatenate([level.weights for level in levels], axis=1))
        scales = np.concatenate([level.scales for level in levels], axis=1)
        some = (weight != 0 for weight in weights)
        rows = [(b[of], a[of]) for b, a, of in zip(scales, weights, some, strict=True)]
        return [WeightedSum(b, a, np.ones(len(a))) for b, a in rows]

    def _rows(self, steps: IntArray) -> Iterator[list[NodeRow]]:
        """For each step the nodes that count, level by level."""
        levels = self._counting(np.maximum(steps, 1))
        for place in range(len(steps)):
            yield [
                NodeRow(level, int(first[place]), weights[place])
                for level, (first, weights) in enumerate(levels)
            ]

    def _laws(
        self, steps: Iterable[list[NodeRow]], *, roundings: int = 2
    ) -> Iterator[LaplaceMixture]:
        lattices = self._lattices()
        for rows in steps:
            parts = []
            for row in rows:
                kinds = self._kinds(row.level, np.arange(row.first, row.end)).tolist()
                scales = lattices[row.level].scales
                parts += [
                    LaplacePart(scales[kind], weight, 1)
                    for kind, weight in zip(kinds, abs(row.weights).tolist(), strict=True)
                    if weight
                ]
            yield LaplaceMixture(tuple(parts), roundings=roundings, varied=True)

    def _counting(self, steps: IntArray) -> list[tuple[IntArray, Floats]]:
        """For each level the first node that can count at each step, and the weights from there
        on."""
        levels, top = lower_nodes(self.shape, steps)
        knots = np.arange(self.shape.knots) - top.cell[:, None]
        weights = top.at(knots) / self.shape.spans[-1]
        return [*levels, (np.zeros(len(steps), dtype=np.int64), weights)]

    def _kinds(self, level: int, nodes: IntArray) -> IntArray:
        """The place of each node's law in ``_lattices``."""
        if level == self.shape.levels - 1:
            return nodes
        return self.shape.piece(nodes * self.shape.spans[level] // self.shape.spans[-2])

    def _lattices(self) -> list[NodeScales]:
        """The scales that nodes have: on each lower level by piece, and of those at the top."""
        return _lattices(self.shape, self.scale)


@dataclass(frozen=True)
class TopCells:
    """The cell of the top level that each step is in, and the weights of its two hats."""

    cell: IntArray
    left: Floats
    right: Floats

    def at(self, knots: IntArray) -> Floats:
        """f at knots, each counted from the cell's own: before it all count, after it none."""
        f: Floats = np.where(knots < 0, 1.0, 0.0) + (knots == 0) * self.left[:, None]
        f += (knots == 1) * self.right[:, None]
        return f


def lower_nodes(
    shape: HatsShape, steps: IntArray
) -> tuple[list[tuple[IntArray, Floats]], TopCells]:
    """For each level below the top the first node that can count, and the weights from there on."""
    places, rows = steps - 1, np.arange(len(steps))
    cell, left, right = places, np.ones(len(steps)), np.zeros(len(steps))
    levels = []
    for level, (k, table) in enumerate(zip(shape.radices, weight_tables(shape), strict=True)):
        own, own_left, own_right = cell, left, right
        top = level + 2 == shape.levels
        start, offset = (shape.start, shape.offset) if top else (0, 0)
        cell = (places - start) // shape.spans[level + 1]
        digit = shape.digit(level + 1, places)
        left, right = (weights[digit] / (1 << BITS) for weights in table)
        first = offset + (cell - 1) * k
        # f of this level is 1 at all nodes before its own cell, and 0 at those after it
        ahead, nodes = own - first, np.arange(3 * k)
        weights = _interpolated(cell, left, right, k)
        np.subtract(nodes < ahead[:, None], weights, out=weights)
        weights[rows, ahead] += own_left
        weights[rows, ahead + 1] += own_right
        if (first < 0).any():
            weights[first[:, None] + nodes < 0] = 0
        weights /= shape.spans[level]
        levels.append((first, weights))
    return levels, TopCells(cell, left, right)


def _interpolated(cell: IntArray, left: Floats, right: Floats, k: int) -> Floats:
    """f of a level at the nodes of the level below, k in a cell, in the cell before, this one and
    the next."""
    at = np.arange(-k, 2 * k) / k
    here = np.where(cell < 0, right, left)
    before = np.where(cell > 0, 1.0, here)  # before the first knot it is flat
    hats = [np.maximum(0, 1 - abs(at - knot)) for knot in (-1, 0, 1)]
    f: Floats = before[:, None] * hats[0]
    for values, hat in ((here, hats[1]), (right, hats[2])):
        f += values[:, None] * hat
    return f


@lru_cache(maxsize=1024)  # every recipe that is made or read again asks about its last step
def _std(error: HatsError, t: int) -> float:
    return float(error.stds(np.array([t]))[0])


@lru_cache(maxsize=64)
def _lattices(shape: HatsShape, scale: Fraction) -> list[NodeScales]:
    shares = [[Fraction(low, PARTS) * left for left in shape.lefts] for low in shape.lows]
    shares.append([Fraction(top, PARTS) for top in shape.tops])
    return [
        NodeScales(tuple(scale * span / share for share in row))
        for span, row in zip(shape.spans, shares, strict=True)
    ]
