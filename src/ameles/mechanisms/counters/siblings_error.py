"""The error of the Siblings counter, by the digits of t.

Bottom up, with V the variance of the count so far, C its covariance with the estimate of the
path's node, v that estimate's variance (all in units of one node's noise), m the digit:

    V += m;  C += m;  U = (k - 1) + v;  below the top: K = 1 / (U + 1)
    V -= C^2 K;  C *= K;  v = U K

C is linear in the digits, so V is a quadratic of them, and its mean over all t is found by
carrying the sums of V, C and C^2 from level to level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.counters.arity import digits_of
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.laplace.clusters import LARGEST_BLOCK, Cluster, Clusters
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.noise.arrays import IntArray

# From this scale on sums of many noises are as good as continuous (``test_rounded``).
OVERLAPPING = 2
# With more noises at a step their blocks are not simulated.
MOST_NOISES = 512
# How many blocks are worked on together, so that their numbers stay in the cache.
TOGETHER = 256


@lru_cache(maxsize=4096)
def gains(k: int, levels: int) -> tuple[float, ...]:
    """K of each level but the top one."""
    values, v = [], 1.0
    for _ in range(levels - 1):
        spread = (k - 1) + v
        values.append(1 / (spread + 1))
        v = spread / (spread + 1)
    return tuple(values)


@lru_cache(maxsize=256)
def weight_matrix(k: int, levels: int) -> NDArray[np.float64]:
    """Row l: the weight of residual l (a node of level l + 1 less its children), for each digit."""
    gain = gains(k, levels)
    rows = np.zeros((levels - 1, levels))
    for j in range(levels):
        digit = np.zeros(levels)
        digit[j] = 1
        pulled, c = np.zeros(levels - 1), 0.0
        for level in range(levels - 1):
            c = (c + digit[level]) * gain[level]
            pulled[level] = c
        for level in range(levels - 3, -1, -1):
            pulled[level] += gain[level] * pulled[level + 1]
        rows[:, j] = pulled
    return rows


@lru_cache(maxsize=4096)
def mean_variance(horizon: int, k: int) -> float:
    """H^2 times the mean of V over t = 1, ..., horizon: the mean variance, up to a factor."""
    digits = digits_of(horizon, k)
    all_gains = (*gains(k, len(digits)), 0.0)
    # (count, sum of V, sum of C, sum of C^2), over all lower digits and over those up to T's
    every, upto = np.array([1.0, 0, 0, 0]), np.array([1.0, 0, 0, 0])
    for digit, gain in zip(digits, all_gains, strict=True):
        upto = sum((_with(every, m, gain) for m in range(digit)), _with(upto, digit, gain))
        every = sum((_with(every, m, gain) for m in range(1, k)), _with(every, 0, gain))
    return len(digits) ** 2 * float(upto[1]) / horizon


def _with(sums: NDArray[np.float64], m: int, gain: float) -> NDArray[np.float64]:
    count, v, c, cc = sums
    cc += 2 * m * c + m * m * count
    c += m * count
    return np.array([count, v + m * count - gain * cc, gain * c, gain * gain * cc])


@lru_cache(maxsize=256)
def worst_variance(k: int, sizes: tuple[int, ...]) -> float:
    """An upper bound on V over all t, close to it: the maximum over real digits.

    V is concave in the digits, so rising one digit at a time ends at the maximum.
    """
    levels = len(sizes)
    gain = np.array([*gains(k, levels), 0.0])
    # C at each level as a linear function of the digits
    reach = np.zeros((levels, levels))
    for level in range(levels):
        reach[level, level] = 1
        if level:
            reach[level] += gain[level - 1] * reach[level - 1]
    curve = reach.T @ (gain[:, None] * reach)
    digits = np.zeros(levels)
    for _ in range(500):
        for level, size in enumerate(sizes):
            others = curve[level] @ digits - curve[level, level] * digits[level]
            best = (0.5 - others) / curve[level, level] if curve[level, level] > 0 else np.inf
            digits[level] = min(max(best, 0.0), size - 1)
    return float(digits.sum() - digits @ curve @ digits)


@dataclass(frozen=True)
class SiblingsError(LaplaceError):
    """A weighted sum of the noises of all siblings along the path."""

    scale: Fraction
    sizes: tuple[int, ...]

    @property
    def arity(self) -> int:
        """The size of a group below the top."""
        return self.sizes[0]

    @property
    def rounding(self) -> float:
        """A twelfth: weighted noise is not whole, and is rounded to the nearest whole number."""
        return 1 / 12

    def law(self, t: int) -> LaplaceMixture:
        digits, weights = self._weights(t)
        parts: list[tuple[float, int]] = []
        for level, (size, digit) in enumerate(zip(self.sizes, digits, strict=True)):
            parts += _group(size, digit, weights[level], weights[level + 1])
        return self._mixture(parts, roundings=1)

    def between(self, before: int, t: int) -> LaplaceMixture:
        parts: list[tuple[float, int]] = []
        (old, ours), (new, theirs) = self._weights(before), self._weights(t)
        for level, size in enumerate(self.sizes):
            one, under, own = old[level], ours[level], ours[level + 1]
            other, below, its = new[level], theirs[level], theirs[level + 1]
            if old[level + 1 :] != new[level + 1 :]:
                parts += _group(size, one, under, own) + _group(size, other, below, its)
                continue
            # the same siblings: in both counts or in none, in the later alone, and on the paths
            more = its - own
            parts.append((more, one + size - other - 1))
            if one == other:
                parts.append((below - under - more, 1))
            else:
                parts += [(1 - more, other - one - 1), (1 - under - more, 1), (below - more, 1)]
        return self._mixture(parts)

    def _weights(self, t: int) -> tuple[list[int], list[float]]:
        """The digits of t, and the weight of the residual below and above each level."""
        digits = []
        for size in self.sizes[:-1]:
            t, digit = divmod(t, size)
            digits.append(digit)
        digits.append(t)
        pulled, c = [], 0.0
        gain = gains(self.arity, len(self.sizes))
        for digit, k in zip(digits, gain, strict=False):
            c = (c + digit) * k
            pulled.append(c)
        for level in range(len(gain) - 2, -1, -1):
            pulled[level] += gain[level] * pulled[level + 1]
        return digits, [0.0, *pulled, 0.0]

    def _mixture(self, parts: list[tuple[float, int]], roundings: int = 2) -> LaplaceMixture:
        counts: dict[float, int] = {}
        for weight, count in parts:
            if weight and count:
                counts[abs(weight)] = counts.get(abs(weight), 0) + count
        different = tuple(LaplacePart(self.scale, a, n) for a, n in counts.items())
        # There are few different weights, but from this scale on their noises overlap.
        return LaplaceMixture(different, roundings=roundings, varied=self.scale >= OVERLAPPING)

    def clusters(self, last: int) -> Clusters | None:
        if sum(self.sizes) > MOST_NOISES:
            return None

        def some(t: IntArray, alone: bool) -> Iterator[Cluster]:
            for start in range(0, len(t), TOGETHER):
                places = np.arange(start, min(start + TOGETHER, len(t)))
                yield self._cluster(places, t[places], last, alone=alone)

        return some

    def _cluster(self, places: IntArray, t: IntArray, last: int, *, alone: bool) -> Cluster:
        """Steps with their group of leaves: all of its steps have the same noises."""
        inside = 1 if alone else min(self.arity, LARGEST_BLOCK)
        first = t - t % self.arity % inside
        block = first[:, None] + np.arange(inside)
        valid = (block >= 1) & (block <= last) & (block // self.arity == t[:, None] // self.arity)
        count = np.clip(block, 1, last)
        digits = np.empty((*block.shape, len(self.sizes)), dtype=np.int64)
        for level, size in enumerate(self.sizes[:-1]):
            count, digits[:, :, level] = np.divmod(count, size)
        digits[:, :, -1] = count
        pulled = digits @ weight_matrix(self.arity, len(self.sizes)).T
        zero = np.zeros((*block.shape, 1))
        own, under = (np.concatenate(pair, axis=2) for pair in ((pulled, zero), (zero, pulled)))
        weights = []
        for level, size in enumerate(self.sizes):
            ahead = np.arange(size) - digits[:, :, level, None]
            weights.append((ahead < 0) + (ahead == 0) * under[..., level, None])
            weights[-1] -= own[..., level, None]
        scales = np.full((len(t), sum(self.sizes)), float(self.scale))
        return Cluster(places, np.concatenate(weights, axis=2), scales, t - first, valid)

    def worst_law(self, steps: int) -> LaplaceMixture:
        # No weight exceeds 1.  By convexity, sums of squares being equal, fewer variables of
        # full weight have the larger Chernoff bound; so this many of them bound every step.
        most = worst_variance(self.arity, self.sizes)
        return LaplaceMixture((LaplacePart(self.scale, 1.0, most),), bounding=True)


def _group(size: int, digit: int, under: float, own: float) -> list[tuple[float, int]]:
    """The weights of a group of siblings, and how many have each: counted nodes, those that
    follow the path's, and that."""
    return [(1 - own, digit), (own, size - digit - 1), (under - own, 1)]
