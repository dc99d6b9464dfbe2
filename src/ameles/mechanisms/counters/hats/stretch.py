"""One stretch of Hats without an end, as a shape whose places start with the stretch.

All of a stretch is in one cell of the top level, so that only lower levels move on.  What the top
level needs of the next stretch is drawn when this one starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from ameles.mechanisms.counters.hats.endless_shape import EndlessShape, pieces_of
from ameles.mechanisms.counters.hats.repeated import EVER
from ameles.mechanisms.counters.hats.shape import HatsShape


@dataclass(frozen=True)
class StretchShape(HatsShape):
    """The knots of all levels in one stretch, counted from its start."""

    endless: EndlessShape
    number: int

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, endless: EndlessShape, number: int) -> StretchShape:
        """The stretch with this number."""
        one = endless.stretch(number)
        radices = (*(endless.radix for _ in one.spans[1:]), one.cells)
        return cls(EVER, radices, 0, (), (), endless, number)

    def __post_init__(self) -> None:
        """The shape without an end has been checked."""

    @property
    def unit(self) -> int:
        """Noises are sums of multiples of one over this."""
        return self.endless.unit(self.number)

    @cached_property
    def units(self) -> list[int]:
        """What a residual of each level from 1 counts in that unit."""
        spans = enumerate(self.spans[:-1])
        lower = [self.unit // (span >> self.endless.shift(level)) for level, span in spans]
        return [*lower[1:], 1]

    @property
    def knots(self) -> int:
        """How many nodes the top level has: more than any stream needs."""
        return EVER

    def drawn(self, level: int, cell: int) -> int:
        """How many nodes of this level are needed while the level above is in a cell of its own.

        At the start of the stretch, those of the highest level below the top were drawn for the
        next one, too, or for the first cell of the level that is born there.
        """
        if level < self.levels - 2:
            return super().drawn(level, cell)
        after = self.number + 1
        born = self.endless.born(after)
        return self.radices[-1] + (
            self.endless.radix if born else self.endless.stretch(after).cells
        )

    def changes(self, level: int) -> tuple[list[int], list[Fraction]]:
        """The nodes from which on the share is another one, in order, and those shares; those of
        the next stretch, too."""
        if level == self.levels - 1:
            return [0], [self.endless.knot_share(self.number)]
        start, span = self.endless.stretch(self.number).start, self.spans[level]
        nodes, shares = [], []
        for number in (self.number, self.number + 1):
            for piece in pieces_of(self.endless, number):
                for place in (piece.start, piece.start + span):  # the border and what is inside
                    if place < piece.end:
                        nodes.append((place - start) // span)
                        shares.append(self.endless.share(level, place))
        kept = [i for i in range(len(nodes)) if i == 0 or shares[i] != shares[i - 1]]
        return [nodes[i] for i in kept], [shares[i] for i in kept]
