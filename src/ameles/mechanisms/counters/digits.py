"""Counters by digits: a count is the sum of the noisy blocks that its digits name.

Write t with one digit a level, each level a block of the one below: a count of t steps is
then digit_0 single steps, digit_1 blocks, digit_2 blocks of blocks, and so on.  Each block
has one noise, drawn when the block is complete.  An item is in one block of each level, so
the noise scale is the number of levels over epsilon (Chan-Shi-Song 2010, Thm 3.2, where
the number of levels is computed and not a parameter).

Two-level, binary, k-ary counters and the tree of Dwork-Roth's figure 12.1 are this, with
other numbers of blocks; the top level has no limit.

The last of the blocks that make a larger one gets no noise: the larger one takes over.  So every
step draws one noise, the noise can be read back from the counts, and a unit that changes m steps
by one each moves as many noises as these steps have noisy blocks, exactly.  The scale is the
most that m steps have, over epsilon (law 2).  The first law pays for all levels in each of them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from ameles.core.noise import Noise
from ameles.core.parameters import Law
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.pure import PureTreeCounter
from ameles.mechanisms.counters.summed import Process
from ameles.mechanisms.counters.tape_order import Demands
from ameles.mechanisms.laplace.confined import Band, Floats, Walk, blocks_leaving
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.noise.arrays import IntArray

# The law of all steps at once is computed for this many noises, one after the other.
MOST_WALKED = 1 << 10


@dataclass(frozen=True, kw_only=True)
class DigitCounter(PureTreeCounter):
    """A counter that is given by how many blocks of a level make one of the next."""

    version: ClassVar[int] = 2

    law: Law = Law(2)

    @property
    @abstractmethod
    def arities(self) -> tuple[int, ...]:
        """For each level but the top one, how many of its blocks make one of the next."""

    @property
    def levels(self) -> int:
        """How many blocks an item is in."""
        return len(self.arities) + 1

    @property
    def scale(self) -> Fraction:
        """The scale of each block's noise: what one unit changes in all blocks, over epsilon."""
        if self.law == 1:
            return self.scale_for(self.contributions * self.bound * self.levels)
        most = most_blocks(self.horizon, self.arities, self.contributions)
        return self.scale_for(self.bound * most)

    @property
    def error(self) -> DigitError:
        """Independent noise, as many as the sum of the digits."""
        return DigitError(self.scale, self.arities)

    @property
    def memory(self) -> int:
        """A sum for each level, the exact sum, and the noise taken ahead."""
        return self.columns * (1 + self.ahead + self.levels) + 1

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return DigitProcess(noise, self.scale, self.arities, self.columns, state)


class DigitProcess:
    """Per level, the sum of the noises of its completed blocks since the last larger block."""

    def __init__(
        self,
        noise: Noise,
        scale: Fraction,
        arities: tuple[int, ...],
        columns: int,
        state: IntArray | None,
    ) -> None:
        self._noise = noise
        self._scale = scale
        self._arities = arities
        self._columns = columns
        self._t = 0
        self._sums = np.zeros((len(arities) + 1, columns), dtype=np.int64)
        if state is not None:
            self._t = int(state[0])
            self._sums = state[1:].reshape(-1, columns).copy()
        self._total = self._sums.sum(axis=0)

    def state(self) -> IntArray:
        return np.concatenate([np.array([self._t]), self._sums.reshape(-1)])

    def take(self, n: int) -> IntArray:
        demands = Demands(n)
        plans = []
        size = 1
        for arity in (*self._arities, 0):
            # the steps at which a block of this level ends, and the level's digit there
            at = np.arange(-(self._t + 1) % size, n, size)
            digit = (self._t + 1 + at) // size
            if arity:
                digit %= arity
            fresh, closing = at[digit > 0], np.flatnonzero(digit == 0)
            demands.add(fresh, np.ones(len(fresh), dtype=np.int64))
            plans.append((fresh, at[closing], closing - np.arange(len(closing))))
            size *= arity
        drawn, starts = demands.draw(self._noise, self._scale, self._columns)
        changes = np.zeros((n, self._columns), dtype=np.int64)
        for level, ((fresh, closing, before), where) in enumerate(zip(plans, starts, strict=True)):
            noises = drawn[where]
            if len(fresh):
                changes[fresh] += noises
            if len(closing):
                changes[closing] -= self._close(level, noises, before)
            elif len(fresh):
                self._sums[level] += noises.sum(axis=0)
        changes[:1] += self._total
        np.cumsum(changes, axis=0, out=changes)
        if n:
            self._total = changes[-1].copy()
        self._t += n
        return changes

    def _close(self, level: int, noises: IntArray, before: IntArray) -> IntArray:
        """The sums that end as larger blocks take over, each after ``before`` of the noises."""
        runs = np.zeros((len(noises) + 1, self._columns), dtype=np.int64)
        np.cumsum(noises, axis=0, out=runs[1:])
        runs += self._sums[level]
        ended = runs[before]
        self._sums[level] = runs[-1] - ended[-1]
        ended[1:] -= ended[:-1].copy()
        return ended


