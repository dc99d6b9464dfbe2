"""Randomized response at every step: the running count of bits that were flipped on arrival.

Theorem      Dwork-Roth 2014, 12.3, option 1 (catalogue 2): each bit is kept with probability
             p = r / (r + 1), r = a / b the odds, and flipped otherwise; (ones - n q) / (p - q) with
             q = 1 - p is an unbiased count of n bits.  Each coin tells about its own bit alone, so
             one bit loses ln r, for ever; a unit with c bits loses c ln r
Neighbours   streams that differ in up to ``contributions`` steps, by one bit each
Noise        one uniform draw below a + b for each bit
Error        standard deviation sqrt(t) e^(epsilon / 2) / (e^epsilon - 1): at epsilon 0.1 it is
             9.996 for one step, where Laplace noise on each increment has 14.14
Memory       for each counter one integer: how many kept or flipped bits were ones

It is the baseline of the texts: it needs no horizon, and its state may be seized between any two
calls.  Its error grows like sqrt(t), where that of a tree grows like a power of log t.

It counts bits: a number above 1 counts as 1, one below 0 as 0.  So ``counter`` considers it only
for inputs that are declared to be bits.  Without noise it does not give the truth: a coin that
never flips says less than a fair share of ones.

Each call of ``add`` flips a coin of its own, and a step without any call is folded as a zero.  The
stated error is for one call a step; a run counts its ``noises``, and after n of them the error is
that of step n.

>>> from ameles.noise import Zero
>>> recipe = RandomizedResponseCounter(odds=3)
>>> [float(count) for count in recipe.start(Zero()).feed([1, 1, 0])]
[1.5, 3.0, 2.5]
>>> round(RandomizedResponseCounter(epsilon="0.1").error.std(1), 3)
9.996
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import OptionalHorizon, refuse
from ameles.mechanisms.counters.folded import FoldedCounterRun
from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.mechanisms.local.frequencies import FloatArray, FrequencyError
from ameles.mechanisms.local.odds import (
    LEAST_EPSILON,
    EpsilonOrOdds,
    LocalEpsilon,
    Odds,
    local_loss,
    local_odds,
)
from ameles.mechanisms.pan_private.erase import wipe
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import BoolArray, IntArray


@dataclass(frozen=True, kw_only=True)
class RandomizedResponseCounter(EpsilonOrOdds, CounterRecipe):
    """Running counts of bits, each of which is randomised when it arrives.

    ``epsilon`` is the loss of all bits of a unit together, ``odds`` are those of one bit.
    """

    bits: ClassVar[bool] = True
    survives: ClassVar[Intrusions] = Intrusions.EVERY  # and between any two calls

    epsilon: LocalEpsilon = LocalEpsilon()
    odds: Odds = Odds()
    horizon: OptionalHorizon = OptionalHorizon()

    def __post_init__(self) -> None:
        EpsilonOrOdds.__post_init__(self)
        if self.bound != 1:
            raise refuse("bound", "1, as it counts bits", self.bound)
        if self.epsilon is not None and self.epsilon / self.contributions < LEAST_EPSILON:
            raise refuse("epsilon", "at least 0.0001 for each contribution", self.epsilon)
        CounterRecipe.__post_init__(self)

    @property
    def table_odds(self) -> Fraction:
        """The odds of one bit."""
        share = None if self.epsilon is None else self.epsilon / self.contributions
        return local_odds(share, self.odds)

    @property
    def loss(self) -> Pure:
        """Pure: of all bits of one unit together, for ever."""
        if self.epsilon is not None:
            return Pure(self.epsilon)
        return Pure(self.contributions * local_loss(None, self.odds))

    @property
    def steps(self) -> int | None:
        """The horizon; None: without end."""
        return self.horizon

    @property
    def p(self) -> Fraction:
        """The probability that a bit is kept."""
        return self.table_odds / (self.table_odds + 1)

    @property
    def error(self) -> CoinsError:
        """The error of the count; a step is a bit."""
        return CoinsError(float(self.p), float(1 - self.p))

    @property
    def memory(self) -> int:
        """The ones; how many coins were flipped, and whether the open step has had an input."""
        return self.columns + 1

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return ResponseCounterRun(self, state, noise)


class ResponseCounterRun(FoldedCounterRun):
    """A run, which holds how many randomised bits were ones."""

    def __init__(self, recipe: RandomizedResponseCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._noise = noise
        odds = recipe.table_odds
        self._kept, self._every = odds.numerator, odds.numerator + odds.denominator
        self._p, self._q = float(recipe.p), float(1 - recipe.p)
        self._columns = recipe.columns
        if state.parts:
            ones, counted = state.parts
            self._ones = ones.copy()
            self._noises, added = divmod(int(counted[0]), 2)
            self._added = bool(added)
        else:
            self._ones = np.zeros(self._columns, dtype=np.int64)
            self._noises = 0
            self._added = False

    @property
    def noises(self) -> int:
        """How many coins each count has: public, as the number and the times of events are."""
        return self._noises

    def _fold(self, row: IntArray) -> None:
        reported = self._reported(row[None, :])
        self._ones += reported[0]
        wipe(reported)
        self._noises += 1
        self._added = True

    def _close(self) -> Any:
        if not self._added:
            self._fold(np.zeros(self._columns, dtype=np.int64))
        self._added = False
        return self._decoded(self._ones, self._noises)

    def _feed(self, rows: IntArray) -> Any:
        reported = self._reported(rows)
        ones = np.cumsum(reported, axis=0, dtype=np.int64)
        wipe(reported)
        ones += self._ones
        coins = self._noises + np.arange(1, len(rows) + 1)
        if len(rows):
            self._ones[:] = ones[-1]
            self._noises += len(rows)
            self._added = False
        return self._decoded(ones, coins[:, None])

    def _reported(self, rows: IntArray) -> BoolArray:
        """The bits as they are counted: kept or flipped."""
        drawn = self._noise.uniform(self._every, rows.shape)
        kept, bits = drawn < self._kept, rows > 0
        reported = np.equal(kept, bits)
        wipe(drawn, kept, bits)
        return reported

    def _decoded(self, ones: IntArray, coins: Any) -> FloatArray:
        counts: FloatArray = (ones - coins * self._q) / (self._p - self._q)
        return counts

    def _given(self, row: Any) -> Any:
        return float(row[0]) if self._recipe.width is None else row

    def _parts(self) -> tuple[IntArray, ...]:
        return self._ones, np.array([2 * self._noises + self._added], dtype=np.int64)


class CoinsError(FrequencyError):
    """The error of a count of bits; a step is a bit, and each bit has its own coin."""

    def between(self, before: int, t: int) -> CoinsLaw:
        """The law of the error of a total over steps before + 1, ..., t."""
        return CoinsLaw(self, t - before)

    def between_bounds(self, before: IntArray, after: IntArray, beta: float) -> FloatArray:
        """The bounds of many totals."""
        return self.bounds(after - before, beta)


@dataclass(frozen=True, slots=True)
class CoinsLaw:
    """The error of the count of so many bits: its deviation and its quantiles."""

    error: CoinsError
    coins: int

    @property
    def std(self) -> float:
        """The standard deviation."""
        return self.error.std(self.coins)

    def quantile(self, beta: float) -> float:
        """What the error exceeds with probability at most beta."""
        return self.error.bound(self.coins, beta)
