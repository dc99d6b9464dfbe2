"""A shape of hats that repeats itself for ever, for windows of a stream without an end.

All nodes of a level have the same share, the top level has a knot every ``spans[-1]`` steps from
the start on, and weights depend on the place in a cell alone.  Counts get ever noisier, since
every knot of the top level that was passed is in them.  But differences of counts do not.

>>> shape = RepeatedShape.of((4, 4), (300, 400, 324))
>>> shape.spans, shape.share(2, 10**6), shape.share(0, 0), shape.digit(2, 39)
((1, 4, 16), Fraction(81, 256), Fraction(75, 256), 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.hats.shape import PARTS, HatsShape
from ameles.noise.arrays import IntArray

# No stream has this many steps.
EVER = 1 << 62


@dataclass(frozen=True)
class RepeatedShape(HatsShape):
    """The knots of all levels, and the share of every level, from the single steps up."""

    @classmethod
    def of(cls, radices: tuple[int, ...], shares: tuple[int, ...]) -> RepeatedShape:
        """The shape with these shares, in parts of ``PARTS``."""
        return cls(EVER, radices, 0, shares[-1:], shares[:-1])

    def __post_init__(self) -> None:
        shares = (*self.lows, *self.tops)
        if (
            not self.radices
            or min(self.radices) < 2
            or len(shares) != self.levels
            or min(shares) < 1
            or sum(shares) > PARTS
        ):
            raise BadInput(
                "These radices and shares are not those of a counter of hats for windows.",
                why=f"each level has a share of {PARTS} parts, and they add up to no more",
                tip="leave them out: the best ones for the window are found",
            )

    @property
    def by_place(self) -> bool:
        """Whether the top level has weights of its own for every place of the stream: no."""
        return False

    @property
    def knots(self) -> int:
        """How many nodes the top level has: more than any stream needs."""
        return EVER

    def digit(self, level: int, place: Any) -> Any:
        """The place of a step, or of many, in its cell, in cells of the level below."""
        return place % self.spans[level] // self.spans[level - 1]

    def share(self, level: int, node: int) -> Fraction:
        """The share of epsilon that a node has: that of its level."""
        return Fraction((*self.lows, *self.tops)[level], PARTS)

    def piece(self, lower: IntArray) -> IntArray:
        """Every cell has the same shares."""
        return np.zeros_like(lower)

    def changes(self, level: int) -> tuple[list[int], list[Fraction]]:
        """The nodes from which on the share is another one, in order, and those shares."""
        return [0], [self.share(level, 0)]
