"""A bound for all steps of a counter with weighted noise: a union bound over blocks of steps.

Theorem      Y_t = sum of a_i Z_i, Z_i discrete Laplace.  Let N be the number of steps in the block
             of t with |Y| > x.  The probability that some step has |Y| > x is at most the
             sum over blocks of that for the block, which is the sum over t of
             2 E[1 / N; Y_t > x].  With the law of each Z_i tilted by exp(h a_i Z_i), for any h, it
             is the sum over t of 2 M_t(h) E'[exp(-h Y_t) / N; Y_t > x], M_t = E exp(h Y_t)
Estimate     t is drawn evenly, then again with probabilities that follow M_t(h), and the noises of
             its block from the tilted laws, which are differences of geometric variables.  What
             is averaged is at most exp(-h x), so rare events cost nothing.  The bound
             is for the mean plus five of its standard errors: what was drawn belies it with a
             probability below 1e-6.  Draws come from a fixed sequence, so that a recipe has
             one bound

Errors next to each other are much alike: within a block N is large, and that is what a union bound
over the steps does not see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.noise.arrays import IntArray

Floats: TypeAlias = NDArray[np.float64]
# How many steps are drawn at first, and how many of them choose h.
FIRST, FEW = 4096, 256
# How many blocks are simulated: a few to see where, then many for the bound.
SIMULATED = (512, 4096)
# The least share of the simulated errors that must be as large as the bound.
SEEN = 1 / 16
# How many standard errors are added to an estimate.
ERRORS = 5.0
# Numbers that are worked on together.
TOGETHER = 1 << 21
# The candidates for h, as parts of the largest.
TILTS = 1 - np.exp(np.linspace(-0.05, -5.0, 48))


@dataclass(frozen=True, slots=True)
class Cluster:
    """Steps drawn, each with the block that it is in: all blocks have one size."""

    places: IntArray  # which of the steps that were asked for
    weights: Floats  # of block, step in it, noise
    scales: Floats  # of block, noise
    own: IntArray  # the place of the step in its block
    valid: NDArray[np.bool_]  # of block, step: whether it is one of the counter's steps


# The longest block: longer ones cost more than they gain.
LARGEST_BLOCK = 32
# The blocks of some steps; alone: each step as a block of its own.
Clusters: TypeAlias = Callable[[IntArray, bool], Iterator[Cluster]]


def clustered(clusters: Clusters, *, steps: int, beta: float, high: int) -> int:
    """An integer that no error of the first ``steps`` steps exceeds, except with probability
    beta; at most ``high``, which is another such bound."""
    stream = _Uniform()
    drawn = np.arange(1, min(steps, FIRST) + 1)
    if steps > FIRST:
        even = (np.arange(FIRST) + stream.take(FIRST)) * (steps / FIRST)
        drawn = np.minimum(even.astype(np.int64) + 1, steps)
    terms = _Terms(clusters, drawn)
    few = _Terms(clusters, drawn[:: max(1, len(drawn) // FEW)])
    level = math.log(2 * steps / beta)
    tilts = few.largest * TILTS
    totals = np.array([few.mean(float(h)) for h in tilts])
    reach = float(np.min((totals + level) / tilts))
    bound = high
    for count in SIMULATED:
        h = float(tilts[np.argmin(totals - tilts * reach)])
        bound = min(high, _Simulation(clusters, terms, h, steps, stream, count).bound(beta, high))
        reach = bound + 0.5
    return bound


class _Uniform:
    """A fixed sequence of numbers between 0 and 1: splitmix64."""

    def __init__(self) -> None:
        self._used = 0

    def take(self, count: int) -> Floats:
        state = np.arange(self._used + 1, self._used + count + 1, dtype=np.uint64)
        self._used += count
        state *= np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            state ^= state >> np.uint64(shift)
            state *= np.uint64(factor)
        state ^= state >> np.uint64(31)
        numbers: Floats = ((state >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return numbers


class _Terms:
    """The noises of some steps, each alone."""

    def __init__(self, clusters: Clusters, steps: IntArray) -> None:
        self.steps = steps
        self._parts = [
            (cluster.places, cluster.weights[:, 0], cluster.scales)
            for cluster in clusters(steps, True)
        ]
        self.largest = float(min((1 / (abs(w) * s).max()) for _, w, s in self._parts if w.size))

    def logarithms(self, h: float) -> Floats:
        """log M_t(h) for each step."""
        logarithms = np.zeros(len(self.steps))
        for places, weights, scales in self._parts:
            ratio = np.sinh(weights * (h / 2)) / np.sinh(0.5 / scales)
            logarithms[places] = -np.log1p(-(ratio**2)).sum(axis=1)
        return logarithms

    def mean(self, h: float) -> float:
        """The logarithm of the mean of M_t(h)."""
        logarithms = self.logarithms(h)
        top = float(logarithms.max())
        return top + math.log(float(np.exp(logarithms - top).mean()))


class _Simulation:
    """Errors of blocks under tilted laws."""

    def __init__(
        self,
        clusters: Clusters,
        terms: _Terms,
        h: float,
        steps: int,
        stream: _Uniform,
        count: int,
    ) -> None:
        logarithms = terms.logarithms(h)
        top = float(logarithms.max())
        sizes = np.exp(logarithms - top)
        mean = float(sizes.mean())
        exact = len(terms.steps) == steps
        self._first = 0.0 if exact else float(sizes.var()) / mean**2 / len(sizes)
        self._level = top + math.log(2 * steps * mean)
        edges = np.cumsum(sizes) / sizes.sum()
        even = (np.arange(count) + stream.take(count)) / count
        chosen = terms.steps[np.minimum(np.searchsorted(edges, even), len(edges) - 1)]
        self._h = h
        self._own = np.empty(count)
        self._sizes: list[tuple[IntArray, Floats]] = []  # the sizes of all errors of a block
        for cluster in clusters(chosen, False):
            size = max(1, TOGETHER // math.prod(cluster.weights.shape[1:]))
            for start in range(0, len(cluster.places), size):
                self._simulate(cluster, slice(start, start + size), stream)

    def _simulate(self, cluster: Cluster, rows: slice, stream: _Uniform) -> None:
        weights, own = cluster.weights[rows], cluster.own[rows]
        count, noises = len(own), weights.shape[2]
        tilt = self._h * weights[np.arange(count), own]
        rate = 1 / cluster.scales[rows]
        first, second = np.log(stream.take(2 * count * noises).reshape(2, count, noises))
        drawn = np.floor(first / (tilt - rate)) - np.floor(second / (-tilt - rate))
        errors = np.matmul(weights, drawn[:, :, None])[:, :, 0]
        places = cluster.places[rows]
        self._own[places] = errors[np.arange(count), own]
        self._sizes.append((places, np.where(cluster.valid[rows], abs(errors), -1.0)))

    def bound(self, beta: float, high: int) -> int:
        """The smallest integer for which the estimate and its errors are at most beta."""
        low, top = -1, high
        while top - low > 1:
            middle = (low + top) // 2
            low, top = (middle, top) if self._beyond(middle) > beta else (low, middle)
        seen = np.count_nonzero(self._own >= top - 0.5)
        # an h that reaches so far too rarely says nothing
        return top if seen >= SEEN * len(self._own) else high

    def _beyond(self, m: int) -> float:
        """The estimate for errors that round to more than m, and five standard errors."""
        x = m + 0.5
        values = np.zeros(len(self._own))
        for places, sizes in self._sizes:
            above = (sizes >= x).sum(axis=1)
            beyond = self._own[places] >= x
            hit = places[beyond]
            values[hit] = np.exp(-self._h * (self._own[hit] - x)) / above[beyond]
        mean = float(values.mean())
        if mean == 0.0:
            return 0.0
        spread = math.sqrt(float(values.var()) / len(values) + mean**2 * self._first)
        return (mean + ERRORS * spread) * math.exp(self._level - self._h * x)
