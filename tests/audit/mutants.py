"""Broken counters, each with a mistake that was made somewhere or could be.

Every one claims more privacy than it gives, or hides what it does; the audit must see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.guarantee import Intrusions
from ameles.core.noise import Noise
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.summed import PlainRun
from ameles.mechanisms.counters.tree import TreeCounter
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray
from tests.audit.weighted import GaussianCounter, RoundedCounter, WeightedCounter, unit


@dataclass(frozen=True, kw_only=True)
class HalfTheNoise(BinaryCounter):
    @property
    def scale(self) -> Fraction:
        return super().scale / 2


@dataclass(frozen=True, kw_only=True)
class CeilingOfTheLogarithm(BinaryCounter):
    """The source text's ceil(log2 T) levels: one too few at every power of two."""

    @property
    def scale(self) -> Fraction:
        return (self.horizon - 1).bit_length() / Fraction(self.loss.epsilon)


@dataclass(frozen=True, kw_only=True)
class RootWithoutItsLevel(TreeCounter):
    """Figure 12.1 with the root of its text and the log2 T levels of its picture."""

    @property
    def scale(self) -> Fraction:
        return (self.levels - 1) / Fraction(self.loss.epsilon)


@dataclass(frozen=True, kw_only=True)
class OneContributionOnly(SimpleOneCounter):
    @property
    def scale(self) -> Fraction:
        return self.bound * self.horizon / Fraction(self.loss.epsilon)


@dataclass(frozen=True, kw_only=True)
class ReusesNoise(WeightedCounter):
    """The noise of a step is used for the next step again."""

    def weights(self) -> list[list[Any]]:
        size = self.horizon
        return [[int(i == t // 2) for i in range(size)] for t in range(size)]

    def scale(self) -> Fraction:
        return self.horizon / self.claim


@dataclass(frozen=True, kw_only=True)
class FlipsReusedNoise(ReusesNoise):
    """The noise of a step is used for the next step with the other sign."""

    def weights(self) -> list[list[Any]]:
        return [[(-1) ** t * w for w in row] for t, row in enumerate(super().weights())]


@dataclass(frozen=True, kw_only=True)
class SkipsANode(WeightedCounter):
    """A binary counter whose block [1, 2] was forgotten: its exact sum is published."""

    def weights(self) -> list[list[Any]]:
        blocks = [
            (start, start + size)
            for size in (1, 2, 4)
            for start in range(0, self.horizon, size)
            if start + size <= self.horizon and (start, size) != (0, 2)
        ]
        covers = {1: [(0, 1)], 2: [], 3: [(2, 3)], 4: [(0, 4)]}
        return [[int(block in covers[t]) for block in blocks] for t in range(1, 5)]

    def scale(self) -> Fraction:
        return 3 / self.claim


@dataclass(frozen=True, kw_only=True)
class TellsTheEnd(WeightedCounter):
    """Answers with the exact count at the last step, when nothing can follow."""

    def weights(self) -> list[list[Any]]:
        size = self.horizon
        return [[int(i == t < size - 1) for i in range(size)] for t in range(size)]

    def scale(self) -> Fraction:
        return self.horizon / self.claim


@dataclass(frozen=True, kw_only=True)
class TwiceTheDraw(WeightedCounter):
    """2 z + x: the parity of x is published."""

    def weights(self) -> list[list[Any]]:
        return unit(self.horizon, 2)

    def scale(self) -> Fraction:
        return self.horizon / self.claim


@dataclass(frozen=True, kw_only=True)
class FloatWeights(WeightedCounter):
    """Weights that sum to one in the reals: the fractional part tells which noise it was."""

    def scale(self) -> Fraction:
        return 2 * self.horizon / self.claim

    def weights(self) -> list[list[Any]]:
        size = self.horizon
        return [
            [0.3 * (i == t) + 0.7 * (i == t + size) for i in range(2 * size)] for t in range(size)
        ]


@dataclass(frozen=True, kw_only=True)
class RoundedFloatWeights(FloatWeights):
    """The same, rounded to whole numbers before it is shown."""

    def shown(self, count: int, noise: Any) -> Any:
        return round(count + noise)


@dataclass(frozen=True, kw_only=True)
class WrongEighths(RoundedCounter):
    """Weights of three and six eighths: no whole numbers of them make one."""

    def weights(self) -> list[list[Any]]:
        return [[6 if w == 5 else w for w in row] for row in super().weights()]


@dataclass(frozen=True, kw_only=True)
class DrawsAgainForEachUse(WeightedCounter):
    """A binary counter that draws a block's noise anew whenever a count uses the block."""

    def weights(self) -> list[list[Any]]:
        uses = [t for t in range(1, self.horizon + 1) for _ in range(t.bit_count())]
        return [[int(use == t) for use in uses] for t in range(1, self.horizon + 1)]

    def scale(self) -> Fraction:
        return self.horizon.bit_length() / self.claim


@dataclass(frozen=True, kw_only=True)
class HalfTheVariance(GaussianCounter):
    def scale(self) -> Fraction:
        return super().scale() / 2


@dataclass(frozen=True, kw_only=True)
class NeverEnds(SimpleOneCounter):
    """Goes on past the horizon that its noise was calibrated for."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return _Endless(self, state, noise)


class _Endless(PlainRun):
    def check_room(self, count: int) -> None:
        return None


class _DrawsByInput(PlainRun):
    def __init__(self, recipe: DrawsByInput, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._noise = noise
        self._scale = recipe.scale

    def feed(self, xs: Any) -> IntArray:
        releases = super().feed(xs)
        releases += self._noise.laplace(self._scale, int(np.count_nonzero(xs))).sum()
        return releases


@dataclass(frozen=True, kw_only=True)
class DrawsByInput(SimpleOneCounter):
    """Draws noise only for the steps in which something happened."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return _DrawsByInput(self, state, noise)


class _StepsWithoutNoise(PlainRun):
    def step(self, x: Any) -> int:
        release, unused = super().step(x), self._progress.unused
        return release - int(self._ahead[len(self._ahead) - unused - 1, 0])


@dataclass(frozen=True, kw_only=True)
class StepsWithoutNoise(SimpleOneCounter):
    """Noise in ``feed`` and none in ``step``."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return _StepsWithoutNoise(self, state, noise)


@dataclass(frozen=True, kw_only=True)
class ExactSumInState(SimpleTwoCounter):
    """Folded, with an exact sum beside the noisy one."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        run: Any = super()._run(state, noise)
        fold, parts = run._fold, run._parts
        exact = np.zeros(1, dtype=np.int64)

        def remember(row: IntArray) -> None:
            np.add(exact, row, out=exact)
            fold(row)

        run._fold = remember
        run._parts = lambda: (*parts(), exact.copy())
        kept: CounterRun = run
        return kept


@dataclass(frozen=True, kw_only=True)
class NoiseAtTheTick(SimpleTwoCounter):
    """Adds its noise when a step closes, so that until then the input is in the state."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        run: Any = super()._run(state, noise)

        def fold(row: IntArray) -> None:
            run._sums += row
            run._added = True

        def close() -> IntArray:
            run._sums += noise.laplace(self.scale, self.columns)
            run._added = False
            sums: IntArray = run._sums.copy()
            return sums

        run._fold, run._close = fold, close
        kept: CounterRun = run
        return kept


@dataclass(frozen=True, kw_only=True)
class ClaimsItsStateIsSafe(SimpleOneCounter):
    """An exact running sum in the state, and a promise that it may be seized once."""

    @property
    def intrusions(self) -> Intrusions:
        return Intrusions.ONE
