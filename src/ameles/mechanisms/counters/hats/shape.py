"""The shape of a Hats counter: where its knots are, and which share of epsilon each node has.

Level 0 has a node for every step.  Level l has knots ``spans[l]`` steps apart, and a node, a hat,
for each: it is 1 at its knot and falls in a straight line to 0 at the knots beside it.  Knots of a
level are knots of the level below, so a hat is a sum of hats of the level below: with weights
1/k, 2/k, ..., 1, ..., 1/k, if k cells of the one make a cell of the other.

The first knot of the top level is ``offset`` cells of the level below into the stream, and its
hat is flat before.  The last knot, at or after the end of the stream, has no node.

Shares are whole numbers of ``PARTS``: ``tops`` of the nodes of the top level, and ``lows`` of each
lower level, as shares of what the top level leaves.  Since ``tops`` do not rise, what it leaves
does not fall.  It is taken, for all lower nodes in a part of a top cell, where the part starts.
So an item between two knots, which is in both of their hats, spends at most epsilon in all.

>>> shape = HatsShape(horizon=40, radices=(4, 4), offset=2, tops=(300, 200), lows=(512, 512))
>>> shape.spans, shape.knots, shape.share(2, 1), shape.share(0, 0)
((1, 4, 16), 2, Fraction(25, 128), Fraction(181, 512))
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from operator import mul
from typing import Any

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.noise.arrays import IntArray

# Shares are multiples of one over this.
PARTS = 1024


@dataclass(frozen=True)
class HatsShape:
    """The knots of all levels, and the share of every node."""

    horizon: int
    radices: tuple[int, ...]
    offset: int
    tops: tuple[int, ...]
    lows: tuple[int, ...]

    def __post_init__(self) -> None:
        falling = all(before >= after for before, after in pairwise(self.tops))
        if (
            not self.radices
            or min(self.radices) < 2
            or not 0 <= self.offset <= self.radices[-1]
            or len(self.lows) != self.levels - 1
            or len(self.tops) != self.knots
            or not falling
            or not all(0 < share < PARTS for share in self.tops)
            or not all(0 < share <= PARTS for share in self.lows)
            or sum(self.lows) > PARTS
        ):
            raise BadInput(
                "These radices, offset and shares are not those of a Hats counter.",
                why=f"shares of {PARTS} parts must not rise along the stream or exceed their sum",
                tip="leave them out: the best ones for the horizon are found",
            )

    @property
    def by_place(self) -> bool:
        """Whether the top level has weights of its own for every place of the stream."""
        return True

    @property
    def levels(self) -> int:
        """How many levels there are, the single steps included."""
        return len(self.radices) + 1

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """How many steps are between two knots of each level."""
        return tuple(accumulate(self.radices, mul, initial=1))

    @cached_property
    def start(self) -> int:
        """The place of the first knot of the top level; other levels start at 0."""
        return self.offset * self.spans[-2]

    @cached_property
    def knots(self) -> int:
        """How many nodes the top level has: all knots before the end of the stream, and one."""
        return max(1, -(-(self.horizon - self.start) // self.spans[-1]))

    @property
    def unit(self) -> int:
        """Noises are sums of multiples of one over this."""
        return self.spans[-1]

    @property
    def units(self) -> list[int]:
        """What a residual of each level from 1 counts in that unit."""
        return [self.unit // span for span in self.spans[1:]]

    def cell(self, level: int, place: Any) -> Any:
        """The number of the level's cell that a step, or many, are in, from 0; -1 before all
        knots."""
        start = self.start if level == self.levels - 1 else 0
        return (place - start) // self.spans[level]

    def cells(self, place: int) -> list[int]:
        """The numbers of the cells of all levels from 1 that this step is in."""
        return [self.cell(level, place) for level in range(1, self.levels)]

    def digit(self, level: int, place: Any) -> Any:
        """The place of a step, or of many, in its cell, in cells of the level below; at the top
        counted from the start of the stream."""
        if level < self.levels - 1:
            place = place % self.spans[level]
        return place // self.spans[level - 1]

    def drawn(self, level: int, cell: int) -> int:
        """How many nodes of this level are needed while the level above is in a cell of its own.

        The first two knots after the present step are looked at, so all below them are needed.
        """
        above = level + 1
        extra = self.offset if above == self.levels - 1 else 0
        return extra + (cell + 2) * self.radices[level]

    def share(self, level: int, node: int) -> Fraction:
        """The share of epsilon that a node has."""
        if level == self.levels - 1:
            return Fraction(self.tops[node], PARTS)
        lower = node * self.spans[level] // self.spans[-2]
        return Fraction(self.lows[level], PARTS) * self.lefts[int(self.piece(np.array(lower)))]

    @cached_property
    def lefts(self) -> tuple[Fraction, ...]:
        """What the top level leaves to lower ones, by the pieces of ``piece``."""
        k, tops = self.radices[-1], (*self.tops, 0, 0)
        left = [1 - Fraction(tops[0], PARTS)] * self.pieces
        for first, second in pairwise(tops):
            for inside in range(0, self.pieces * self._step, self._step):
                falls = first * max(k - inside, 0) + second * min(inside, k)
                left.append(1 - Fraction(falls, k * PARTS))
        return tuple(left)

    @property
    def pieces(self) -> int:
        """In how many pieces of a top cell lower nodes have shares of their own, or a few less.

        Noise of a new scale takes some milliseconds to prepare, so short streams have fewer.
        """
        return 4 if len(self.radices) < 3 else 8

    @cached_property
    def _step(self) -> int:
        return -(-self.radices[-1] // self.pieces)

    def piece(self, lower: IntArray) -> IntArray:
        """The piece of a top cell that a cell of the level below is in, numbered from 0."""
        cell, inside = np.divmod(lower - self.offset, self.radices[-1])
        numbers: IntArray = (
            np.clip(cell + 1, 0, self.knots + 1) * self.pieces + inside // self._step
        )
        return numbers

    def changes(self, level: int) -> tuple[list[int], list[Fraction]]:
        """The nodes from which on the share is another one, in order, and those shares."""
        if level == self.levels - 1:
            nodes = list(range(self.knots))
        else:
            each = self.spans[-2] // self.spans[level]
            lower = np.arange(self.offset + (self.knots + 2) * self.radices[-1])
            cuts = np.flatnonzero(np.diff(self.piece(lower))) + 1
            nodes = [0, *(cuts * each).tolist()]
        shares = [self.share(level, node) for node in nodes]
        kept = [i for i in range(len(nodes)) if i == 0 or shares[i] != shares[i - 1]]
        return [nodes[i] for i in kept], [shares[i] for i in kept]
