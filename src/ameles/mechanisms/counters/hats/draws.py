"""The noises of the nodes of a Hats counter: which are drawn when, and with which scale."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.hats.shape import HatsShape
from ameles.noise.arrays import IntArray


class NodeDraws:
    """Draws nodes of all levels, in the order of their numbers."""

    def __init__(self, noise: Noise, shape: HatsShape, scale: Fraction, columns: int) -> None:
        self._noise = noise
        self._shape = shape
        self._scales = scales_of(shape, scale)
        self._columns = columns

    @property
    def any_order(self) -> bool:
        """Whether the order of draws is no part of their law: a tape is written in a fixed one."""
        return self._noise.genuine

    def draw(self, level: int, first: int, count: int) -> IntArray:
        """The noises of some nodes that follow each other, one row a node."""
        return self.draw_columns(level, first, count, self._columns)

    def draw_columns(self, level: int, first: int, count: int, columns: int) -> IntArray:
        """The same for so many of the counters."""
        runs = [*self._runs(level, first, count)]
        if len(runs) == 1:
            return self._noise.laplace(runs[0][0], (runs[0][1], columns))
        drawn = np.empty((sum(size for _, size in runs), columns), dtype=np.int64)
        at = 0
        for scale, size in runs:
            drawn[at : at + size] = self._noise.laplace(scale, (size, columns))
            at += size
        return drawn

    def _runs(self, level: int, first: int, count: int) -> Iterator[tuple[Fraction, int]]:
        """The scales of these nodes, and how many in a row have the same."""
        starts, scales = self._scales[level]
        end = first + count
        if level == self._shape.levels - 1:
            end = min(end, self._shape.knots)
        at = bisect_right(starts, first) - 1
        while first < end:
            until = min(end, starts[at + 1]) if at + 1 < len(starts) else end
            yield scales[at], until - first
            first, at = until, at + 1

    def between(
        self, before: list[int], after: list[int], places: IntArray, *, first: bool
    ) -> list[IntArray]:
        """The noises of each level that are drawn on the way from these cells to those.

        ``places`` are where the cells of the first level start.
        """
        at = [0 if first else self.end(level, before) for level in range(self._shape.levels)]
        if self.any_order or len(places) == 1:
            ends = [self.end(level, after) for level in range(self._shape.levels)]
            return [
                self.draw(level, at[level], ends[level] - at[level]) for level in range(len(at))
            ]
        drawn: list[list[IntArray]] = [[] for _ in at]
        cells = before
        for place in places.tolist():
            now = self._shape.cells(max(place, 0))
            for level in range(len(at)):
                end = self.end(level, now)
                if now != cells and end > at[level]:
                    drawn[level].append(self.draw(level, at[level], end - at[level]))
                    at[level] = end
            cells = now
        empty = np.empty((0, self._columns), dtype=np.int64)
        return [np.concatenate([empty, *parts]) for parts in drawn]

    def end(self, level: int, cells: list[int]) -> int:
        """How many nodes of a level have been drawn if all levels are in these cells."""
        if level == len(cells):
            return max(0, min(cells[-1] + 2, self._shape.knots))
        return self._shape.drawn(level, cells[level])


@lru_cache(maxsize=256)
def scales_of(shape: HatsShape, scale: Fraction) -> list[tuple[list[int], list[Fraction]]]:
    """For each level the nodes from which on the noise has another scale, and those scales."""
    found = []
    for level, span in enumerate(shape.spans):
        starts, shares = shape.changes(level)
        found.append((starts, [scale * span / share for share in shares]))
    return found
