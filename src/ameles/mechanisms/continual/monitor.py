"""Window monitor: "the count of the last w steps reaches h", at most c times, then it halts.

Theorem      sparse vector (catalogue 42) on the stream's own windows.  One unit changes at most
             ``contributions`` steps by ``bound``, of which a window holds min(contributions, w):
             every window's count changes by at most bound * min(contributions, w)
Neighbours   streams that differ in up to ``contributions`` steps by at most ``bound`` each;
             monotone: one unit's events, each counting zero or more, added or removed
Noise        discrete Laplace, of a threshold drawn once for the stream's life and of each window
Error        that of sparse vector, on the count of a window
Memory       the last w inputs, exact: the state is secret

A window that stays above is above at every step, and each such step uses one of the c.  After the
last one every step publishes "halted", and the inputs kept are overwritten.

>>> from ameles.noise import Zero
>>> recipe = WindowMonitor(epsilon=1, window=2, threshold=5, aboves=2)
>>> run = recipe.start(Zero())
>>> [str(run.step(x)) for x in [3, 1, 4, 0, 5, 9]]
['below', 'below', 'above', 'below', 'above', 'halted']
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

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
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import (
    Bound,
    Contributions,
    Epsilon,
    Number,
    OptionalHorizon,
    Switch,
    Whole,
)
from ameles.mechanisms.continual.noisy_threshold import Reply, ThresholdError
from ameles.mechanisms.continual.sparse_vector import (
    SparseVector,
    SparseVectorRun,
    above_threshold,
)
from ameles.mechanisms.counters.recipe import check_fits
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import SteppedRun, integer
from ameles.noise.arrays import IntArray

# The inputs of a window are kept in memory; for longer ones use a counter with an alert on it.
LONGEST = 1 << 24
# Counts are clamped to this, so that their distance from a threshold fits into 64 bits.
LARGEST = 1 << 61

WatchT = TypeVar("WatchT", bound=SteppedRun[Any, Any], covariant=True)


@dataclass(frozen=True, kw_only=True)
class Watch(Mechanism[WatchT]):
    """A recipe that says when the count of the last ``window`` steps reaches ``threshold``."""

    epsilon: Epsilon = Epsilon()
    window: Whole = Whole(1, LONGEST)
    threshold: Whole = Whole(-LARGEST, LARGEST)
    aboves: Whole = Whole(1, 2**40)
    monotone: Switch = Switch(False)
    unit: Protects = Protects(EVENT.tag)
    contributions: Contributions = Contributions()
    bound: Bound = Bound()
    horizon: OptionalHorizon = OptionalHorizon()

    def __post_init__(self) -> None:
        check_fits(self.bound, self.comparison.query_scale, tip="a larger epsilon, fewer aboves")

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """How much one unit may change what is compared."""

    @property
    def share_of_answers(self) -> Fraction:
        """The share of epsilon that pays for noisy counts; without them, none."""
        return Fraction(0)

    @property
    def neighbours(self) -> Neighbours:
        """Some steps change or, if everything counts zero or more, a unit is added or removed."""
        if not self.monotone:
            return Neighbours.STEP
        event = Unit.tagged(self.unit) == EVENT
        return Neighbours.ADD_REMOVE if event else Neighbours.USER_PRESENCE

    @cached_property
    def comparison(self) -> SparseVector:
        """The sparse vector that a window's counts are asked."""
        return above_threshold(
            epsilon=self.epsilon,
            aboves=self.aboves,
            neighbours=self.neighbours,
            threshold=self.threshold,
            sensitivity=self.sensitivity,
            monotone=self.monotone,
            answering=self.share_of_answers,
            unit=self.unit,
            horizon=self.horizon,
        )

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon for everything that is published in the stream's whole life."""
        return Guarantee(
            loss=Pure(self.epsilon),
            unit=Unit.tagged(self.unit),
            neighbours=self.neighbours,
            contribution=Contribution(steps=self.contributions, bound=self.bound, norm=Norm.L1),
            horizon=self.horizon,
            intrusions=Intrusions.NONE,
        )

    @property
    def error(self) -> ThresholdError:
        """How far on the wrong side of the threshold a window's count may be."""
        return self.comparison.error


@dataclass(frozen=True, kw_only=True)
class WindowMonitor(Watch["WindowMonitorRun"]):
    """Says when the count of the last ``window`` steps reaches ``threshold``.

    ``answering`` is the share of epsilon that pays for the window's noisy count at each alert.
    ``monotone`` promises that one unit's events count zero or more, and halves the noise.
    """

    answering: Number = Number(0, "0.999", 0)

    @property
    def sensitivity(self) -> int:
        """How much one unit may change the count of a window."""
        return self.bound * min(self.contributions, self.window)

    @property
    def share_of_answers(self) -> Fraction:
        """The share of epsilon that pays for noisy counts."""
        return self.answering

    @property
    def memory(self) -> int:
        """The 64-bit integers that a run holds."""
        return self.window + self.comparison.memory

    def _run(self, state: State, noise: Noise) -> WindowMonitorRun:
        return WindowMonitorRun(self, state, noise)


class WindowMonitorRun(SteppedRun[object, Reply]):
    """A run: one count a step."""

    def __init__(self, recipe: WindowMonitor, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._window = recipe.window
        if state.parts:
            self._inputs = state.parts[0]
        else:
            self._inputs = np.zeros(recipe.window, dtype=np.int64)
        # the count of the window is exact in Python's integers
        self._count = int(self._inputs.sum(dtype=object))
        asked = State(state.run, state.step, state.parts[1:])
        self._asked = SparseVectorRun(recipe.comparison, asked, noise)

    @property
    def halted(self) -> bool:
        """Whether all aboves are used up: public, since every one of them was."""
        return self._asked.halted

    def _parts(self) -> tuple[IntArray, ...]:
        """The last inputs, exact, and the state of the comparison."""
        return self._inputs, *self._asked._parts()

    def _checked(self, x: object) -> int:
        return integer(x, "count")

    def _step(self, value: int) -> Reply:
        place = self.t % self._window
        self._t += 1
        if self.halted:
            return self._asked.step(0)
        # Clamped, not wrapped: a wrap would move a comparison by 2**64, while clamping moves two
        # neighbours no further apart.
        value = max(-LARGEST, min(LARGEST, value))
        self._count += value - int(self._inputs[place])
        self._inputs[place] = value
        reply = self._asked.step(self._count)
        if self.halted:
            self._inputs[:] = 0
            self._count = 0
        return reply
