"""Siblings counter: a k-ary tree whose noises correct each other, past and future.

Theorem      write A for prefix sums, R for "item s is in node i": with L R = A exactly, prefix
             sums plus L z are epsilon-DP if z has scale (largest column of R in L1) / epsilon,
             also against adaptive inputs: shift z by the column of the changed item; since A is
             lower triangular no earlier release moves, so noise of future nodes may be used
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale H / epsilon on every node of an H-level k-ary tree
             without root, drawn when the path enters the node's group of siblings
Error        0.30 of the binary tree's mean standard deviation at T = 2^20
Memory       H k integers per counter and up to 1024 noise values taken ahead

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

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.loss import Pure
from ameles.core.mechanism import Noise
from ameles.core.parameters import Epsilon, Horizon, OptionalWhole
from ameles.mechanisms.counters.arity import best_arity, digits_of
from ameles.mechanisms.counters.siblings_error import SiblingsError, mean_variance, weight_matrix
from ameles.mechanisms.counters.summed import Process, SummedCounter
from ameles.mechanisms.counters.tape_order import Demands
from ameles.noise.arrays import IntArray

# Weights are multiples of 2**-SHIFT: fine enough to lose nothing, coarse enough not to overflow.
SHIFT = 12
HALF = 1 << SHIFT - 1
LARGEST_SCALE = 1 << 34  # its sums, times digits and weights, stay below 2**63


@dataclass(frozen=True, kw_only=True)
class SiblingsCounter(SummedCounter):
    """Counts from a k-ary tree by least squares over the siblings of the path."""

    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()
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
    def loss(self) -> Pure:
        """Pure: epsilon for all releases together."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int:
        """The horizon."""
        return self.horizon

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
    def scale(self) -> Fraction:
        """The scale of each node's noise."""
        return self.contributions * self.bound * self.levels / Fraction(self.loss.epsilon)

    @property
    def error(self) -> SiblingsError:
        """A weighted sum of Laplace variables, by the digits of t."""
        return SiblingsError(self.scale, self.sizes)

    @property
    def memory(self) -> int:
        """The running noises of all groups on the path, what is fixed within one, the exact sum,
        and the noise taken ahead."""
        return self.columns * (sum(self.sizes) + self.levels + 3 + 1 + self.ahead) + 1

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return SiblingsProcess(noise, self.scale, self.sizes, self.columns, state)


