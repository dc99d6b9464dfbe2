"""Tails of many sums of Laplace variables at once, each by an integral in the complex plane.

Theorem      Let Y be a sum of n_j continuous Laplace variables of width w_j.  For x > 0
             P(Y > x) = (1 / 2 pi i) times the integral of M(z) exp(-E x) / z dE, with E = z and
             M(z) = prod (1 - (w_j z)^2)^(-n_j), along any path that comes from and goes to the
             far right and crosses the real axis between 0 and the first pole, 1 / max w_j.
             Discrete variables of scale b_j have w_j = 1 / (2 sinh(1 / 2b_j)) and
             E = 2 asinh(z / 2), and for whole m their P(Y > m) is this at x = m + 1/2
Path         a hyperbola that crosses where the integrand is smallest on the real axis and bends
             as the steepest descent does: nothing cancels, and sums over equal steps
             converge geometrically (``saddle_path.py``)
Error        relative 1e-7 for tails up to 1/2, however faint, and 1e-5 above; quantiles are for
             probabilities smaller by more than that, and so never below the truth

A tail of 1e-100 is as good as one of 0.05, and 48 points are enough; along the imaginary axis
the characteristic function of a few variables needs thousands.

Laws of steps that follow each other often differ in a few widths only.  Such laws share a path, if
it crosses near the best place of each of them, and what their other widths add is found once.

>>> pair = Sums(np.array([[10.0, 5.0]]), np.array([[1, 2]]), lattice=False)
>>> pair.quantiles(0.05).round(3)
array([35.386])
>>> pair.tails(pair.quantiles(0.05)).round(6)
array([0.05])
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from ameles.mechanisms.laplace.saddle_path import (
    POINTS,
    Crossing,
    FloatArray,
    ScaledSums,
    few_counts,
)

# Quantiles are for a beta smaller by this, and by more above 1/2, where decay is slowest.
GUARD, ROUGH_GUARD = 1e-6, 1e-5
# How many numbers of laws are processed at a time, so that they stay in the cache; and of laws
# whose widths have few counts, which hold only some of them.
TOGETHER, FEW_TOGETHER = 1 << 17, 1 << 18
# Laws share a path if so many follow each other, on average, with most of their widths the same,
# and so many at most.
FOLLOWING, SHARING = 8, 32
# How far the crossing of a shared path may be from the best one of each law, in deviations of the
# integrand.
NEAR = 0.3


@dataclass(frozen=True, slots=True)
class Sums:
    """Laws of sums, one a row: how many variables of each width.  Rows end in counts of zero.

    ``lattice``: the variables are discrete, and x is half a count above a whole one.
    """

    widths: FloatArray
    counts: FloatArray
    lattice: bool

    def tails(self, x: FloatArray) -> FloatArray:
        """P(|Y| > x) for each law and its own x >= 0."""
        tails = np.empty(len(x))
        for rows in self._chunks(slice(0, len(x))):
            laws = self._laws(rows)
            at = x[rows] / laws.unit
            crossing = laws.crossing(partial(Crossing.from_x, x=at))
            tails[rows] = laws.path(crossing).tails(at)[0]
        return np.clip(tails, 0.0, 1.0)

    def quantiles(self, beta: float, guard: float | None = None) -> FloatArray:
        """For each law the x >= 0 with P(|Y| > x) = beta, for a beta smaller by ``guard``."""
        if guard is None:
            guard = GUARD if beta <= 0.5 else ROUGH_GUARD
        level = math.log(beta) + math.log1p(-guard)
        half = level - math.log(2)
        quantiles = np.empty(len(self.widths))
        first = None
        for run in self._runs(beta):
            shared = self._shared(run, level, first)
            if shared is not None:
                quantiles[run], first = shared
                continue
            for rows in self._chunks(run):
                laws = self._laws(rows)
                crossing = laws.crossing(partial(Crossing.from_level, level=half))
                found = laws.path(crossing).quantiles(crossing.x_at(half), level)
                quantiles[rows] = found * laws.unit
        return quantiles

    def _chunks(self, rows: slice) -> Iterator[slice]:
        """So many rows at a time that their numbers stay in the cache."""
        together = TOGETHER if few_counts(self.counts) is None else FEW_TOGETHER
        size = max(1, together // (self.widths.shape[1] * POINTS))
        for start in range(rows.start, rows.stop, size):
            yield slice(start, min(start + size, rows.stop))

    def _laws(self, rows: slice) -> ScaledSums:
        widths, counts = self.widths[rows], self.counts[rows]
        return ScaledSums.of(widths, counts, widths.max(axis=1), lattice=self.lattice)

    def _runs(self, beta: float) -> list[slice]:
        """Rows that follow each other with most of their widths the same; otherwise all rows."""
        rows, parts = self.widths.shape
        same = (self.widths[1:] == self.widths[:-1]) & (self.counts[1:] == self.counts[:-1])
        edges = [0, *(np.flatnonzero(2 * same.sum(axis=1) < parts) + 1).tolist(), rows]
        if beta > 0.5 or rows < FOLLOWING * (len(edges) - 1):
            return [slice(0, rows)]
        return [
            slice(start, min(start + SHARING, end))
            for first, end in pairwise(edges)
            for start in range(first, end, SHARING)
        ]

    def _shared(
        self, rows: slice, level: float, first: FloatArray | None
    ) -> tuple[FloatArray, FloatArray] | None:
        """The quantiles of laws that can share a path, and its crossing, of which ``first`` is a
        guess; None if they cannot."""
        widths, counts = self.widths[rows], self.counts[rows]
        same = ((widths == widths[0]) & (counts == counts[0])).all(axis=0)
        if len(widths) == 1 or 2 * same.sum() < same.size:
            return None
        # A path must not pass the first pole of any law, which the one with the largest width has.
        own = widths.max(axis=1)
        laws = ScaledSums.of(widths, counts, np.full_like(own, own.max()), lattice=self.lattice)
        half, guide = level - math.log(2), int(own.argmax())
        one_law = laws.rows(slice(guide, guide + 1))
        crossing = one_law.crossing(partial(Crossing.from_level, level=half), first)
        each = laws.crossed(crossing.at)
        if (each.deviations(each.from_level(half)) > NEAR).any():
            return None
        path = laws.shared_path(crossing, same)
        return path.quantiles(each.x_at(half), level) * laws.unit, crossing.at
