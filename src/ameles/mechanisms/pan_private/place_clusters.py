"""Noises of counts next to each other in a tree with shares by place, for ``clusters``.

Counts that end in one group of single steps differ in the noises of those steps alone.  All longer
nodes are the same for them, and their noises are put together by size: of those that nearly agree,
at most ``MOST`` are simulated, with the variance of all.  Fewer and larger noises have no lighter
tail (Chernoff).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ameles.mechanisms.laplace.clusters import LARGEST_BLOCK, Cluster
from ameles.mechanisms.pan_private.place_law import FINE, Floats, NodeLaws, Spectrum
from ameles.noise.arrays import IntArray

# How many noises of nearly the same size are told apart.
MOST = 8
# How many blocks are worked on together, so that their numbers stay in the cache.
TOGETHER = 128


class GroupClusters:
    """The blocks of steps, and their noises, by the group of single steps that they end in."""

    def __init__(self, laws: NodeLaws, last: int) -> None:
        self._laws = laws
        self._last = last
        shape = laws.shape
        # with one level, the count of all steps ends in the only group, too
        self._digits = shape.radices[0] + (shape.levels == 1)
        self._common: dict[int, tuple[float, Floats, Floats]] = {}

    def __call__(self, t: IntArray, alone: bool) -> Iterator[Cluster]:
        for start in range(0, len(t), TOGETHER):
            places = np.arange(start, min(start + TOGETHER, len(t)))
            yield self._cluster(places, t[places], 1 if alone else min(LARGEST_BLOCK, self._digits))

    def _cluster(self, places: IntArray, t: IntArray, inside: int) -> Cluster:
        digits = t % self._digits
        first = digits - digits % inside
        block = first[:, None] + np.arange(inside)
        steps = (t - digits)[:, None] + block
        valid = (steps >= 1) & (steps <= self._last) & (block < self._digits)
        groups = (t // self._digits).tolist()
        singles = 2 * (self._digits - 1)
        common = [self._noises(group) for group in groups]
        size = singles + max(len(longer) for _, longer, _ in common)
        weights = np.zeros((len(t), inside, size))
        scales = np.ones((len(t), size))
        weights[:, :, :singles] = block[:, :, None] > np.arange(singles) // 2
        for row, (own, longer, their) in enumerate(common):
            end = singles + len(longer)
            weights[row, :, singles:end] = longer
            scales[row, :singles] = own
            scales[row, singles:end] = their
        return Cluster(places, weights, scales, digits - first, valid)

    def _noises(self, group: int) -> tuple[float, Floats, Floats]:
        """The scale of a group's single steps; weights and scales of all that ended before it."""
        if group not in self._common:
            *longer, (_, rung, _) = self._laws.shape.cover(group * self._digits)
            spectra = (self._laws.some(level, own, range(digit)) for level, own, digit in longer)
            own = float(self._laws.scale(0, rung, 0) or 0)
            self._common[group] = (own, *_few(Spectrum.joined(spectra)))
        return self._common[group]


def _few(noises: Spectrum) -> tuple[Floats, Floats]:
    """Weights and scales of a few noises with the same variance."""
    counts = np.minimum(MOST, np.ceil(noises.amounts / noises.sizes**2)).astype(np.int64)
    each = np.sqrt(noises.amounts / counts)
    discrete = noises.bases > 0
    weights = np.where(discrete, each, 1 / FINE)
    scales = np.where(discrete, noises.bases, each * FINE)
    return np.repeat(weights, counts), np.repeat(scales, counts)
