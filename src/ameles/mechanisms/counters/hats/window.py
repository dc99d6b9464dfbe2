"""Hats for windows: counts whose differences over a window have little noise, for ever.

Theorem      as ``hats``: with L R = A exactly, counts plus L z are epsilon-DP, and so are all
             differences of counts.  Here all nodes of a level have the same share, and a level
             goes on without end
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale spans[l] / (share epsilon) on every node of level l, which
             counts in units of 1 / spans[l]; the shares add up to 1 at most
Error        of windows of 24, 1,440 and 10,080 steps: 6.0, 15.0 and 20.4 at epsilon 1, in the
             mean; of counts themselves: as a random walk with a step at each knot of the top level
Memory       3 k (l + 1) integers per counter at most and up to 1024 noise values taken ahead

The total of a window is the difference of two counts.  Noise inside the window stays in it, so a
tree over the whole stream pays for levels that a window does not need, and fresh noise in every
step adds up over the window.  Here the largest hats are about a third of the window.

>>> from ameles.noise import Zero
>>> run = HatsWindowCounter(epsilon=1, window=24).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> recipe = HatsWindowCounter(epsilon=1, window=24)
>>> recipe.radices, round(recipe.error.between(1000, 1024).std, 1)
((12,), 5.9)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from ameles.core.exceptions import BadInput
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, OptionalHorizon, Whole
from ameles.mechanisms.counters.hats.counter import LARGEST, OptionalWholes
from ameles.mechanisms.counters.hats.process import HatsProcess
from ameles.mechanisms.counters.hats.repeated import RepeatedShape
from ameles.mechanisms.counters.hats.shape import PARTS
from ameles.mechanisms.counters.hats.weights import BITS
from ameles.mechanisms.counters.hats.window_error import HatsWindowError
from ameles.mechanisms.counters.hats.window_search import best_window_shape
from ameles.mechanisms.counters.recipe import EVENTS
from ameles.mechanisms.counters.summed import Process, SummedCounter
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class HatsWindowCounter(SummedCounter):
    """Counts from hats of equal shares, for totals of the last ``window`` steps."""

    choosable: ClassVar[bool] = False  # for running counts there are better ones

    epsilon: Epsilon = Epsilon()
    horizon: OptionalHorizon = OptionalHorizon()
    window: Whole = Whole(1, 1 << 40, 24)
    radices: OptionalWholes = OptionalWholes(2, 1 << 16)
    shares: OptionalWholes = OptionalWholes(1, PARTS)

    def __post_init__(self) -> None:
        if self.radices is None and self.shares is None:
            best = best_window_shape(self.window)
            self.__dict__.update(radices=best.radices, shares=(*best.lows, *best.tops))
        elif self.radices is None or self.shares is None:
            raise BadInput(
                "A Hats counter for windows takes radices and shares together, or none of them.",
                tip="leave them out: the best ones for the window are found",
            )
        super().__post_init__()
        if self.resolution * self.error.std(self.horizon or EVENTS) >= LARGEST:
            raise BadInput(
                "These parameters need noise that does not fit into 64 bits with its weights.",
                tip="a larger epsilon, a shorter window, or a smaller bound",
            )

    @property
    def loss(self) -> Pure:
        """Pure: epsilon for all releases together."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int | None:
        """The horizon; None: without end."""
        return self.horizon

    @cached_property
    def shape(self) -> RepeatedShape:
        """The knots of all levels, and the share of each."""
        return RepeatedShape.of(self.radices or (), self.shares or ())

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of a node that had all of epsilon."""
        return self.contributions * self.bound / self.epsilon

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest scale of a node's noise, in counts."""
        shares = [self.shape.share(level, 0) for level in range(self.shape.levels)]
        return self.scale / max(shares), self.scale / min(shares)

    @property
    def resolution(self) -> int:
        """Noises and weights are multiples of one over this."""
        return self.shape.spans[-1] << BITS

    @property
    def error(self) -> HatsWindowError:
        """A weighted sum of Laplace variables, by the place of t in the cell of each level."""
        return HatsWindowError(self.shape, self.scale)

    @property
    def memory(self) -> int:
        """The present cell and the next, all levels with what they wait for, and the exact sum."""
        radices = self.shape.radices
        waiting = sum(2 * k for k in radices[1:])
        rows = 2 + 2 * radices[0] + 4 * len(radices) + waiting
        return self.columns * (rows + self.ahead) + 1

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return HatsProcess(noise, self.shape, self.scale, self.columns, state)
