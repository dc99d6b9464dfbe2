"""Honaker counter: a k-ary tree whose finished blocks are estimated from all their parts.

Theorem      post-processing of the k-ary tree (Honaker 2015, the estimate from below): a block's
             noise less the sum of its parts' noises has no data in it, so any multiple of it may
             be added; with L R = A exactly, the scale is that of the tree
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale h / epsilon for each block of every level
Error        variance 2 h^2 / epsilon^2 times the sum of digit_j v_j, where v_0 = 1 and
             1 / v_j = 1 + 1 / (k v_(j-1))
Memory       h (h + 3) / 2 integers per counter and up to 1024 noise values taken ahead

The weights are rounded to multiples of 2**-12 and applied to the differences that carry no
data, so the identity L R = A stays exact.

>>> from ameles.noise import Zero
>>> run = HonakerCounter(epsilon=1, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.core.parameters import Whole
from ameles.mechanisms.counters.arity import digits_of
from ameles.mechanisms.counters.honaker_walk import SMALLEST_BETA, estimates_bound
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.pure import PureTreeCounter
from ameles.mechanisms.counters.siblings import LARGEST_SCALE
from ameles.mechanisms.counters.siblings_kernel import HALF, SHIFT
from ameles.mechanisms.counters.summed import Process
from ameles.mechanisms.laplace.mixture import SMOOTH, LaplaceMixture, LaplacePart
from ameles.noise.arrays import IntArray

# With more blocks in one, steps are not followed block by block.
MOST_WALKED = 64


@dataclass(frozen=True, kw_only=True)
class HonakerCounter(PureTreeCounter):
    """Counts from blocks whose estimates also use the noises of their parts."""

    arity: Whole = Whole(2, 1 << 16, 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale > LARGEST_SCALE:
            raise BadInput(
                "These parameters need noise that does not fit into 64 bits with its weights.",
                tip="a larger epsilon, or a smaller bound",
            )

    @property
    def levels(self) -> int:
        """How many blocks an item is in."""
        return len(digits_of(self.horizon, self.arity))

    @property
    def resolution(self) -> int:
        """Weights are multiples of one over this."""
        return 1 << SHIFT

    @property
    def error(self) -> HonakerError:
        """A weighted sum over all blocks within those that make up t."""
        return HonakerError(self.scale, self.arity, self.levels)

    @property
    def memory(self) -> int:
        """Per level a sum, and a sum of differences for each level below; the exact sum; the noise
        ahead."""
        rows = self.levels * (self.levels + 1) // 2 + self.levels + 2
        return self.columns * (1 + self.ahead + rows) + 1

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return HonakerProcess(self, noise, state)


class HonakerProcess:
    """Per level, over its finished blocks since the last larger one: the sum of their noises,
    and for each level below the sum of the differences (block less parts) within them."""

    def __init__(self, recipe: HonakerCounter, noise: Noise, state: IntArray | None) -> None:
        arity, levels, columns = recipe.arity, recipe.levels, recipe.columns
        self._noise = noise
        self._scale = recipe.scale
        self._arity = arity
        self._columns = columns
        self._t = 0
        # row 0 of a level: noises; row j: differences of the blocks of level j
        self._sums = [np.zeros((level + 1, columns), dtype=np.int64) for level in range(levels)]
        if state is not None:
            self._t = int(state[0])
            rows = state[1:].reshape(-1, columns)
            starts = np.cumsum([len(level) for level in self._sums])[:-1]
            self._sums = [part.copy() for part in np.split(rows, starts)]
        self._weights = np.rint(correction_weights(arity, levels) * (1 << SHIFT)).astype(np.int64)
        self._plain = np.sum([level[0] for level in self._sums], axis=0)
        self._pull = np.sum([self._pull_of(level) for level in range(levels)], axis=0)

    def state(self) -> IntArray:
        return np.concatenate([np.array([self._t]), np.concatenate(self._sums).reshape(-1)])

    def take(self, n: int) -> IntArray:
        drawn = self._noise.laplace(self._scale, (self._draws(n), self._columns))
        out = np.empty((n, self._columns), dtype=np.int64)
        used = 0
        for i in range(n):
            used = self._finish(drawn, used)
            out[i] = self._plain - (self._pull + HALF >> SHIFT)
        return out

    def _finish(self, drawn: IntArray, used: int) -> int:
        """The blocks that end at the next step; gives how many of the noises are used up."""
        self._t += 1
        block = drawn[used : used + 1]
        used += 1
        t, level = self._t, 0
        while t % self._arity == 0 and level + 1 < len(self._sums):
            parts = self._sums[level] + block
            self._plain = self._plain - self._sums[level][0]
            self._pull = self._pull - self._pull_of(level)
            self._sums[level] = np.zeros_like(parts)
            fresh = drawn[used : used + 1]
            used += 1
            block = np.concatenate([fresh, parts[1:], fresh - parts[:1]])
            t, level = t // self._arity, level + 1
        self._pull = self._pull - self._pull_of(level)
        self._sums[level] = self._sums[level] + block
        self._plain = self._plain + block[0]
        self._pull = self._pull + self._pull_of(level)
        return used

    def _pull_of(self, level: int) -> IntArray:
        pull: IntArray = self._weights[level, 1 : level + 1] @ self._sums[level][1:]
        return pull

    def _draws(self, n: int) -> int:
        """How many noises the next ``n`` steps need: one for each block that ends."""
        size, total = 1, 0
        for _ in self._sums:
            total += (self._t + n) // size - self._t // size
            size *= self._arity
        return total


@lru_cache(maxsize=256)
def correction_weights(k: int, levels: int) -> NDArray[np.float64]:
    """Row l, column j: how much of the differences at level j a block of level l subtracts."""
    weights = np.zeros((levels, levels))
    v = 1.0
    for level in range(1, levels):
        gain = 1 / (1 + k * v)
        v = k * v * gain
        weights[level, level] = gain
        weights[level, 1:level] = gain * weights[level - 1, 1:level]
    return weights


@dataclass(frozen=True)
class HonakerError(LaplaceError):
    """A weighted sum of the noises of all blocks within the cover of t."""

    scale: Fraction
    arity: int
    levels: int

    @property
    def rounding(self) -> float:
        """A twelfth: weighted noise is not whole, and is rounded to the nearest whole number."""
        return 1 / 12

    def law(self, t: int) -> LaplaceMixture:
        digits = digits_of(t, self.arity)
        return LaplaceMixture(self._parts(digits), roundings=1)

    def worst_law(self, steps: int) -> LaplaceMixture:
        most = [min(self.arity - 1, steps)] * self.levels
        return LaplaceMixture(self._parts(most))

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """All of the first ``steps`` errors are at most this: see ``honaker_walk``."""
        union = super().bound_all(steps, beta)
        if self.scale < SMOOTH or beta < SMALLEST_BETA or self.arity > MOST_WALKED:
            return union
        return _bound_all(self, steps, beta, int(union))

    def between(self, before: int, t: int) -> LaplaceMixture:
        old, new = (
            [*digits_of(n, self.arity), *[0] * self.levels][: self.levels] for n in (before, t)
        )
        if old == new:
            return LaplaceMixture(())
        top = max(level for level in range(self.levels) if old[level] != new[level])
        # above, all blocks are shared; below, those of the smaller count lie within one block
        # that the larger has in their place
        gained = [*new[:top], new[top] - old[top]]
        parts = list(self._parts(gained))
        for level in range(top):
            for below in range(level + 1):
                count = old[level] * self.arity ** (level - below)
                within, own = self._weight(top, below), self._weight(level, below)
                parts += [
                    LaplacePart(self.scale, abs(within - own), count),
                    LaplacePart(self.scale, within, -count),
                ]
        return LaplaceMixture(tuple(part for part in parts if part.count and part.weight))

    def _parts(self, digits: list[int]) -> tuple[LaplacePart, ...]:
        weights = block_weights(self.arity, self.levels)
        return tuple(
            LaplacePart(self.scale, weights[level][below], digit * self.arity ** (level - below))
            for level, digit in enumerate(digits)
            if digit
            for below in range(level + 1)
        )

    def _weight(self, level: int, below: int) -> float:
        """How much a block of one level takes of each of its blocks of another."""
        return block_weights(self.arity, self.levels)[level][below]


@lru_cache(maxsize=256)
def _bound_all(error: HonakerError, steps: int, beta: float, union: int) -> int:
    k, digits = error.arity, digits_of(steps, error.arity)
    weights = block_weights(k, error.levels)
    estimates = [
        [LaplacePart(error.scale, weights[level][below], k ** (level - below)) for below in places]
        for level, places in ((level, range(level + 1)) for level in range(len(digits)))
    ]
    return estimates_bound(estimates, k, digits, steps=steps, beta=beta, high=union)


@lru_cache(maxsize=256)
def block_weights(k: int, levels: int) -> list[list[float]]:
    """How much a block of one level takes of each of its blocks of another, at most as high."""
    gains = np.diagonal(correction_weights(k, levels))
    return [
        [
            float((1 - gains[below]) * np.prod(gains[below + 1 : level + 1]))
            for below in range(level + 1)
        ]
        for level in range(levels)
    ]