@dataclass(frozen=True)
class DigitError(LaplaceError):
    """As many independent discrete Laplace variables as the digits of t add up to."""

    scale: Fraction
    arities: tuple[int, ...]

    def digits(self, t: int) -> list[int]:
        """The digits of t, the lowest first; the top one has no limit."""
        lower = []
        for arity in self.arities:
            t, digit = divmod(t, arity)
            lower.append(digit)
        return [*lower, t]

    def terms(self, t: int) -> int:
        """How many noises the release at t has."""
        return sum(self.digits(t))

    def most_terms(self, steps: int) -> int:
        """The most noises that any of the first ``steps`` releases has."""
        digits = self.digits(steps)
        best = sum(digits)
        # a smaller t keeps some high digits, lowers the next by one, and fills those below
        for level, digit in enumerate(digits):
            if digit:
                filled = sum(arity - 1 for arity in self.arities[:level])
                best = max(best, filled + digit - 1 + sum(digits[level + 1 :]))
        return best

    def law(self, t: int) -> LaplaceMixture:
        return LaplaceMixture((LaplacePart(self.scale, 1.0, self.terms(t)),))

    def worst_law(self, steps: int) -> LaplaceMixture:
        return LaplaceMixture((LaplacePart(self.scale, 1.0, self.most_terms(steps)),))

    def walk(self, steps: int) -> Walk | None:
        scale, arities, digits = self.scale, self.arities, self.digits(steps)
        if sum(arities) + sum(digits) > MOST_WALKED:
            return None

        def leaving(band: Band) -> Floats:
            return blocks_leaving(band.inside, digits, arities, partial(band.then, scale))

        return Walk(leaving, steps, self.most_terms(steps), frozenset((scale,)))

    def between(self, before: int, t: int) -> LaplaceMixture:
        unshared = sum(unshared_blocks(before, t, self.arities))
        return LaplaceMixture((LaplacePart(self.scale, 1.0, unshared),))


def unshared_blocks(before: int, t: int, arities: tuple[int, ...]) -> list[int]:
    """For each level, how many blocks make up one of two counts and not the other.

    >>> unshared_blocks(5, 7, (2, 2))  # 4 + 1 and 4 + 2 + 1: the 4 is shared
    [2, 1, 0]
    """
    counts = []
    for arity in arities:
        (before, one), (t, other) = divmod(before, arity), divmod(t, arity)
        counts.append(abs(other - one) if before == t else one + other)
    return [*counts, abs(t - before)]


@lru_cache(maxsize=1024)
def most_blocks(horizon: int, arities: tuple[int, ...], contributions: int) -> int:
    """The most noisy blocks that this many different steps have, counted for each step.

    >>> most_blocks(8, (2, 2, 2), 1), most_blocks(8, (2, 2, 2), 3)
    (4, 10)
    """
    steps, left, total = steps_by_blocks(horizon, arities), contributions, 0
    for blocks in range(len(steps) - 1, 0, -1):
        taken = min(left, steps[blocks])
        total += taken * blocks
        left -= taken
    return total


def steps_by_blocks(horizon: int, arities: tuple[int, ...]) -> list[int]:
    """How many steps are in 0, 1, 2, ... noisy blocks.

    Of the a parts of a block a - 1 have noise, so the numbers inside a block are coefficients of
    the product of 1 + (a - 1) x over the levels below.  The horizon is digit_l blocks of level l.

    >>> steps_by_blocks(8, (2, 2, 2))  # the first step is in all four blocks, the last in one
    [0, 1, 3, 3, 1]
    """
    steps = [0] * (len(arities) + 2)
    inside = [1]  # of a block: how many of its steps are in 0, 1, 2, ... blocks within it
    for arity in (*arities, 0):
        horizon, digit = divmod(horizon, arity) if arity else (0, horizon)
        for blocks, count in enumerate(inside):
            steps[blocks + 1] += digit * count
        wider = [*inside, 0]
        for blocks, count in enumerate(inside):
            wider[blocks + 1] += (arity - 1) * count
        inside = wider
    return steps
