"""Quantiles of the noise of a Hats counter at many steps at once, as arrays of all its nodes.

They are those of ``LaplaceMixture``, for laws whose scales are 1 or more; the few others are left
to it.  A step has a hundred nodes with weights of their own, so an object for each takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.laplace.contour import Sums
from ameles.mechanisms.laplace.mixture import SMOOTH, UNCERTAIN, VARIED, Copies
from ameles.mechanisms.laplace.rounded import LARGEST
from ameles.noise.arrays import IntArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LevelNodes:
    """The nodes of one level that can count, one row a step: from ``first`` on."""

    first: IntArray
    weights: Floats
    scales: Floats

    def less(self, other: LevelNodes) -> LevelNodes:
        """The difference of two steps, for each row: nodes of both, side by side or one on the
        other."""
        rows, size = self.weights.shape
        # a row has room for both; the other's nodes start before or where these do
        place = np.clip(size - self.first + other.first, 0, size)
        at = np.arange(rows)[:, None], place[:, None] + np.arange(size)
        weights, scales = np.zeros((rows, 2 * size)), np.zeros((rows, 2 * size))
        scales[at] = other.scales
        weights[at] = -other.weights
        weights[:, size:] += self.weights
        scales[:, size:] = np.where(self.weights != 0, self.scales, scales[:, size:])
        return LevelNodes(self.first, weights, scales)

    def part(self, rows: slice) -> LevelNodes:
        """Some of the steps."""
        return LevelNodes(self.first[rows], self.weights[rows], self.scales[rows])

    def only(self, rows: NDArray[np.bool_]) -> LevelNodes:
        """Without the nodes of all other rows."""
        return LevelNodes(self.first, self.weights * rows[:, None], self.scales)


def node_quantiles(levels: list[LevelNodes], beta: float, *, roundings: int = 2) -> Floats:
    """For each row a whole number that the noise exceeds with probability at most ``beta``.

    It is not a number for rows that ``LaplaceMixture`` knows better: with scales below 1, or all
    weights 0 or 1, or with few nodes and a small number.
    """
    smooth, widths = _smooth_rows(levels)
    found = np.full(len(smooth), np.nan)
    if smooth.any():
        counts = (widths != 0).astype(np.float64)
        exact = Sums(widths, counts, lattice=False).quantiles(beta)
        bounds = np.ceil(exact) + 1
        bounds[bounds <= LARGEST] = np.nan
        many = counts.sum(axis=1) >= VARIED
        spare = max(0.0, 1 - roundings / 2)
        found[smooth] = np.where(many, np.ceil(exact - spare + UNCERTAIN), bounds)
    return found


def copies_quantiles(levels: list[LevelNodes], copies: Sequence[Copies], beta: float) -> Floats:
    """The same for sums of independent copies of the noise, each of which may have been rounded: a
    column for each choice of copies.  Here small numbers are known, too."""
    smooth, widths = _smooth_rows(levels)
    found = np.full((len(smooth), len(copies)), np.nan)
    if smooth.any():
        ones = (widths != 0).astype(np.float64)
        for column, some in enumerate(copies):
            each = np.concatenate([weight * widths for weight, _ in some], axis=1)
            counts = np.concatenate([number * ones for _, number in some], axis=1)
            exact = Sums(each, counts, lattice=False).quantiles(beta)
            found[smooth, column] = np.ceil(exact) + 1
    return found


def _smooth_rows(levels: list[LevelNodes]) -> tuple[NDArray[np.bool_], Floats]:
    """Which rows have scales of 1 or more and not only weights 0 and 1; the widths of their nodes
    that count anywhere."""
    weights = np.concatenate([abs(level.weights) for level in levels], axis=1)
    scales = np.concatenate([level.scales for level in levels], axis=1)
    counts = weights != 0
    smooth = (~counts | (scales >= SMOOTH)).all(axis=1) & (counts & (weights != 1)).any(axis=1)
    widths = (weights * scales)[smooth]
    return smooth, widths[:, widths.any(axis=0)]
