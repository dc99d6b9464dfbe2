"""The error of Hats without an end: the law of a count, from the weights of its stretch.

As in ``error`` a node counts with its own f less the f of the level above at its knot.  Nodes
of lower levels count near t alone.  Those of the highest level below the top count in the stretch
of t and in the two beside it, which may have another highest level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ameles.mechanisms.counters.hats.endless_shape import EndlessShape, pieces_of
from ameles.mechanisms.counters.hats.endless_weights import stretch_tables
from ameles.mechanisms.counters.hats.endless_worst import worst_until
from ameles.mechanisms.counters.hats.error import FINE, Floats, HatsError, NodeScales, TopCells
from ameles.mechanisms.counters.hats.stretch import StretchShape
from ameles.mechanisms.counters.hats.weights import BITS
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.noise.arrays import IntArray


@dataclass(frozen=True)
class EndlessHatsError(HatsError):
    """The law of each step's noise.

    Nodes of a level are numbered from its birth on, those of the top level by knots.
    """

    endless: EndlessShape

    @classmethod
    def of(cls, endless: EndlessShape, scale: Fraction) -> EndlessHatsError:
        """The error of a counter with this shape."""
        return cls(StretchShape.of(endless, endless.usual), scale, endless)

    @property
    def worst_std(self) -> float:
        """There is no bound for all steps."""
        return math.inf

    def worst_law(self, steps: int) -> LaplaceMixture:
        # see ``HatsError``: few large variables have the larger Chernoff bound
        largest, variance = worst_until(self.endless, self.endless.number(steps - 1))
        scale = Fraction(math.ceil(largest * FINE)) * self.scale
        count = variance / (2 * largest**2) * (1 + 1e-5)
        return LaplaceMixture((LaplacePart(scale, 1 / FINE, count),), bounding=True)

    def _counting(self, steps: IntArray) -> list[tuple[IntArray, Floats]]:
        endless = self.endless
        numbers = np.array([endless.number(t - 1) for t in steps.tolist()], dtype=np.int64)
        rows = [np.zeros(len(steps), dtype=np.int64) for _ in range(endless.levels + 1)]
        weights = [np.zeros((len(steps), 1)) for _ in rows]
        for number in np.unique(numbers).tolist():
            at = np.flatnonzero(numbers == number)
            for level, first, own in _in_stretch(endless, number, steps[at]):
                missing = own.shape[1] - weights[level].shape[1]
                if missing > 0:
                    weights[level] = np.pad(weights[level], ((0, 0), (0, missing)))
                rows[level][at] = first
                weights[level][at, : own.shape[1]] = own
        return list(zip(rows, weights, strict=True))

    def _kinds(self, level: int, nodes: IntArray) -> IntArray:
        if level == self.endless.levels:
            return np.clip(nodes, 0, self.endless.usual - 1)
        usual = self.endless.stretch(self.endless.usual)
        places = self.endless.births[level] + nodes * self.endless.radix**level
        later = np.maximum(0, (places - usual.start) // usual.steps)  # are like the usual one
        starts, _ = _runs(self.endless, level)
        kinds: IntArray = np.searchsorted(starts, places - later * usual.steps, side="right") - 1
        return np.maximum(kinds, 0)

    def _lattices(self) -> list[NodeScales]:
        return _scales(self.endless, self.scale)


@lru_cache(maxsize=1024)
def _runs(endless: EndlessShape, level: int) -> tuple[IntArray, list[Fraction]]:
    """The places from which on the nodes of a level have another share, and those shares."""
    span, places, shares = endless.radix**level, [], []
    for number in range(endless.usual + 1):
        if endless.stretch(number).highest >= level:
            for piece in pieces_of(endless, number):
                for place in (piece.start, piece.start + span):  # the border and what is inside
                    if place < piece.end:
                        places.append(place)
                        shares.append(endless.share(level, place))
    return np.array(places), shares


@lru_cache(maxsize=64)
def _scales(endless: EndlessShape, scale: Fraction) -> list[NodeScales]:
    """The scales that nodes of each level have, those of the top level by their knot."""
    found = [
        tuple(scale * endless.radix**level / share for share in _runs(endless, level)[1])
        for level in range(endless.levels)
    ]
    steps = [endless.stretch(knot + 1).steps for knot in range(endless.usual)]
    tops = (scale * size / endless.knot_share(knot) for knot, size in enumerate(steps))
    return [NodeScales(scales) for scales in (*found, tuple(tops))]


def _in_stretch(
    endless: EndlessShape, number: int, steps: IntArray
) -> list[tuple[int, IntArray, Floats]]:
    """For steps of one stretch: the levels that count, of each the first node and the weights."""
    one, k = endless.stretch(number), endless.radix
    *lower, top = _cells(endless, number, steps - 1 - one.start)
    found = _highest(endless, number, lower[-1], top)
    for level, (own, above) in enumerate(pairwise(lower)):
        first = (above.cell - 1) * k
        nodes = first[:, None] + np.arange(3 * k)
        weights = own.at(nodes - own.cell[:, None])
        places = np.arange(3 * k) / k - 1
        for knot, f in ((-1, np.ones_like(above.left)), (0, above.left), (1, above.right)):
            weights -= f[:, None] * np.maximum(0, 1 - abs(places - knot))
        if level in found:  # the level above is born here: before that, there is the top alone
            _, before = found[level]
            size = before.shape[1]
            together = np.pad(before, ((0, 0), (0, one.steps // one.spans[level] + k)))
            row, place = np.nonzero(nodes >= 0)
            together[row, size + nodes[row, place]] = weights[row, place]
            found[level] = np.full(len(steps), -size), together
        else:
            found[level] = first, weights
    rows = []
    for level, (first, weights) in found.items():
        start = (one.start - endless.births[level]) // k**level
        rows.append((level, first + start, weights / k**level))
    knots = np.arange(number + 1) - (number - 1)
    sizes = np.array([endless.stretch(knot + 1).steps for knot in range(number + 1)], dtype=float)
    return [*rows, (endless.levels, 0 * steps, top.at(knots[None, :]) / sizes)]


def _cells(endless: EndlessShape, number: int, places: IntArray) -> list[TopCells]:
    """The cell of each level that places of a stretch are in, with the weights of its two hats:
    single steps first, the top level last."""
    shape = StretchShape.of(endless, number)
    found = [TopCells(places, np.ones(len(places)), np.zeros(len(places)))]
    for level, table in enumerate(stretch_tables(endless, number), start=1):
        digit = shape.digit(level, places)
        left, right = (weights[digit] / (1 << BITS) for weights in table)
        found.append(TopCells(places // shape.spans[level], left, right))
    return found


def _highest(
    endless: EndlessShape, number: int, own: TopCells, top: TopCells
) -> dict[int, tuple[IntArray, Floats]]:
    """The nodes that are next to the top: in this stretch, and in those before and after it.

    The first node of each level is counted from the start of this stretch.
    """
    one, after = endless.stretch(number), endless.stretch(number + 1)
    left, right = top.left[:, None], top.right[:, None]
    if number == 0:
        left = right  # the first hat is flat
    at = np.arange(one.cells) / one.cells
    nodes = np.arange(one.cells) - own.cell[:, None]
    here = own.at(nodes) - left * (1 - at) - right * at
    later = np.arange(after.cells) / after.cells
    next_ones = np.arange(one.cells, one.cells + after.cells) - own.cell[:, None]
    first = np.zeros(len(here), dtype=np.int64)
    found = {}
    if after.highest == one.highest:
        rest = own.at(next_ones) - right * (1 - later)
    else:  # the highest level has a node at the knot where another one is born
        rest = own.at(next_ones[:, :1])
        birth = (one.start - after.start) // after.spans[-1]
        found[after.highest] = first - birth, -right * (1 - later)
    found[one.highest] = first, np.concatenate([here, rest], axis=1)
    if number == 0:
        return found
    before = endless.stretch(number - 1)
    passed = np.arange(before.cells) / before.cells if number > 1 else np.ones(before.cells)
    gone = (1 - left) * passed
    if before.highest == one.highest:
        first, weights = found[one.highest]
        found[one.highest] = first - before.cells, np.concatenate([gone, weights], axis=1)
    else:
        found[before.highest] = first - before.cells, gone
    return found
