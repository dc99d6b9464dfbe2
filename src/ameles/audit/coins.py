"""The loss of a counter of bits, which flips a coin for each bit, from its real code.

Such a counter is not linear.  What it shows is computed from reported bits, one for each step: so
its loss is that of one coin, for each step that a unit may change.  Four things are read from the
code, with tapes of draws that the audit chooses:

Coins        the run draws one number for each step, below the same number n
Cut          on one side of a cut a draw keeps the bit, on the other it flips it; the cut is found
             by bisection for both bits and at every step at once, and 64 more draws agree with it
Own coin     another draw, or another bit, at one step changes the report of that step alone
Reports      a one that is flipped and a zero that is kept show the same, in every release and
             state, and leave the same in memory

>>> from ameles.mechanisms.local import RandomizedResponseCounter
>>> bounds = coin_bounds(RandomizedResponseCounter(odds=3), 4)
>>> bounds.ratio, bounds.steps, float(bounds.upper) < 1.09862
(Fraction(3, 1), (1,), True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.accounting.interval import Interval
from ameles.audit.finding import Amount
from ameles.audit.memory import memory_of
from ameles.audit.observation import NotLinear
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.noise import Tape
from ameles.noise.arrays import IntArray

HOW = "the coin of each bit, found by bisection of its draws"
PROBES = 64


@dataclass(frozen=True, slots=True)
class CoinBounds:
    """The largest ratio of all bits of a unit, at which steps it is, and its logarithm."""

    ratio: Amount
    steps: tuple[int, ...]
    lower: Amount
    upper: Amount


def coin_bounds(recipe: CounterRecipe, steps: int) -> CoinBounds:
    """The bounds on the loss over so many steps; ``NotLinear`` if its reports are no coins."""
    coins = _Coins(recipe, steps)
    cuts = [coins.cut(bit) for bit in (0, 1)]
    # the chance that a zero is kept, and that a one is
    zeros, ones = ([Fraction(int(cut), coins.below) for cut in each] for each in cuts)
    ratios = [_ratio(1 - zero, one) for zero, one in zip(zeros, ones, strict=True)]
    order = sorted(range(steps), key=lambda step: -ratios[step])[: recipe.contributions]
    worst = tuple(sorted(step + 1 for step in order))
    if max(ratios) == math.inf:
        return CoinBounds(math.inf, worst, math.inf, math.inf)
    coins.check_own()
    coins.check_reports(cuts)
    ratio = math.prod((Fraction(ratios[step - 1]) for step in worst), start=Fraction(1))
    if ratio == 1:
        return CoinBounds(ratio, worst, Fraction(0), Fraction(0))
    logarithm = Interval.of(ratio).ln()
    return CoinBounds(ratio, worst, logarithm.down(), logarithm.up())


class _Coins:
    """Runs of one recipe on tapes of our own."""

    def __init__(self, recipe: CounterRecipe, steps: int) -> None:
        self._recipe = recipe
        self._steps = steps
        tape = Tape()
        recipe.start(tape).feed([0] * steps)
        below = {draw.scale for draw in tape.draws if draw.law == "uniform"}
        self.below = max((number for number in below if isinstance(number, int)), default=0)
        if tape.laws != [("uniform", self.below)] * steps:
            raise NotLinear("its coins are not one uniform draw for each step")

    def reports(self, bits: Any, draws: Any) -> IntArray:
        """What the state has got at each step: the reported bits."""
        run = self._recipe.start(Tape([int(draw) for draw in draws]))
        ones = [0]
        for bit in bits:
            run.step(int(bit))
            ones.append(int(run._parts()[0][0]))
        return np.diff(ones)

    def cut(self, bit: int) -> IntArray:
        """At every step, how many of the lowest draws keep the bit."""
        steps = self._steps
        given = np.full(steps, bit)
        if (self.reports(given, np.zeros(steps, dtype=np.int64)) != bit).any():
            raise NotLinear("the lowest draw does not keep a bit")
        kept, flipped = np.zeros(steps, dtype=np.int64), np.full(steps, self.below)
        while (flipped - kept > 1).any():
            middle = (kept + flipped) // 2
            keeps = self.reports(given, middle) == bit
            kept, flipped = np.where(keeps, middle, kept), np.where(keeps, flipped, middle)
        places = range(0, self.below, max(1, self.below // PROBES))
        for place in (*places, self.below - 1):
            keeps = self.reports(given, np.full(steps, place)) == bit
            if (keeps != (place < flipped)).any():
                raise NotLinear("its draws do not keep a bit below one cut and flip it above")
        return flipped

    def check_own(self) -> None:
        """Refuses a step whose draw or bit is in the report of another."""
        last = self.below - 1
        nothing = np.zeros(self._steps, dtype=np.int64)
        plain = self.reports(nothing, nothing)
        for step in range(self._steps):
            one = nothing.copy()
            one[step] = 1
            for changed in (self.reports(one, nothing), self.reports(nothing, one * last)):
                if np.flatnonzero(changed != plain).tolist() not in ([], [step]):
                    raise NotLinear("a coin or a bit is in the report of another step")

    def check_reports(self, cuts: list[IntArray]) -> None:
        """Refuses a run whose releases or states tell more than its reports."""
        steps, zeros = self._steps, np.zeros(self._steps, dtype=np.int64)
        for ones in (np.ones(steps, dtype=np.int64), np.arange(steps) % 2):
            flips = np.where(ones == 1, cuts[1], 0)
            if self._shown(ones, flips) != self._shown(zeros, zeros):
                raise NotLinear("releases or states tell more than the reported bits")

    def _shown(self, bits: IntArray, draws: IntArray) -> list[Any]:
        tape = Tape(draws.tolist())
        run = self._recipe.start(tape)
        shown = []
        for bit in bits.tolist():
            shown += [run.step(bit), [part.tolist() for part in run._parts()]]
            shown.append(memory_of(run, tape))
        return shown


def _ratio(zero: Fraction, one: Fraction) -> Amount:
    """How many times likelier a report is for one bit than for the other; the chances of a one."""
    if not 0 < zero < 1 or not 0 < one < 1:
        return math.inf
    return max(one / zero, zero / one, (1 - one) / (1 - zero), (1 - zero) / (1 - one))
