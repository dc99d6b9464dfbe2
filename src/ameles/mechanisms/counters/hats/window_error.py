"""The error of counters of hats for windows: the law of a difference of two counts.

A node of a level below the top counts near the two ends of the window only.  A node of the top
level counts with f of the later end less f of the earlier one: 1 inside the window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ameles.mechanisms.counters.hats.bounds import LevelNodes, copies_quantiles, node_quantiles
from ameles.mechanisms.counters.hats.error import FINE, Floats, TopCells, lower_nodes
from ameles.mechanisms.counters.hats.repeated import RepeatedShape
from ameles.mechanisms.counters.hats.weights import BITS, weight_tables
from ameles.mechanisms.counters.hats.worst import level_worst
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.laplace.mixture import Copies, LaplaceMixture, LaplacePart
from ameles.noise.arrays import IntArray

# Differences over more cells of the top level than this are found one by one.
MOST_CELLS = 256


@dataclass(frozen=True)
class HatsWindowError(LaplaceError):
    """The law of the noise of a count, and of differences of counts."""

    shape: RepeatedShape
    scale: Fraction  # of one unit's whole change, over epsilon

    @property
    def rounding(self) -> float:
        """A twelfth: weighted noise is not whole, and is rounded to the nearest whole number."""
        return 1 / 12

    def law(self, t: int) -> LaplaceMixture:
        return self.between(0, t)

    def between(self, before: int, t: int) -> LaplaceMixture:
        """The law of the noise of a total over steps before + 1, ..., t."""
        parts = []
        lower, top = self._ends(np.array([before]), np.array([t]), cells=0)
        for nodes in lower:
            pairs = zip(nodes.scales[0].tolist(), nodes.weights[0].tolist(), strict=True)
            parts += [(Fraction(scale), abs(weight)) for scale, weight in pairs if weight]
        # inside, all weights are one: only those at the two ends are looked at
        old, new = top
        first, last = (int(old.cell[0]) if before else 0), int(new.cell[0])
        edges = np.array(sorted({*range(first, first + 2), *range(last, last + 2)}))
        weights = new.at(edges - last)[0] - (old.at(edges - first)[0] if before else 0.0)
        whole = max(0, last - first - 2)
        span = self.shape.spans[-1]
        scale = self._scales[-1]
        laws = [LaplacePart(lattice, weight, 1) for lattice, weight in parts]
        laws += [LaplacePart(scale, weight / span, 1) for weight in abs(weights).tolist() if weight]
        if whole:
            laws.append(LaplacePart(scale, 1 / span, whole))
        return LaplaceMixture(tuple(laws), varied=True)

    def between_bounds(self, before: IntArray, after: IntArray, beta: float) -> Floats:
        """The quantile of ``between`` for each pair of steps, all at once."""
        starts, ends, place = self._different(before, after)
        return _different_bounds(self, starts.tobytes(), ends.tobytes(), beta)[place]

    def _bounds_of(self, starts: IntArray, ends: IntArray, beta: float) -> Floats:
        """The same of pairs with different laws."""
        nodes = self._nodes_between(starts, ends)
        if nodes is None:
            return super().between_bounds(starts, ends, beta)
        found = node_quantiles(nodes, beta)
        others = np.flatnonzero(np.isnan(found))
        found[others] = super().between_bounds(starts[others], ends[others], beta)
        return found

    def copies_bounds(
        self, before: IntArray, after: IntArray, copies: Sequence[Copies], beta: float
    ) -> Floats:
        """Those of sums of copies, all at once."""
        starts, ends, place = self._different(before, after)
        nodes = self._nodes_between(starts, ends)
        if nodes is None:
            return super().copies_bounds(starts, ends, copies, beta)[place]
        found = copies_quantiles(nodes, copies, beta)
        others = np.flatnonzero(np.isnan(found).any(axis=1))
        found[others] = super().copies_bounds(starts[others], ends[others], copies, beta)
        return found[place]

    def _different(self, before: IntArray, after: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Pairs of steps with different laws, and the place among them of each of these pairs.

        From the third cell of the top level on, every cell repeats the one before it.
        """
        span = self.shape.spans[-1]
        passed = span * np.maximum((before - 1) // span - 2, 0)
        pairs = np.stack([before, after]) - passed
        (starts, ends), place = np.unique(pairs, axis=1, return_inverse=True)
        return starts, ends, place.reshape(-1)

    def _nodes_between(self, before: IntArray, after: IntArray) -> list[LevelNodes] | None:
        """The nodes that count in each difference, level by level; None if they are too many."""
        cells = 2 + int(((after - before) // self.shape.spans[-1]).max(initial=0)) + 1
        if cells > MOST_CELLS:
            return None
        lower, (old, new) = self._ends(before, after, cells=cells)
        first = np.where(before > 0, old.cell, 0)
        knots = first[:, None] + np.arange(cells + 1)
        weights = new.at(knots - new.cell[:, None])
        weights -= old.at(knots - old.cell[:, None]) * (before > 0)[:, None]
        weights /= self.shape.spans[-1]
        scales = np.full_like(weights, float(self._scales[-1]))
        return [*lower, LevelNodes(first, weights, scales)]

    def bounds(self, steps: IntArray, beta: float) -> Floats:
        """``bound`` at each of these steps, all at once."""
        return self.between_bounds(np.zeros_like(steps), steps, beta)

    def worst_law(self, steps: int) -> LaplaceMixture:
        # see ``HatsError``: few large variables have the larger Chernoff bound
        largest, lower, edge = _worst(self.shape)
        passed = (steps - 1) // self.shape.spans[-1]
        variance = (
            lower + edge + 2 * passed / float(self.shape.share(self.shape.levels - 1, 0)) ** 2
        )
        scale = Fraction(math.ceil(largest * FINE)) * self.scale
        count = variance / (2 * largest**2) * (1 + 1e-5)
        return LaplaceMixture((LaplacePart(scale, 1 / FINE, count),), bounding=True)

    @property
    def _scales(self) -> list[Fraction]:
        return scales_of_levels(self.shape, self.scale)

    def _ends(
        self, before: IntArray, after: IntArray, *, cells: int
    ) -> tuple[list[LevelNodes], tuple[TopCells, TopCells]]:
        """The lower nodes of differences, and the cells of the top level of both ends."""
        then, old = lower_nodes(self.shape, np.maximum(before, 1))
        now, new = lower_nodes(self.shape, after)
        levels = []
        for (first, weights), (start, earlier), scale in zip(
            now, then, self._scales[:-1], strict=True
        ):
            scales = np.full_like(weights, float(scale))
            gone = LevelNodes(start, earlier * (before > 0)[:, None], scales)
            levels.append(LevelNodes(first, weights, scales).less(gone))
        return levels, (old, new)


@lru_cache(maxsize=256)
def _different_bounds(error: HatsWindowError, starts: bytes, ends: bytes, beta: float) -> Floats:
    """Remembered, because blocks of steps repeat: of a short window, all have the same pairs."""
    return error._bounds_of(np.frombuffer(starts, np.int64), np.frombuffer(ends, np.int64), beta)


@lru_cache(maxsize=64)
def scales_of_levels(shape: RepeatedShape, scale: Fraction) -> list[Fraction]:
    """The scale of the noise of each level, in its own units."""
    return [scale * span / shape.share(level, 0) for level, span in enumerate(shape.spans)]


def energies(shape: RepeatedShape, before: IntArray, after: IntArray) -> Floats:
    """For each level the mean over these windows of its squared weights, in counts."""
    error = HatsWindowError(shape, Fraction(1))
    cells = 3 + int(((after - before) // shape.spans[-1]).max())
    lower, (old, new) = error._ends(before, after, cells=cells)
    squares = [
        float((nodes.weights**2).sum(axis=1).mean()) * span**2
        for nodes, span in zip(lower, shape.spans, strict=False)
    ]
    knots = old.cell[:, None] + np.arange(cells + 1)
    top = new.at(knots - new.cell[:, None]) - old.at(knots - old.cell[:, None])
    return np.array([*squares, float((top**2).sum(axis=1).mean())])


@lru_cache(maxsize=64)
def _worst(shape: RepeatedShape) -> tuple[float, float, float]:
    """Of all digits: the largest scale of a term, and the variance of lower nodes and of the two
    hats of the top cell, at scale 1."""
    tables = weight_tables(shape)
    largest, lower = 0.0, 0.0
    for level, pair in enumerate(tables):
        most, energy = level_worst(*pair, tables[level - 1] if level else None)
        share = float(shape.share(level, 0))
        largest, lower = max(largest, most / share), lower + 2 * energy / share**2
    share = float(shape.share(shape.levels - 1, 0))
    left, right = (table / (1 << BITS) for table in tables[-1])
    most = max(1.0, float(abs(left).max()), float(abs(right).max()))
    return max(largest, most / share), lower, 2 * float((left**2 + right**2).max()) / share**2
