"""Hats counter: overlapping triangles instead of the boxes of a tree.

Theorem      write A for prefix sums, R for what an item adds to each node: with L R = A exactly,
             prefix sums plus L z are epsilon-DP if z has scale (column of R in L1) / epsilon,
             also against adaptive inputs: shift z by the column of the changed item; since A is
             lower triangular no earlier release moves, so noise of future nodes may be used
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale spans[l] / (share epsilon) on every node of level l, which
             counts in units of 1 / spans[l]; the shares of the nodes of an item add up to 1 at most
Error        0.26 of the binary tree's mean standard deviation at T = 2^20
Memory       3 k (l + 1) integers per counter at most and up to 1024 noise values taken ahead

A node is a hat: 1 at its knot, falling in a straight line to 0 at the knots beside it.  An item
between two knots is in both hats, with weights that add up to 1, so a level of hats costs what a
level of boxes costs.  A hat is a sum of hats of the level below, so (its noise) - (that sum of
theirs) has no data in it: any multiple of it may be added.  The multiples come from least squares
and are rounded to 2**-10.  Hats are a smoother way into and out of a block, so fewer and larger
blocks are enough.  This combination is ours, as far as we know.

>>> from ameles.noise import Zero
>>> run = HatsCounter(epsilon=1, horizon=1024).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> recipe = HatsCounter(epsilon=1, horizon=1024)
>>> recipe.radices, recipe.offset
((22, 14), 6)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.core.parameters import OptionalWhole, Parameter, refuse, whole
from ameles.mechanisms.counters.hats.error import HatsError
from ameles.mechanisms.counters.hats.process import HatsProcess
from ameles.mechanisms.counters.hats.search import best_shape
from ameles.mechanisms.counters.hats.shape import PARTS, HatsShape
from ameles.mechanisms.counters.hats.weights import BITS
from ameles.mechanisms.counters.pure import PureCounter
from ameles.mechanisms.counters.summed import Process
from ameles.noise.arrays import IntArray

# Noise of a release, times its unit, has a deviation of at most this: 2**63 is 128 times as much.
LARGEST = 1 << 56


class OptionalWholes(Parameter[Sequence[int] | None, tuple[int, ...] | None]):
    """A list of whole numbers, or None for the best ones."""

    def __init__(self, low: int, high: int) -> None:
        super().__init__(None)
        self.low = low
        self.high = high

    def check(self, value: Sequence[int] | None) -> tuple[int, ...] | None:
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise refuse(self.name, "a list of whole numbers", value)
        return tuple(whole(one, self.name, low=self.low, high=self.high) for one in value)


@dataclass(frozen=True, kw_only=True)
class HatsCounter(PureCounter):
    """Counts from overlapping triangular nodes by least squares."""

    radices: OptionalWholes = OptionalWholes(2, 1 << 16)
    offset: OptionalWhole = OptionalWhole(0, 1 << 16)
    tops: OptionalWholes = OptionalWholes(1, PARTS - 1)
    lows: OptionalWholes = OptionalWholes(1, PARTS)

    def __post_init__(self) -> None:
        given = (self.radices, self.offset, self.tops, self.lows)
        if given == (None, None, None, None):
            best = best_shape(self.horizon)
            self.__dict__.update(
                radices=best.radices, offset=best.offset, tops=best.tops, lows=best.lows
            )
        elif None in given:
            raise BadInput(
                "A Hats counter takes radices, offset, tops and lows together, or none of them.",
                tip="leave them out: the best ones for the horizon are found",
            )
        super().__post_init__()
        if self.resolution * self.error.std(self.horizon) >= LARGEST:
            raise BadInput(
                "These parameters need noise that does not fit into 64 bits with its weights.",
                tip="a larger epsilon, or a smaller bound",
            )

    @cached_property
    def shape(self) -> HatsShape:
        """The knots of all levels, and the share of every node."""
        return HatsShape(
            self.horizon, self.radices or (), self.offset or 0, self.tops or (), self.lows or ()
        )

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of a node that had all of epsilon."""
        return self.scale_for(self.contributions * self.bound)

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest scale of a node's noise, in counts."""
        shape = self.shape
        shares = [share for level in range(shape.levels) for share in shape.changes(level)[1]]
        return self.scale / max(shares), self.scale / min(shares)

    @property
    def resolution(self) -> int:
        """Noises and weights are multiples of one over this."""
        return self.shape.spans[-1] << BITS

    @property
    def error(self) -> HatsError:
        """A weighted sum of Laplace variables, by the place of t in the cell of each level."""
        return HatsError(self.shape, self.scale)

    @property
    def memory(self) -> int:
        """The present cell and the next, all levels with what they wait for, and the exact sum."""
        radices = self.shape.radices
        waiting = sum(2 * k for k in radices[1:]) + self.shape.offset
        rows = 2 + 2 * radices[0] + 4 * len(radices) + waiting
        return self.columns * (rows + self.ahead) + 1

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return HatsProcess(noise, self.shape, self.scale, self.columns, state)
