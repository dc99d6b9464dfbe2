"""Siblings counter: a k-ary tree whose noises correct each other, past and future.

Theorem      write A for prefix sums, R for "item s is in node i": with L R = A exactly, prefix
             sums plus L z are epsilon-DP if z has scale (largest column of R in L1) / epsilon,
             also against adaptive inputs: shift z by the column of the changed item; since A is
             lower triangular no earlier release moves, so noise of future nodes may be used
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale H / epsilon on every node of an H-level k-ary tree
             without root, drawn when the path enters the node's group of siblings
Error        0.30 of the binary tree's mean standard deviation at T = 2^20
Memory       H (k + 1) integers per counter and up to 1024 noise values taken ahead

A count of t is the sum of the nodes left of the path to leaf t, one group of siblings a level.
A node equals the sum of its children, so (its noise) - (the sum of theirs) has no data in it:
any multiple of it may be added.  The multiples that make the variance smallest are linear in
the digits of t (least squares, level by level); rounded to multiples of 2**-12 they keep L R =
A to the last bit, where floats would not.  This combination is ours; least squares over all of
a tree is from Hay et al. 2010 and Honaker 2015.

>>> from ameles.noise import Zero
>>> run = SiblingsCounter(epsilon=1, horizon=1024).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> recipe = SiblingsCounter(epsilon=1, horizon=1024)
>>> recipe.arity, recipe.levels, recipe.top
(14, 3, 6)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.core.parameters import OptionalWhole
from ameles.mechanisms.counters import siblings_kernel
from ameles.mechanisms.counters.arity import TRIED, best_arity, digits_of
from ameles.mechanisms.counters.pure import PureTreeCounter
from ameles.mechanisms.counters.siblings_error import SiblingsError, mean_variance, weight_matrix
from ameles.mechanisms.counters.siblings_kernel import HALF, SHIFT
from ameles.mechanisms.counters.summed import Process
from ameles.mechanisms.counters.tape_order import Demands
from ameles.noise import kernels
from ameles.noise.arrays import IntArray
from ameles.noise.system import WORTH_COMPILING

LARGEST_SCALE = 1 << 34  # its sums, times digits and weights, stay below 2**63
TOGETHER = 1 << 16  # numbers processed at a time, so that they stay in the cache


@dataclass(frozen=True, kw_only=True)
class SiblingsCounter(PureTreeCounter):
    """Counts from a k-ary tree by least squares over the siblings of the path."""

    tried_arities: ClassVar[tuple[int, ...]] = TRIED

    arity: OptionalWhole = OptionalWhole(2, 1 << 16)

    def __post_init__(self) -> None:
        if self.arity is None:
            self.__dict__["arity"] = best_arity(self.horizon, mean_variance)
        super().__post_init__()
        if self.scale > LARGEST_SCALE:
            raise BadInput(
                "These parameters need noise that does not fit into 64 bits with its weights.",
                tip="a larger epsilon, or a smaller bound",
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many siblings a group has at each level; fewer at the top, as the horizon needs."""
        k = self.arity or 2
        digits = digits_of(self.horizon, k)
        return (*(k for _ in digits[:-1]), digits[-1] + 1)

    @property
    def levels(self) -> int:
        """How many nodes an item is in."""
        return len(self.sizes)

    @property
    def top(self) -> int:
        """How many nodes the top level has."""
        return self.sizes[-1]

    @property
    def resolution(self) -> int:
        """Weights are multiples of one over this."""
        return 1 << SHIFT

    @property
    def error(self) -> SiblingsError:
        """A weighted sum of Laplace variables, by the digits of t."""
        return SiblingsError(self.scale, self.sizes)

    @property
    def memory(self) -> int:
        """The running sums of all groups on the path, the exact sum, and the noise taken ahead."""
        return self.columns * (sum(self.sizes) + self.levels + 1 + self.ahead) + 1

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return SiblingsProcess(noise, self.scale, self.sizes, self.columns, state)


