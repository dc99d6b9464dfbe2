"""p-sum counter: counts from any declared collection of intervals.

Theorem      Chan-Shi-Song 2010, Thm 3.2 (catalogue 3): each interval's sum gets one noise, when the
             interval ends, and a count is the sum over a fixed cover of [1, t] by intervals
             that have ended; alpha, the most of them that share an item, is computed
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale alpha / epsilon for each interval that a cover uses
Error        as many noises as the smallest cover of [1, t] has intervals
Memory       T integers per counter and up to 1024 noise values taken ahead

Each step has one interval that ends its cover.  Declared intervals that are in no cover get no
noise and are not paid for, and several contributions cost what the worst of so many steps have in
intervals, together (law 2).  The first law pays for all declared intervals, and alpha times over.

Two-level and binary counters are special cases; they have classes of their own, which need less
memory.

>>> from ameles.noise import Zero
>>> halves = ((1, 1), (2, 2), (1, 2), (3, 3), (4, 4))
>>> counter = PSumCounter(epsilon=1, horizon=4, intervals=halves)
>>> counter.alpha, [counter.error.terms(t) for t in (1, 2, 3, 4)]
(2, [1, 1, 2, 3])
>>> run = counter.start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, TypeAlias

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.core.parameters import Law, Parameter, refuse
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.pure import PureCounter
from ameles.mechanisms.counters.summed import Process
from ameles.mechanisms.laplace.confined import Band, Floats, Walk, either
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.noise.arrays import IntArray

Interval: TypeAlias = tuple[int, int]
# The law of all steps at once is computed for this many, one after the other.
MOST_WALKED = 1 << 10


class Intervals(Parameter[Sequence[Sequence[int]], tuple[Interval, ...]]):
    """Intervals [i, j] of steps, counted from 1; the order does not matter."""

    def check(self, value: Sequence[Sequence[int]]) -> tuple[Interval, ...]:
        try:
            pairs = [(i, j) for i, j in value]
        except (TypeError, ValueError):
            pairs = []
        whole = all(type(end) is int for pair in pairs for end in pair)
        if not pairs or not whole or not all(1 <= i <= j for i, j in pairs):
            raise refuse(self.name, "pairs of steps (first, last), from 1 on", value)
        if len(set(pairs)) != len(pairs):
            raise refuse(self.name, "different from each other", value)
        return tuple(sorted(pairs, key=lambda pair: (pair[1], -pair[0])))


@dataclass(frozen=True, kw_only=True)
class PSumCounter(PureCounter):
    """Counts from the noisy sums of declared intervals."""

    version: ClassVar[int] = 2

    intervals: Intervals = Intervals()
    law: Law = Law(2)

    def __post_init__(self) -> None:
        if self.intervals[-1][1] > self.horizon:
            raise refuse("intervals", f"within the horizon of {self.horizon}", self.intervals[-1])
        covers(self.intervals, self.horizon)
        super().__post_init__()

    @property
    def alpha(self) -> int:
        """The most intervals with noise that share an item."""
        return most_shared(self.noisy)

    @property
    def noisy(self) -> tuple[Interval, ...]:
        """The intervals that get noise: under the first law all, else those of the covers."""
        if self.law == 1:
            return self.intervals
        starts = covers(self.intervals, self.horizon)
        return tuple((starts[t], t) for t in range(1, self.horizon + 1))

    @property
    def scale(self) -> Fraction:
        """The scale of each interval's noise."""
        if self.law == 1:
            return self.scale_for(self.contributions * self.bound * self.alpha)
        most = most_intervals(self.intervals, self.horizon, self.contributions)
        return self.scale_for(self.bound * most)

    @property
    def error(self) -> PSumError:
        """Independent noises, one for each interval of the cover."""
        return PSumError(self.scale, tuple(covers(self.intervals, self.horizon)))

    @property
    def memory(self) -> int:
        """The noise of every count so far, because later covers may use it."""
        return self.columns * (1 + self.ahead + self.horizon + 1) + 1

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return PSumProcess(noise, self, state)


