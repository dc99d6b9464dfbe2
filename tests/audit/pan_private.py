"""The pan-private counter of Dwork and Roth's figure 12.2, for the audit of seized states.

One counter starts with noise; each interval of a dyadic tree without root has noise that is
drawn when the interval starts and erased when it ends.  Exact losses are known for one
unannounced intrusion (catalogue 9).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Horizon
from ameles.mechanisms.counters.folded import FoldedCounterRun
from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.mechanisms.counters.simple_one import IndependentError
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class PanPrivateFigure(CounterRecipe):
    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def steps(self) -> int:
        return self.horizon

    @property
    def intrusions(self) -> Intrusions:
        return Intrusions.ONE

    @property
    def levels(self) -> int:
        return self.horizon.bit_length() - 1

    @property
    def scale(self) -> Fraction:
        return (1 + self.levels) / Fraction(self.loss.epsilon)

    @property
    def error(self) -> IndependentError:
        return IndependentError(self.scale)

    @property
    def memory(self) -> int:
        return 1 + self.levels

    @property
    def erases(self) -> bool:
        return True

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return _FigureRun(self, state, noise)


class _FigureRun(FoldedCounterRun):
    def __init__(self, recipe: PanPrivateFigure, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._figure = recipe
        self._noise = noise
        if state.parts:
            self._counter, self._open = (part.copy() for part in state.parts)
        else:
            self._open = np.zeros(recipe.levels, dtype=np.int64)
            self._counter = noise.laplace(recipe.scale, 1)

    def _fold(self, row: IntArray) -> None:
        self._counter += row

    def _close(self) -> IntArray:
        for level in range(self._figure.levels):
            if self._t % (1 << level) == 0:
                self._open[level] = self._noise.laplace(self._figure.scale, 1)[0]
        release: IntArray = self._counter + self._open.sum()
        for level in range(self._figure.levels):
            if self._figure.erases and (self._t + 1) % (1 << level) == 0:
                self._open[level] = 0
        return release

    def _feed(self, rows: IntArray) -> IntArray:
        releases = []
        for row in rows:
            self._fold(row)
            releases.append(self._close())
            self._t += 1
        self._t -= len(rows)  # the caller counts them
        return np.array(releases, dtype=np.int64).reshape(rows.shape)

    def _parts(self) -> tuple[IntArray, ...]:
        return self._counter, self._open


@dataclass(frozen=True, kw_only=True)
class OneShareTooFew(PanPrivateFigure):
    """log2 T shares of epsilon where the counter itself needs one more."""

    @property
    def scale(self) -> Fraction:
        return max(1, self.levels) / Fraction(self.loss.epsilon)


@dataclass(frozen=True, kw_only=True)
class KeepsExpiredNoise(PanPrivateFigure):
    """Noise stays in the state after its last use, so the state tells what was published."""

    @property
    def erases(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class SeizedTwice(PanPrivateFigure):
    """Claims that the state may be seized after every step."""

    @property
    def intrusions(self) -> Intrusions:
        return Intrusions.EVERY