class SiblingsProcess:
    """The groups of siblings along the path to leaf t, each as the running sums of its noises.

    Within a group of leaves only the lowest digit d moves, and the noise is
    left + P_0[d] + (pull + d slope) / 2**SHIFT, with the rest fixed until the group is left.
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
        self._t = 0
        self._groups = [np.zeros((size + 1, columns), dtype=np.int64) for size in sizes]
        if state is not None:
            self._t = int(state[0])
            rows = state[1:].reshape(-1, columns)
            for group, part in zip(self._groups, np.split(rows, np.cumsum(sizes)), strict=False):
                group[1:] = part
        groups = [group[None] for group in self._groups]
        self._rest = self._rest_of(groups, np.array([self._t // self._leaves]))

    @property
    def _leaves(self) -> int:
        """How many steps the path stays in one group of leaves."""
        return self._sizes[0] if len(self._sizes) > 1 else 1 << 62

    def state(self) -> IntArray:
        rows = np.concatenate([group[1:] for group in self._groups])
        return np.concatenate([np.array([self._t]), rows.reshape(-1)])

    def take(self, n: int) -> IntArray:
        if n == 1:
            return self._take_one()
        demands = Demands(n)
        for level in range(len(self._sizes)):
            at = self._entries(level, n)
            demands.add(at, np.full(len(at), self._sizes[level]))
        drawn, starts = demands.draw(self._noise, self._scale, self._columns)
        groups = [self._entered(level, drawn, where) for level, where in enumerate(starts)]
        steps = np.arange(self._t + 1, self._t + n + 1)
        leaves, digit = np.divmod(steps, self._leaves)
        first = self._t // self._leaves
        if len(groups[0]) > 1 or self._t == 0:
            self._rest = self._rest_of(groups, np.arange(first, int(steps[-1]) // self._leaves + 1))
        place = leaves - first
        left, pull, slope = self._rest
        released: IntArray = slope[place] * digit[:, None]
        released += pull[place]
        released += HALF
        released >>= SHIFT
        released += left[place]
        released += groups[0][place, digit]
        # copied, since a view would keep all the rows that it was taken from
        self._rest = (left[-1:].copy(), pull[-1:].copy(), slope[-1:].copy())
        self._groups = [group[-1].copy() for group in groups]
        self._t += n
        return released

    def _take_one(self) -> IntArray:
        """One step, in place: for wide counters, whose groups are most of the memory."""
        entered = [level for level in range(len(self._sizes)) if len(self._entries(level, 1))]
        for level in entered:
            group = self._groups[level]
            group[1:] = self._noise.laplace(self._scale, (self._sizes[level], self._columns))
            np.cumsum(group, axis=0, out=group)
        self._t += 1
        leaves, digit = divmod(self._t, self._leaves)
        if entered:
            groups = [group[None] for group in self._groups]
            self._rest = self._rest_of(groups, np.array([leaves]))
        left, pull, slope = self._rest
        released: IntArray = slope * digit
        released += pull
        released += HALF
        released >>= SHIFT
        released += left
        released += self._groups[0][digit]
        return released

    def _entries(self, level: int, n: int) -> IntArray:
        """At which of the next ``n`` steps, from 0, the path enters a group of this level."""
        start = [0] if self._t == 0 else []
        if level == len(self._sizes) - 1:
            return np.array(start, dtype=np.int64)
        block = self._sizes[0] ** (level + 1)
        return np.concatenate([start, np.arange(-(self._t + 1) % block, n, block)]).astype(np.int64)

    def _entered(self, level: int, drawn: IntArray, where: IntArray) -> IntArray:
        """The running sums of the level's groups, the present one first if there is one."""
        present = self._groups[level][None]
        if not len(where):
            return present
        size = self._sizes[level]
        fresh = np.zeros((len(where), size + 1, self._columns), dtype=np.int64)
        np.cumsum(drawn[where[:, None] + np.arange(size)], axis=1, out=fresh[:, 1:])
        return fresh if self._t == 0 else np.concatenate([present, fresh])

    def _rest_of(
        self, groups: list[IntArray], leaves: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """For each group of leaves: the sum left of it, and the residuals' pull and its slope."""
        shape = (len(leaves), self._columns)
        left, pull, slope = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        node, digits, totals, residuals = leaves, [], [groups[0][:, -1]], []
        rows = np.arange(len(leaves)) if len(groups[0]) == len(leaves) else leaves * 0
        for level in range(1, len(self._sizes)):
            k = self._sizes[0] if level < len(self._sizes) - 1 else 1 << 62
            above, digit = np.divmod(node, k)
            row = above - above[0] if len(groups[level]) > 1 else above * 0
            group = groups[level]
            left += group[row, digit]
            residuals.append(group[row, digit + 1] - group[row, digit] - totals[-1][rows])
            digits.append(digit)
            totals.append(group[:, -1])
            node, rows = above, row
        for weights, residual in zip(self._weights, residuals, strict=True):
            slope += int(weights[0]) * residual
            steady = sum((int(w) * d for w, d in zip(weights[1:], digits, strict=True)), node * 0)
            pull += steady[:, None] * residual
        return left, pull, slope


@lru_cache(maxsize=256)
def integer_weights(k: int, levels: int) -> IntArray:
    """The weights of the residuals for each digit, in units of 2**-SHIFT."""
    return np.rint(weight_matrix(k, levels) * (1 << SHIFT)).astype(np.int64)
