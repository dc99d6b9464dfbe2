"""Hats without an end: overlapping triangles whose largest ones grow with the stream.

Theorem      as ``hats``: with L R = A exactly, counts plus L z are epsilon-DP if the shares of an
             item's nodes add up to 1 at most.  The knots of the top level are ever further apart,
             and a level that is born at one of them has knots from there on: its hats are sums of
             hats of the level below, so its residuals have no data in them, either
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale span / (share epsilon) on every node, which counts in units of
             1 / span; the shares of the nodes of an item add up to 1 at most, for ever
Error        1.2 times that of Hats which know the length of the stream, at most, from 62 steps on;
             up to 1.61 times that if the stream is shorter
Memory       3 k integers for each of the levels so far, of which there are log t / log 16, and up
             to 1024 noise values taken ahead

Knots of the top level are at 24, 72, 168, 552, 1320, ...: each cell is 2 or 4 times as long as the
one before.  So few of them have been passed at any time, and a stream needs no epochs that start
afresh.  Cells stop growing at a length of about 2**39, or earlier if the noise is very large.
Counters that were launched under the first law have other knots and shares: see ``endless_first``.

>>> from ameles.noise import Zero
>>> run = EndlessHatsCounter(epsilon=1).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> error = EndlessHatsCounter(epsilon=1).error
>>> [round(error.std(2**power), 1) for power in (6, 10, 20, 30)]
[6.9, 12.1, 31.9, 53.3]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeAlias

from ameles.core.exceptions import BadInput
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Law, OptionalHorizon, Parameter, Whole, whole
from ameles.mechanisms.counters.hats.counter import LARGEST
from ameles.mechanisms.counters.hats.endless_error import EndlessHatsError
from ameles.mechanisms.counters.hats.endless_first import FirstEndlessShape
from ameles.mechanisms.counters.hats.endless_process import EndlessProcess
from ameles.mechanisms.counters.hats.endless_shape import EndlessShape
from ameles.mechanisms.counters.hats.weights import BITS
from ameles.mechanisms.counters.recipe import EVENTS
from ameles.mechanisms.counters.summed import Process, SummedCounter
from ameles.noise.arrays import IntArray

# The longest cell times the scale of the noise is at most this: residuals stay below 2**63.
LONGEST = 1 << 50


Growths: TypeAlias = int | tuple[int, ...] | None


class Growth(Parameter[int | Sequence[int] | None, Growths]):
    """By which factors cells of the top level grow, in turns; one number is the only one."""

    def check(self, value: int | Sequence[int] | None) -> Growths:
        if value is None:
            return None
        if isinstance(value, Sequence):
            return tuple(whole(one, self.name, low=2, high=1 << 10) for one in value)
        return whole(value, self.name, low=2, high=1 << 10)


@dataclass(frozen=True, kw_only=True)
class EndlessHatsCounter(SummedCounter):
    """Counts from overlapping triangular nodes by least squares, for streams without end."""

    version: ClassVar[int] = 2
    only_endless: ClassVar[bool] = True  # with an end there is ``HatsCounter``

    epsilon: Epsilon = Epsilon()
    horizon: OptionalHorizon = OptionalHorizon()
    radix: Whole = Whole(2, 1 << 10, 16)
    first: Whole = Whole(2, 1 << 10, 24)
    cell: Whole = Whole(2, 1 << 12, 48)
    growth: Growth = Growth(None)
    most: Whole = Whole(4, 1 << 12, 48)
    law: Law = Law(2)

    def __post_init__(self) -> None:
        if self.growth is None:
            self.__dict__.update(growth=4 if self.law == 1 else EndlessShape.growth)
        super().__post_init__()
        if self.shape.spent > 1:
            raise BadInput("The shares of this Hats counter add up to more than epsilon.")
        if self.resolution * self.error.std(self.horizon or EVENTS) >= LARGEST:
            raise BadInput(
                "These parameters need noise that does not fit into 64 bits with its weights.",
                tip="a larger epsilon, or a smaller bound",
            )

    @property
    def loss(self) -> Pure:
        """Pure: epsilon, for ever."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int | None:
        """The horizon; None: without end."""
        return self.horizon

    @cached_property
    def shape(self) -> EndlessShape:
        """The knots of all levels, and the share of every node."""
        growth = self.growth if isinstance(self.growth, tuple) else (self.growth or 1,)
        longest = int(LONGEST / max(self.scale, Fraction(1 << 11)))
        kind = FirstEndlessShape if self.law == 1 else EndlessShape
        return _shape(kind, self.radix, self.first, self.cell, growth, self.most, longest)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of a node that had all of epsilon."""
        return self.contributions * self.bound / self.epsilon

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest scale of a node's noise, in counts."""
        shares = self.shape.shares
        return self.scale / max(shares), self.scale / min(shares)

    @property
    def resolution(self) -> int:
        """Noises and weights are multiples of one over this, up to the horizon."""
        shape = self.shape
        last = shape.usual if self.horizon is None else shape.number(self.horizon - 1)
        return shape.unit(last) << BITS

    @property
    def error(self) -> EndlessHatsError:
        """A weighted sum of Laplace variables, by the place of t in the cell of each level."""
        return EndlessHatsError.of(self.shape, self.scale)

    @property
    def memory(self) -> int:
        """The steps drawn ahead, all levels with what they wait for, and the exact sum."""
        shape, k = self.shape, self.radix
        last = shape.usual if self.horizon is None else shape.number(self.horizon - 1)
        most = max(shape.stretch(number).cells for number in range(min(last, shape.usual) + 2))
        levels = shape.stretch(last + 1).highest
        rows = 2 + max(2 * k, self.first + most, 2 * most) + 4 * (levels + 1) + 2 * k * levels
        return self.columns * (rows + 2 * most + self.ahead) + 1

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return EndlessProcess(noise, self.shape, self.scale, self.columns, state)


@lru_cache(maxsize=64)
def _shape(kind: type[EndlessShape], *numbers: Any) -> EndlessShape:
    """The same object for the same numbers, so that shares are found once."""
    return kind(*numbers)
