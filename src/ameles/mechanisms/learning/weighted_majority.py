"""Weighted majority: follows the advice of experts, nearly as well as the best of them, privately.

Theorem      Littlestone-Warmuth 1994; Dwork-Roth, algorithms 15 to 17, corrected (catalogue 20,
             21).  In each step expert i is followed with probability proportional to
             exp(-eta * losses of i so far).  If the losses of one step change, between 0 and 1, the
             odds of two experts change by at most e^(2 eta) in every later step: such a choice is
             eta^2 / 2 zero-concentrated, and T of them T eta^2 / 2.  Losses from -1 to 1 (the
             linear learner) double that range: 4 eta, and 2 eta^2 a step
Neighbours   all losses of one step are replaced
Noise        one exact choice in each step
Error        the sum of losses is above the best expert's by at most
             eta T s^2 / 8 + ln(k) / eta + s sqrt(T ln(1 / beta) / 2), with probability 1 - beta, s
             the range of the losses, if they do not depend on the choices (an oblivious adversary)
Memory       one integer for each expert

A step's expert is chosen before its losses are looked at.  Without a horizon the learner starts
afresh after 1, 2, 4, ... steps, each time at the rate for that length; a step's losses are used
within their epoch only, so the loss of privacy stays the same for ever.

>>> from ameles.noise import Zero
>>> run = WeightedMajority(rho="0.5", experts=3, horizon=100).start(Zero())
>>> [run.step(losses) for losses in ([1, 0, 1], [1, 0, 1], [0, 0, 1])]
[0, 1, 1]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import (
    EVENT,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Protects,
    Unit,
)
from ameles.core.loss import Concentrated
from ameles.core.noise import Noise
from ameles.core.parameters import Number, OptionalHorizon, Switch, Whole
from ameles.mechanisms.clamped import reports
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import SteppedRun
from ameles.noise.arrays import IntArray

FINEST = 1 << 40  # rates are multiples of one over this


@dataclass(frozen=True, kw_only=True)
class WeightedMajority(Mechanism["WeightedMajorityRun"]):
    """Follows one of ``experts`` in each step.

    A step's losses are whole numbers from 0 to ``grid``, which stands for 1; if ``signed``, from
    -``grid``.  Numbers outside are clamped.

    >>> recipe = WeightedMajority(rho="0.01", experts=10, horizon=10_000)
    >>> round(float(recipe.rate(10_000)), 6), round(recipe.error.bound(10_000, 0.05) / 10_000, 3)
    (0.001414, 0.175)
    """

    rho: Number = Number(Fraction(1, 10**9), 1000)
    experts: Whole = Whole(2, 1 << 20)
    horizon: OptionalHorizon = OptionalHorizon()
    grid: Whole = Whole(1, 1 << 20, 1)
    signed: Switch = Switch(False)
    unit: Protects = Protects(EVENT.tag)

    @property
    def span(self) -> int:
        """The range of the losses: 1, or 2 if they are signed."""
        return 2 if self.signed else 1

    def rate(self, steps: int) -> Fraction:
        """The rate eta of an epoch of so many steps: the largest that costs at most rho."""
        # one step costs (2 span eta)^2 / 8
        square = 2 * self.rho * FINEST**2 / (self.span**2 * steps)
        return Fraction(max(1, math.isqrt(math.floor(square))), FINEST)

    @property
    def guarantee(self) -> Guarantee:
        """Rho, for all steps together, whatever the losses of one step are."""
        return Guarantee(
            loss=Concentrated(self.rho),
            unit=Unit.tagged(self.unit),
            neighbours=Neighbours.STEP,
            contribution=Contribution(steps=1, bound=self.grid * self.span, norm=Norm.MAX),
            horizon=self.horizon,
            intrusions=Intrusions.NONE,
        )

    @property
    def error(self) -> RegretBound:
        """How much more than the best expert may be lost."""
        return RegretBound(self)

    @property
    def memory(self) -> int:
        """The 64-bit integers that a run holds."""
        return self.experts

    def _run(self, state: State, noise: Noise) -> WeightedMajorityRun:
        return WeightedMajorityRun(self, state, noise)


def linear_learner(
    *, rho: Fraction | str | int | float, dimensions: int, horizon: int, grid: int
) -> WeightedMajority:
    """The linear learner: an example from -1 to 1 in each dimension is the losses of a step.

    The share of steps in which each dimension was chosen is a weight vector, on the simplex, whose
    mean loss is close to the best.

    >>> linear_learner(rho=1, dimensions=3, horizon=10, grid=100).span
    2
    """
    return WeightedMajority(rho=rho, experts=dimensions, horizon=horizon, grid=grid, signed=True)


class WeightedMajorityRun(SteppedRun[object, int]):
    """A run: the losses of one step in, the expert that was followed out."""

    def __init__(self, recipe: WeightedMajority, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._noise = noise
        (self._losses,) = state.parts or (np.zeros(recipe.experts, dtype=np.int64),)

    def _parts(self) -> tuple[IntArray, ...]:
        return (self._losses,)

    def _checked(self, x: object) -> IntArray:
        grid = self._recipe.grid
        low = -grid if self._recipe.signed else 0
        return reports(x, low, grid, count=self._recipe.experts, refuse=self._not)[0]

    def _not(self, got: str) -> BadInput:
        return BadInput(
            f"The losses of a step must be {self._recipe.experts} whole numbers. Got {got} instead."
        )

    def _step(self, losses: IntArray) -> int:
        length, begins = self._epoch()
        if begins:
            self._losses = np.zeros_like(self._losses)
        self._t += 1
        rate = self._recipe.rate(length) / self._recipe.grid
        chosen = self._noise.pick(self._losses - self._losses.min(), rate)
        self._losses = self._losses + losses
        return chosen

    def _epoch(self) -> tuple[int, bool]:
        """How long the present epoch is, and whether it begins with the next step."""
        if self._recipe.horizon is not None:
            return self._recipe.horizon, False
        length = 1 << ((self.t + 1).bit_length() - 1)
        return length, self.t + 1 == length


@dataclass(frozen=True, slots=True)
class RegretBound:
    """How much more than the best expert is lost, over the first steps together."""

    recipe: WeightedMajority

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The sum of the first t losses is within this of the best expert's, with probability at
        least 1 - beta."""
        recipe = self.recipe
        if recipe.horizon is not None:
            return self._epoch(recipe.horizon, min(t, recipe.horizon), beta)
        epochs = (t + 1).bit_length()
        lengths = [1 << place for place in range(epochs)]
        left, total = t, 0.0
        for length in lengths:
            steps = min(length, left)
            total += self._epoch(length, steps, beta / epochs) if steps else 0.0
            left -= steps
        return total

    def _epoch(self, length: int, steps: int, beta: float) -> float:
        eta, span = float(self.recipe.rate(length)), self.recipe.span
        drift = eta * steps * span**2 / 8 + math.log(self.recipe.experts) / eta
        chance = span * math.sqrt(steps * math.log(1 / beta) / 2)
        return min(float(span * steps), drift + chance)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for all of the first steps at once."""
        return max(self.bound(t, beta / steps) for t in {1, steps})
