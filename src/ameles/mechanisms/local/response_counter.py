"""Randomized response at every step: the running count of bits that were flipped on arrival.

Theorem      Dwork-Roth 2014, 12.3, option 1 (catalogue 2): each bit is kept with probability
             p = r / (r + 1), r = a / b the odds, and flipped otherwise; (ones - t q) / (p - q) with
             q = 1 - p is an unbiased count of t bits.  A step is told by its own coin alone, so
             that one step loses epsilon, for ever
Neighbours   streams that differ in one step
Noise        one uniform draw below a + b each step
Error        standard deviation sqrt(t) e^(epsilon / 2) / (e^epsilon - 1): at epsilon 0.1 9.996 for
             one step, where Laplace noise on each increment has 14.14
Memory       one integer: how many kept or flipped bits were ones

It is the baseline of the texts: it needs no horizon, and its state is what reports would tell, so
that it may be seized after every step.  Its error grows like sqrt(t), where that of a tree grows
like a power of log t.  It counts bits: a larger number counts as one, a smaller one as zero.

>>> from ameles.noise import System, Zero
>>> recipe = RandomizedResponseCounter(odds=3)
>>> [float(count) for count in recipe.start(Zero()).feed([1, 1, 0])]
[1.5, 3.0, 2.5]
>>> round(RandomizedResponseCounter(epsilon="0.1").error.std(1), 3)
9.996
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.guarantee import EVENT, Contribution, Guarantee, Intrusions, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import OptionalHorizon
from ameles.mechanisms.local.frequencies import FloatArray, FrequencyError
from ameles.mechanisms.local.odds import EpsilonOrOdds, LocalEpsilon, Odds
from ameles.mechanisms.local.randomizer import whole_values
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.run import Run, Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class RandomizedResponseCounter(EpsilonOrOdds, Mechanism["ResponseCounterRun"]):
    """A running count of bits, each of which is randomised when it arrives."""

    epsilon: LocalEpsilon = LocalEpsilon()
    odds: Odds = Odds()
    horizon: OptionalHorizon = OptionalHorizon()

    @property
    def p(self) -> Fraction:
        """The probability that a bit is kept."""
        return self.table_odds / (self.table_odds + 1)

    @property
    def guarantee(self) -> Guarantee:
        """About one step, without end if there is no horizon."""
        return Guarantee(
            loss=Pure(self.promised),
            unit=EVENT,
            neighbours=Neighbours.STEP,
            contribution=Contribution(steps=1, bound=1, norm=Norm.L1),
            horizon=self.horizon,
            intrusions=Intrusions.EVERY,
        )

    @property
    def error(self) -> FrequencyError:
        """The error of the count after so many bits as steps."""
        return FrequencyError(float(self.p), float(1 - self.p))

    def _run(self, state: State, noise: Noise) -> ResponseCounterRun:
        return ResponseCounterRun(self, state, noise)


class ResponseCounterRun(Run[Any, Any]):
    """A run, which holds how many randomised bits were ones."""

    def __init__(self, recipe: RandomizedResponseCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._noise = noise
        self._ones = state.parts[0].copy() if state.parts else np.zeros(1, dtype=np.int64)

    def step(self, x: Any) -> float:
        """The unbiased count after one more bit."""
        return float(self.feed([x])[0])

    def feed(self, xs: Iterable[Any]) -> FloatArray:
        """The counts after each of these bits."""
        self.check_live()
        bits = np.clip(whole_values(xs), 0, 1)
        odds = self._recipe.table_odds
        p, q = float(self._recipe.p), float(1 - self._recipe.p)
        with Turn(self):
            self.check_room(len(bits))
            drawn = self._noise.uniform(odds.numerator + odds.denominator, len(bits))
            kept = drawn < odds.numerator
            ones = self._ones[0] + np.cumsum(bits == kept)
            steps = self._t + np.arange(1, len(bits) + 1)
            if len(bits):
                self._ones[0] = ones[-1]
            self._t += len(bits)
        for secret in (bits, drawn, kept):
            secret.fill(0)
        counts: FloatArray = (ones - steps * q) / (p - q)
        return counts

    def _parts(self) -> tuple[IntArray, ...]:
        return (self._ones,)
