"""A bound on the error of Hats without an end at all steps so far: the worst digits."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ameles.mechanisms.counters.hats.endless_shape import EndlessShape, pieces_of
from ameles.mechanisms.counters.hats.endless_weights import stretch_tables
from ameles.mechanisms.counters.hats.weights import BITS
from ameles.mechanisms.counters.hats.worst import level_worst, own_worst


def worst_until(endless: EndlessShape, number: int) -> tuple[float, float]:
    """Up to the end of a stretch: the largest scale of a term, and a bound on the variance, at
    scale 1."""
    found = [_worst(endless, one) for one in range(min(number, endless.usual) + 1)]
    largest, variance = (max(values) for values in zip(*found, strict=True))
    # hats of the top level that have been passed count fully
    knots = [float(endless.knot_share(knot)) for knot in range(min(number, endless.usual))]
    passed = sum(2 / share**2 for share in knots[:-1])
    passed += max(0, number - endless.usual) * 2 / float(endless.knot_share(endless.usual)) ** 2
    return max([largest, *(1 / share for share in knots)]), variance + passed


@lru_cache(maxsize=256)
def _worst(endless: EndlessShape, number: int) -> tuple[float, float]:
    """The same for one stretch, without hats of the top level that have been passed."""
    tables, lows = stretch_tables(endless, number), _least_shares(endless, number)
    largest, variance = 0.0, 0.0
    for level, pair in enumerate(tables[:-1]):
        most, energy = level_worst(*pair, tables[level - 1] if level else None)
        largest = max(largest, most / lows[level])
        variance += 2 * energy / lows[level] ** 2
    one, after = endless.stretch(number), endless.stretch(number + 1)
    at, later = np.arange(one.cells) / one.cells, np.arange(after.cells) / after.cells
    before = endless.stretch(max(number - 1, 0))
    passed = np.arange(before.cells) / before.cells if number > 1 else np.ones(before.cells)
    nodes = np.arange(-len(passed), one.cells + after.cells)
    if endless.born(number + 1):  # the highest level has a node at that knot, and no more after it
        nodes = np.concatenate([np.arange(-len(passed), one.cells), np.arange(after.cells) * 0])
        nodes[one.cells + len(passed) :] += 1 << 40
        nodes, later = np.append(nodes, one.cells), np.append(later, 1.0)
    shares = [float(endless.knot_share(knot)) for knot in (max(number - 1, 0), number)]
    own = tables[-2] if len(tables) > 1 else None
    least, worst = min(lows[min(before.highest, one.highest) :]), 0.0
    for cell, pair in enumerate(zip(*tables[-1], strict=True)):
        left, right = (float(weight) / (1 << BITS) for weight in pair)
        here = (left if number else right) * (1 - at) + right * at
        f = np.concatenate([1 - passed + left * passed, here, right * (1 - later)])
        skipped = 0 if number else len(passed)  # nothing is before the first stretch
        most, energy = own_worst(f[skipped:], nodes[skipped:] - cell, own)
        tops = [abs(left) / shares[0], abs(right) / shares[1]]
        largest = max(largest, most / least, *tops)
        worst = max(worst, 2 * (energy / least**2 + tops[0] ** 2 + tops[1] ** 2))
    return largest, variance + worst


def _least_shares(endless: EndlessShape, number: int) -> list[float]:
    """The least share of each level in a stretch and in those beside it."""
    pieces = [
        piece
        for near in range(max(number - 1, 0), number + 2)
        for piece in pieces_of(endless, near)
    ]
    levels = max(len(piece.shares) for piece in pieces)
    return [
        min(float(piece.shares[level]) for piece in pieces if len(piece.shares) > level)
        for level in range(levels)
    ]
