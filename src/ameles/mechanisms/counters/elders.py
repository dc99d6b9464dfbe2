"""Elders counter: a k-ary tree that subtracts the young from their elder.

Theorem      Andersson-Pagh-Steiner-Torkamani 2025, "Count on Your Elders"; as for all summed
             counters: with L R = A exactly, prefix sums plus L z are epsilon-DP for z of scale
             (largest column of R in L1) / epsilon; here L has entries 0, 1, -1
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale h / epsilon for each block of an h-level k-ary tree, k odd
Error        as many noises as the absolute balanced digits of t add up to
Memory       h (k + 1) / 2 integers per counter and up to 1024 noise values taken ahead

Write t in balanced base k, with digits from -(k - 1) / 2 to (k - 1) / 2.  A positive digit adds
that many blocks.  A negative one counts the block above, whose last blocks are yet to come, and
subtracts those: their noise is drawn early, which the theorem allows.  So digits of half the size
suffice.

>>> from ameles.noise import Zero
>>> run = EldersCounter(epsilon=1, horizon=1024).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> EldersCounter(epsilon=1, horizon=1024).arity
13
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ameles.core.noise import Noise
from ameles.core.parameters import OptionalWhole, refuse
from ameles.mechanisms.counters.arity import TRIED, best_arity, digit_total
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.pure import PureTreeCounter
from ameles.mechanisms.counters.summed import Process
from ameles.mechanisms.counters.tape_order import Demands
from ameles.mechanisms.laplace.confined import Band, Floats, Walk, either
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.noise.arrays import IntArray

# Numbers that are worked on together; from how many steps and up to how many counters that is
# quicker than step by step.
TOGETHER, WORTH_TOGETHER, WIDEST = 1 << 16, 32, 64


@dataclass(frozen=True, kw_only=True)
class EldersCounter(PureTreeCounter):
    """Counts from noisy blocks, added and subtracted."""

    tried_arities: ClassVar[tuple[int, ...]] = TRIED

    arity: OptionalWhole = OptionalWhole(3, 1 << 16)

    def __post_init__(self) -> None:
        if self.arity is None:
            self.__dict__["arity"] = best_arity(self.horizon, balanced_cost, odd=True)
        if self.half * 2 == self.arity:
            raise refuse("arity", "odd", self.arity, why="the digits are balanced around zero")
        super().__post_init__()

    @property
    def half(self) -> int:
        """The largest digit."""
        return (self.arity or 3) // 2

    @property
    def levels(self) -> int:
        """How many blocks an item is in."""
        return balanced_levels(self.horizon, self.arity or 3)

    @property
    def error(self) -> EldersError:
        """Independent noises, by the balanced digits."""
        return EldersError(self.scale, self.arity or 3, self.levels)

    @property
    def memory(self) -> int:
        """Per level its sum and the noises to give back; the exact sum; the noise ahead."""
        return self.columns * (1 + self.ahead + self.levels * (self.half + 1) + 1) + 1

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return EldersProcess(self, noise, state)


class EldersProcess:
    """A balanced counter: per level a digit, a sum, and the noises that it has yet to return."""

    def __init__(self, recipe: EldersCounter, noise: Noise, state: IntArray | None) -> None:
        half, levels, columns = recipe.half, recipe.levels, recipe.columns
        self._noise = noise
        self._scale = recipe.scale
        self._half = half
        self._columns = columns
        self._t = 0
        self._owed = np.zeros((levels, half, columns), dtype=np.int64)
        self._sums = np.zeros((levels, columns), dtype=np.int64)
        if state is not None:
            self._t = int(state[0])
            rows = state[1:].reshape(levels, half + 1, columns)
            self._sums, self._owed = rows[:, 0].copy(), rows[:, 1:].copy()
        self._digits = balanced_digits(self._t, 2 * half + 1, levels)
        self._total = self._sums.sum(axis=0)

    def state(self) -> IntArray:
        rows = np.concatenate([self._sums[:, None], self._owed], axis=1)
        return np.concatenate([np.array([self._t]), rows.reshape(-1)])

    def take(self, n: int) -> IntArray:
        block = max(1, TOGETHER // self._columns)
        if n < WORTH_TOGETHER or self._columns > WIDEST:
            return self._one_by_one(n)
        out = np.empty((n, self._columns), dtype=np.int64)
        for start in range(0, n, block):
            part = out[start : start + block]
            part[:] = self._together(len(part))
        return out

    def _one_by_one(self, n: int) -> IntArray:
        drawn = self._noise.laplace(self._scale, (self._draws(n), self._columns))
        out = np.empty((n, self._columns), dtype=np.int64)
        used = 0
        for i in range(n):
            used = self._increment(drawn, used)
            out[i] = self._total
        self._t += n
        return out

    def _together(self, n: int) -> IntArray:
        """The same for many steps, level by level: when each level moves is known in advance."""
        half, k = self._half, 2 * self._half + 1
        demands, moves = Demands(n), []
        for level in range(len(self._digits)):
            size: int = k**level
            at = np.arange(-(self._t + 1 + size // 2) % size, n, size)
            # the digit before each move: half is a carry, below zero a noise is given back
            reached = (self._t + 1 + at + size // 2) // size
            digit = (reached - 1 + half) % k - half
            needs = digit >= 0
            demands.add(at[needs], np.where(digit[needs] == half, half, 1))
            moves.append((at, digit, needs))
        drawn, places = demands.draw(self._noise, self._scale, self._columns)
        out = np.zeros((n, self._columns), dtype=np.int64)
        for level, ((at, digit, needs), place) in enumerate(zip(moves, places, strict=True)):
            if len(at):
                out[at] += self._moved(level, digit, needs, drawn, place)
        out[0] += self._total
        np.cumsum(out, axis=0, out=out)
        self._t += n
        self._total = out[-1].copy()
        self._digits = balanced_digits(self._t, k, len(self._digits))
        return out

    def _moved(
        self,
        level: int,
        digit: IntArray,
        needs: NDArray[np.bool_],
        drawn: IntArray,
        place: IntArray,
    ) -> IntArray:
        """By how much the sum of a level changes at each of its moves; keeps where it ends."""
        half, columns = self._half, self._columns
        owed = self._owed[level][None]  # by carry, the one before these steps first
        starts = np.zeros(len(digit), dtype=np.int64)
        starts[needs] = place
        carries = np.flatnonzero(digit == half)
        if len(carries):
            fresh = drawn[starts[carries][:, None] + np.arange(half)]
            owed = np.concatenate([owed, fresh])
        cycle = np.searchsorted(carries, np.arange(len(digit)), side="right")
        added = np.zeros((len(digit), columns), dtype=np.int64)
        single = needs & (digit < half)
        added[single] = drawn[starts[single]]
        back = ~needs
        added[back] = owed[cycle[back], digit[back] + half]
        # after a carry the sum starts again, from minus what is owed
        runs = np.cumsum(added, axis=0)
        sums = runs + self._sums[level]
        after = cycle > 0
        last = carries[cycle[after] - 1]
        sums[after] = runs[after] - runs[last] - owed[cycle[after]].sum(axis=1)
        changes: IntArray = np.diff(sums, axis=0, prepend=self._sums[level][None])
        self._sums[level] = sums[-1]
        self._owed[level] = owed[-1]
        return changes

    def _increment(self, drawn: IntArray, used: int) -> int:
        """One step, with its carries; gives how many of the noises are used up."""
        half = self._half
        for level, digit in enumerate(self._digits):
            if digit == half:  # the elder takes over; the last of its blocks are subtracted
                owed = self._owed[level]
                owed[:] = drawn[used : used + half]
                used += half
                self._total -= self._sums[level]
                self._sums[level] = -owed.sum(axis=0)
                self._total += self._sums[level]
                self._digits[level] = -half
                continue
            if digit >= 0:
                fresh = drawn[used]
                used += 1
            else:
                fresh = self._owed[level][digit + half]
            self._sums[level] += fresh
            self._total += fresh
            self._digits[level] = digit + 1
            break
        return used

    def _draws(self, n: int) -> int:
        """How many noises the next ``n`` steps need."""
        return sum(
            self._drawn_by(self._t + n, level) - self._drawn_by(self._t, level)
            for level in range(len(self._digits))
        )

    def _drawn_by(self, t: int, level: int) -> int:
        """How many noises a level has needed after t steps."""
        k = 2 * self._half + 1
        size: int = k**level
        cycles, rest = divmod((t + size // 2) // size, k)
        return 2 * self._half * cycles + min(rest, self._half) + self._half * (rest > self._half)


@dataclass(frozen=True)
class EldersError(LaplaceError):
    """As many independent discrete Laplace variables as the balanced digits add up to."""

    scale: Fraction
    arity: int
    levels: int

    def terms(self, t: int) -> int:
        """How many noises the release at t has."""
        return sum(abs(digit) for digit in balanced_digits(t, self.arity, self.levels))

    def most_terms(self, steps: int) -> int:
        """The most noises that any release can have."""
        return min(self.arity // 2 * self.levels, steps)

    def law(self, t: int) -> LaplaceMixture:
        return LaplaceMixture((LaplacePart(self.scale, 1.0, self.terms(t)),))

    def worst_law(self, steps: int) -> LaplaceMixture:
        return LaplaceMixture((LaplacePart(self.scale, 1.0, self.most_terms(steps)),))

    def walk(self, steps: int) -> Walk:
        """Exact if ``steps`` ends in the first half of its blocks; else with a block to its end.

        The noise in the left half of a block depends on that before the block alone, that in
        the right half on that after it alone, and in the same way.
        """
        scale, k = self.scale, self.arity

        def leaving(band: Band) -> Floats:
            half = after = band.inside
            count = steps
            for _ in range(self.levels):
                digit, count = count % k, count // k
                if digit > k // 2:
                    digit, count, after = 0, count + 1, band.inside
                for _ in range(digit):
                    after = either(half, band.then(scale, either(half, after)))
                wider = band.inside
                for _ in range(k // 2):
                    wider = band.then(scale, either(either(half, half), wider))
                half = either(half, wider)
            return after

        return Walk(leaving, steps, self.most_terms(steps), frozenset((scale,)))

    def between(self, before: int, t: int) -> LaplaceMixture:
        k, unshared = self.arity, 0
        for level in range(self.levels):
            (one, first), (other, second) = (_placed(count, k, level) for count in (before, t))
            # blocks of one elder, on one side of its middle, are shared as far as both go
            shared = min(abs(first), abs(second)) if one == other and first * second > 0 else 0
            unshared += abs(first) + abs(second) - 2 * shared
        return LaplaceMixture((LaplacePart(self.scale, 1.0, unshared),))


def _placed(t: int, k: int, level: int) -> tuple[int, int]:
    """The elder that the level's digit of t counts within, and the digit."""
    size: int = k**level
    reached = (t + size // 2) // size
    digit = (reached + k // 2) % k - k // 2
    return (reached - digit) // k + (digit > 0), digit


def balanced_digits(t: int, k: int, levels: int) -> list[int]:
    """The digits of t between -(k - 1) / 2 and (k - 1) / 2, the lowest first.

    >>> balanced_digits(8, 3, 3)  # 9 - 1
    [-1, 0, 1]
    """
    digits = []
    for _ in range(levels):
        digit = (t + k // 2) % k - k // 2
        digits.append(digit)
        t = (t - digit) // k
    return digits


def balanced_levels(horizon: int, k: int) -> int:
    """How many balanced digits count to the horizon: T <= (k^h - 1) / 2."""
    levels = 1
    while (k**levels - 1) // 2 < horizon:
        levels += 1
    return levels


def balanced_cost(horizon: int, k: int) -> float:
    """The mean variance over the horizon, up to a factor: h^2 times the mean sum of digits."""
    levels = balanced_levels(horizon, k)
    middle = (k**levels - 1) // 2  # a balanced digit is the plain digit of t + middle, less half
    total = sum(
        digit_total(horizon + middle, k, level, lambda digit: abs(digit - k // 2), first=1 + middle)
        for level in range(levels)
    )
    return levels**2 * total / horizon