class SiblingsProcess:
    """The groups of siblings along the path to leaf t, each as the running sums of its noises.

    Within a group of leaves only the lowest digit d moves, and the noise is P_0[d] plus a line
    in d over 2**SHIFT: the sums left of the path above, and what the residuals pull.  It is
    added to the whole group as it is entered, so most steps have their noise ready.
    """

    def __init__(
        self,
        noise: Noise,
        scale: Fraction,
        sizes: tuple[int, ...],
        columns: int,
        state: IntArray | None,
    ) -> None:
        self._noise = noise
        self._scale = scale
        self._sizes = sizes
        self._columns = columns
        self._weights = integer_weights(sizes[0], len(sizes))
        self._settle = settle
        if columns >= WORTH_COMPILING and kernels.available():
            self._settle = kernels.compiled(siblings_kernel.settle)
        self._t = 0
        self._starts = np.cumsum([0, *(size + 1 for size in sizes)])
        self._rows = np.zeros((int(self._starts[-1]), columns), dtype=np.int64)
        if state is not None:
            self._t = int(state[0])
            self._rows[:] = state[1:].reshape(-1, columns)
        self._groups = np.split(self._rows, self._starts[1:-1])

    def state(self) -> IntArray:
        return np.concatenate([np.array([self._t]), self._rows.reshape(-1)])

    def take(self, n: int) -> IntArray:
        k = self._sizes[0]
        if n == 1:
            self._step()
            place = self._t % k
            return self._rows[place : place + 1]
        released = np.empty((n, self._columns), dtype=np.int64)
        # wide counters go step by step, in place: their groups are most of the memory
        block = TOGETHER // self._columns
        if min(n, block) < k:
            for row in released:
                self._step()
                row[:] = self._rows[self._t % k]
        else:
            for start in range(0, n, block):
                part = released[start : start + block]
                part[:] = self._leaves(len(part))
        return released

    def _step(self) -> None:
        """Enters the groups that the next step needs."""
        self._t += 1
        entered = self._entered()
        for level in range(entered):
            self._enter(level)
        if entered:
            node = self._t // self._sizes[0]
            digits = np.empty(len(self._sizes) - 1, dtype=np.int64)
            for level, size in enumerate(self._sizes[1:]):
                node, digits[level] = divmod(node, size)
            lefts, totals = self._starts[1:-1] + digits, self._starts[1:-1] - 1
            pulls, slopes = self._weights[:, 1:] @ digits, self._weights[:, 0]
            self._settle(self._rows, self._sizes[0], lefts, totals, pulls, slopes)

    def _entered(self) -> int:
        """How many levels, from the leaves up, have the path enter a new group at this step."""
        t, level = self._t, 0
        if t == 1:
            return len(self._sizes)
        while t % self._sizes[0] == 0:
            t //= self._sizes[0]
            level += 1
        return level

    def _enter(self, level: int) -> None:
        """Draws a group, a part at a time, each added while it is in the cache."""
        sums, width = self._groups[level].reshape(-1), self._columns
        count = self._sizes[level] * width
        sums[:width] = 0
        for start in range(0, count, TOGETHER):
            drawn = self._noise.laplace(self._scale, min(TOGETHER, count - start))
            for at in range(0, len(drawn), width):
                part = drawn[at : at + width]
                before, end = start + at, start + at + len(part)
                np.add(sums[before:end], part, out=sums[before + width : end + width])

    def _leaves(self, n: int) -> IntArray:
        """The noise of many steps, whole groups of leaves at once."""
        k = self._sizes[0]
        first, last = self._t // k, (self._t + n) // k
        groups = self._drawn(n)
        node = np.arange(first, last + 1)
        row = node - first
        line = np.full((len(node), self._columns), HALF)
        slope = np.zeros((len(node), self._columns), dtype=np.int64)
        levels = []
        for below, group, size in zip(groups, groups[1:], self._sizes[1:], strict=False):
            total = below[row, -1]
            node, digit = np.divmod(node, size)
            row = node - node[0]
            levels.append((digit, group[row, digit], group[row, digit + 1] - total))
        digits = np.array([digit for digit, *_ in levels])
        for weights, (_, left, residual) in zip(self._weights, levels, strict=True):
            residual -= left
            slope += weights[0] * residual
            line += (weights[1:] @ digits)[:, None] * residual
            line += left << SHIFT
        leaves = groups[0][:, :k]
        fresh = int(self._t > 0)  # the present group has its line already
        moved = slope[fresh:, None] * np.arange(k)[:, None]
        moved += line[fresh:, None]
        moved >>= SHIFT
        leaves[fresh:] += moved
        for group, all_groups in zip(self._groups, groups, strict=True):
            group[:] = all_groups[-1]
        start = self._t + 1 - first * k
        self._t += n
        return leaves.reshape(-1, self._columns)[start : start + n]

    def _drawn(self, n: int) -> list[IntArray]:
        """Per level the groups of the next ``n`` steps, the present one first if there is one."""
        demands = Demands(n)
        for level, size in enumerate(self._sizes):
            at = self._entries(level, n)
            demands.add(at, np.full(len(at), size))
        drawn, starts = demands.draw(self._noise, self._scale, self._columns)
        present = int(self._t > 0)
        groups = []
        for group, size, where in zip(self._groups, self._sizes, starts, strict=True):
            sums = np.zeros((present + len(where), size + 1, self._columns), dtype=np.int64)
            sums[:present] = group
            fresh = drawn[where[:, None] + np.arange(size)]
            np.cumsum(fresh, axis=1, out=sums[present:, 1:])
            groups.append(sums)
        return groups

    def _entries(self, level: int, n: int) -> IntArray:
        """At which of the next ``n`` steps, from 0, the path enters a group of this level."""
        start = [0] if self._t == 0 else []
        if level == len(self._sizes) - 1:
            return np.array(start, dtype=np.int64)
        block = self._sizes[0] ** (level + 1)
        return np.concatenate([start, np.arange(-(self._t + 1) % block, n, block)]).astype(np.int64)


def settle(
    rows: IntArray,
    leaves: int,
    lefts: IntArray,
    totals: IntArray,
    pulls: IntArray,
    slopes: IntArray,
) -> int:
    """What the compiled loop of this name does, with numpy alone."""
    line = np.full(rows.shape[1], HALF)
    slope = np.zeros_like(line)
    for left, total, pull, steep in zip(lefts, totals, pulls, slopes, strict=True):
        residual = rows[left + 1] - rows[left]
        residual -= rows[total]
        slope += steep * residual
        residual *= pull
        line += residual
        line += rows[left] << SHIFT
    for row in rows[:leaves]:
        row += line >> SHIFT
        line += slope
    return line.size


@lru_cache(maxsize=256)
def integer_weights(k: int, levels: int) -> IntArray:
    """The weights of the residuals for each digit, in units of 2**-SHIFT."""
    return np.rint(weight_matrix(k, levels) * (1 << SHIFT)).astype(np.int64)