class PSumProcess:
    """The noise of a count is that of a smaller one plus that of the last interval."""

    def __init__(self, noise: Noise, recipe: PSumCounter, state: IntArray | None) -> None:
        self._noise = noise
        self._scale = recipe.scale
        self._columns = recipe.columns
        self._starts = covers(recipe.intervals, recipe.horizon)
        self._ending: defaultdict[int, list[int]] = defaultdict(list)
        for first, last in recipe.noisy:
            self._ending[last].append(first)
        self._noises = np.zeros((1, recipe.columns), dtype=np.int64)
        if state is not None:
            self._noises = state.reshape(-1, recipe.columns).copy()

    def state(self) -> IntArray:
        return self._noises.reshape(-1)

    def take(self, n: int) -> IntArray:
        done = len(self._noises)
        ending = [self._ending[t] for t in range(done, done + n)]
        drawn = self._noise.laplace(self._scale, (sum(map(len, ending)), self._columns))
        noises = np.concatenate([self._noises, np.zeros((n, self._columns), dtype=np.int64)])
        used = 0
        for t, firsts in enumerate(ending, start=done):
            start = self._starts[t]
            noises[t] = noises[start - 1] + drawn[used + firsts.index(start)]
            used += len(firsts)
        self._noises = noises
        return noises[done:].copy()


@dataclass(frozen=True)
class PSumError(LaplaceError):
    """As many independent discrete Laplace variables as the cover of t has intervals."""

    scale: Fraction
    starts: tuple[int, ...]

    def terms(self, t: int) -> int:
        """How many intervals cover [1, t]."""
        return len(self.cover(t))

    def cover(self, t: int) -> set[int]:
        """The last steps of the intervals that cover [1, t]; each step ends one at most."""
        ends = set()
        while t:
            ends.add(t)
            t = self.starts[t] - 1
        return ends

    def between(self, before: int, t: int) -> LaplaceMixture:
        unshared = self.cover(before) ^ self.cover(t)
        return LaplaceMixture((LaplacePart(self.scale, 1.0, len(unshared)),))

    def law(self, t: int) -> LaplaceMixture:
        return LaplaceMixture((LaplacePart(self.scale, 1.0, self.terms(t)),))

    def walk(self, steps: int) -> Walk | None:
        if steps > MOST_WALKED:
            return None
        scale, starts = self.scale, self.starts

        def leaving(band: Band) -> Floats:
            after = [band.inside] * (steps + 1)
            for t in range(steps, 0, -1):
                before = starts[t] - 1
                after[before] = either(after[before], band.then(scale, after[t]))
            return after[0]

        return Walk(leaving, steps, max(map(self.terms, range(1, steps + 1))), frozenset((scale,)))

    def worst_law(self, steps: int) -> LaplaceMixture:
        most = max(self.terms(t) for t in range(1, steps + 1))
        return LaplaceMixture((LaplacePart(self.scale, 1.0, most),))


def most_shared(intervals: tuple[Interval, ...]) -> int:
    """Alpha: a sweep over the ends of all intervals."""
    changes = sorted([(i, 1) for i, _ in intervals] + [(j + 1, -1) for _, j in intervals])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


@lru_cache(maxsize=64)
def most_intervals(intervals: tuple[Interval, ...], horizon: int, contributions: int) -> int:
    """The most intervals of covers that this many different steps are in, counted for each."""
    starts = np.array(covers(intervals, horizon)[1:])
    changes = np.bincount(starts - 1, minlength=horizon)
    changes[1:] -= 1  # an interval of a cover ends at every step
    shared = np.sort(np.cumsum(changes))
    return int(shared[::-1][:contributions].sum())


@lru_cache(maxsize=64)
def covers(intervals: tuple[Interval, ...], horizon: int) -> list[int]:
    """For each t, where the last interval of the smallest cover of [1, t] starts."""
    ending = defaultdict(list)
    for first, last in intervals:
        ending[last].append(first)
    sizes, starts = [0], [0]
    for t in range(1, horizon + 1):
        if not ending[t]:
            raise BadInput(
                f"The intervals cannot count to {t}: none of them ends there.",
                tip="every step t up to the horizon needs an interval that ends at t",
            )
        best = min(ending[t], key=lambda first: sizes[first - 1])
        sizes.append(sizes[best - 1] + 1)
        starts.append(best)
    return starts
