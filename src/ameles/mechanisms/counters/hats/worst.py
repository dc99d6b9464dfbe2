"""A bound on the error of a Hats counter at all of its steps: the worst digit of each level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.counters.hats.shape import PARTS, HatsShape
from ameles.mechanisms.counters.hats.weights import BITS, weight_tables
from ameles.noise.arrays import IntArray

Floats = NDArray[np.float64]


@lru_cache(maxsize=256)
def worst_of(shape: HatsShape) -> tuple[float, float]:
    """Of all steps: the largest scale of a term, and a bound on the variance, at scale 1.

    On each lower level the worst digits are taken, at each place of the top level.
    """
    tables = weight_tables(shape)
    largest, variance = 0.0, 0.0
    lows = np.array(shape.lows) / PARTS
    below: list[tuple[IntArray, IntArray] | None] = [None, *tables]
    terms = [level_worst(*pair, below[place]) for place, pair in enumerate(tables[:-1])]
    tops = np.array(shape.tops) / PARTS
    pieces = shape.piece(np.arange(len(tables[-1][0])))
    lefts = np.array([float(left) for left in shape.lefts])[pieces]
    for place, (left, right) in enumerate(zip(*tables[-1], strict=True)):
        cell = shape.cell(shape.levels - 1, place * shape.spans[-2])
        pair = HatPair(cell, int(left), int(right))
        scales = abs(pair.at(np.arange(len(tops)))) / tops
        k = shape.radices[-1]
        nodes = np.arange(max(0, shape.offset + (cell - 1) * k), shape.offset + (cell + 2) * k)
        f = pair.between(nodes - shape.offset, k)
        most, energy = own_worst(f, nodes - place, below[-2])
        # what is left to lower nodes never falls, so the first node that counts has the least
        near = lefts[max(0, place - 2)] * lows[:-1]
        share = np.array([*near, lefts[nodes[0]] * lows[-1]])
        mosts, energies = np.array([*terms, (most, energy)]).T
        largest = max(largest, scales.max(), (mosts / share).max())
        variance = max(variance, 2 * (float(scales @ scales) + float((energies / share**2).sum())))
    return float(largest), variance


def level_worst(
    lefts: IntArray, rights: IntArray, below: tuple[IntArray, IntArray] | None
) -> tuple[float, float]:
    """The largest weight of the nodes below a level, and their largest sum of squares."""
    k, found = len(lefts), (0.0, 0.0)
    nodes = np.arange(0, 3 * k)  # from the knot before the cell
    for digit, (left, right) in enumerate(zip(lefts.tolist(), rights.tolist(), strict=True)):
        f = HatPair(1, left, right).between(nodes, k)
        most, energy = own_worst(f, nodes - k - digit, below)
        found = max(found[0], most), max(found[1], energy)
    return found


def own_worst(
    above: Floats, ahead: IntArray, own: tuple[IntArray, IntArray] | None
) -> tuple[float, float]:
    """The largest weight and sum of squares of nodes, if f of the level above is this there.

    ``ahead`` is how far each node is from the cell of the present step.
    """
    one = 1 << BITS
    lefts, rights = own if own is not None else (np.array([one]), np.array([0]))
    before, after = 1 - above[ahead < 0], above[ahead > 1]
    here = lefts / one - above[ahead == 0]
    next_one = above[ahead == 1]
    following = rights / one - (next_one if next_one.size else 0.0)
    pair = here**2 + following**2
    rest = np.concatenate([before, after, here, following])
    return float(abs(rest).max()), float(before @ before + after @ after + pair.max())


@dataclass(frozen=True)
class HatPair:
    """f of one level at one step: 1 before its cell, two weights for its hats, 0 after it."""

    cell: int
    left: int
    right: int

    def at(self, nodes: IntArray) -> Floats:
        """f at some knots."""
        knots = np.array([1 << BITS, self.left, self.right, 0]) / (1 << BITS)
        at: Floats = knots[np.clip(nodes - self.cell + 1, 0, 3)]
        return at

    def between(self, places: IntArray, k: int) -> Floats:
        """f at places between knots that are ``k`` apart; before the first it is flat."""
        first = max(self.cell - 1, 0)
        knots = np.arange(first, self.cell + 3)
        return np.interp(places, k * knots, self.at(knots))
