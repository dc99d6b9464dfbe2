"""Simple counter II: noise on every increment, and the running sum of the noisy ones.

Theorem      Chan-Shi-Song 2010, 3.2 (catalogue 2): one unit changes the increments by at most
             contributions * bound in L1; the sums are post-processing
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale contributions * bound / epsilon on each increment
Error        standard deviation about 1.41 sqrt(t) * scale at step t
Memory       one noisy sum per counter

It needs no horizon, and its state is a noisy sum: however often an intruder looks, the state
reveals no more than the noisy increments would.  With that many unannounced intrusions
the square root cannot be avoided (Dwork-Naor-Pitassi-Rothblum 2010, Thm 4.3).

Each call of ``add`` draws noise of its own.  One noise for the whole step would not be enough:
somebody who looks at the state twice within a step, or once and then at the release, would see what
was added in between without any noise.  A step without any call is folded as a zero.  The stated
error is for one call a step; a run counts its ``noises``, and after n of them the error is that of
step n.

>>> from ameles.noise import Zero
>>> run = SimpleTwoCounter(epsilon=1).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> for _ in range(5):
...     run.add(1)
>>> run.release(), run.noises
(8, 9)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, OptionalHorizon
from ameles.mechanisms.counters.folded import FoldedCounterRun
from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart
from ameles.mechanisms.snapshot import COUNTED, State
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class SimpleTwoCounter(CounterRecipe):
    """Running sums of noisy increments; pan-private against any number of intrusions."""

    survives: ClassVar[Intrusions] = Intrusions.EVERY  # and between any two calls

    epsilon: Epsilon = Epsilon()
    horizon: OptionalHorizon = OptionalHorizon()

    @property
    def loss(self) -> Pure:
        """Pure: epsilon, for ever."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int | None:
        """The horizon; None: without end."""
        return self.horizon

    @property
    def scale(self) -> Fraction:
        """The scale of the Laplace noise on each increment."""
        return self.contributions * self.bound / self.epsilon

    @property
    def error(self) -> WalkError:
        """A symmetric random walk."""
        return WalkError(self.scale)

    @property
    def memory(self) -> int:
        """The noisy sums; how many noises they have, and whether the open step has had an input."""
        return self.columns + 1

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return SimpleTwoRun(self, state, noise)


class SimpleTwoRun(FoldedCounterRun):
    """A run of a simple counter II, which knows how many noises it has drawn."""

    _version = COUNTED

    def __init__(self, recipe: SimpleTwoCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._noise = noise
        self._scale = recipe.scale
        self._columns = recipe.columns
        if state.parts:
            # version 1 has 0 or 1 here, so that its noises are counted from zero
            sums, counted = state.parts
            self._sums = sums.copy()
            self._noises, added = divmod(int(counted[0]), 2)
            self._added = bool(added)
        else:
            self._sums = np.zeros(self._columns, dtype=np.int64)
            self._noises = 0
            self._added = False

    @property
    def noises(self) -> int:
        """How many noises are in the sum: public, because the number and the times of events are
        public.

        In a run that was resumed from a snapshot of version 1, those that came after it.
        """
        return self._noises

    def _fold(self, row: IntArray) -> None:
        drawn = self._noise.laplace(self._scale, (1, self._columns))
        drawn[0] += row
        self._sums += drawn[0]
        drawn.fill(0)
        self._noises += 1
        self._added = True

    def _close(self) -> IntArray:
        if not self._added:
            self._fold(np.zeros(self._columns, dtype=np.int64))
        self._added = False
        return self._sums.copy()

    def _feed(self, rows: IntArray) -> IntArray:
        releases = self._noise.laplace(self._scale, rows.shape)
        releases += rows
        np.cumsum(releases, axis=0, out=releases)
        releases += self._sums
        if len(releases):
            self._sums[:] = releases[-1]
            self._noises += len(releases)
            self._added = False
        return releases

    def _parts(self) -> tuple[IntArray, ...]:
        return self._sums, np.array([2 * self._noises + self._added], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class WalkError:
    """The sum of t discrete Laplace variables at step t: a symmetric random walk."""

    scale: Fraction

    @checks_step
    def std(self, t: int) -> float:
        return laplace_sum.std(t, self.scale)

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        return laplace_sum.quantile(t, self.scale, beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        # Lévy's inequality: a symmetric walk leaves a band at most twice as often as its end
        return laplace_sum.quantile(steps, self.scale, beta / 2)

    def between(self, before: int, t: int) -> LaplaceMixture:
        """The law of the noise of a total over steps before + 1, ..., t."""
        return LaplaceMixture((LaplacePart(self.scale, 1.0, t - before),))

    def bounds(self, steps: IntArray, beta: float) -> NDArray[np.float64]:
        return laplace_sum.quantiles(steps, self.scale, beta).astype(np.float64)

    def between_bounds(self, before: IntArray, after: IntArray, beta: float) -> NDArray[np.float64]:
        return laplace_sum.quantiles(after - before, self.scale, beta).astype(np.float64)
