"""The shares of Hats without an end that were launched under their first law.

Shares follow the model of ``search``: a level has the cube root of what its weights cost, and a
node of the top level that of its number.  All roots are taken in whole numbers.

>>> shape = FirstEndlessShape()
>>> [(one.start, one.steps, one.spans) for one in map(shape.stretch, range(4))]
[(0, 24, (1,)), (24, 48, (1,)), (72, 192, (1, 16)), (264, 768, (1, 16))]
>>> [round(float(share), 3) for share in (shape.knot_share(0), *shape.piece_at(500).shares)]
[0.367, 0.296, 0.422]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ameles.mechanisms.counters.hats.endless_shape import EndlessShape, pieces_of
from ameles.mechanisms.counters.hats.shape import PARTS

# A node of the top level is in all later counts.  How much they matter grows with its number.
LATER = Fraction(7, 20)


@dataclass(frozen=True)
class FirstEndlessShape(EndlessShape):
    """The knots of all levels, and the share of every node."""

    growth: tuple[int, ...] = (4,)

    def knot_share(self, knot: int) -> Fraction:
        """The share of a node of the top level."""
        knot = min(knot, self.usual - 1)
        own = cube_root(LATER * (knot + 3))
        return Fraction(own * PARTS // (own + sum(self._roots(knot + 1))), PARTS)

    def _roots(self, number: int) -> list[int]:
        """What each level below the top should have, up to a factor; see ``search``."""
        one = self.stretch(number)
        radices = [*(self.radix for _ in one.spans[1:]), one.cells]
        return [cube_root(Fraction(109 * k + 80, 1000)) for k in radices]

    def parts(self, number: int, start: int, end: int) -> list[int]:
        """In which proportion the lower levels have shares: the same in all pieces."""
        roots = self._roots(number)
        parts = [PARTS * root // sum(roots) for root in roots]
        parts[0] += PARTS - sum(parts)
        return parts

    def fitted_to(self, number: int) -> tuple[tuple[Fraction, ...], list[Fraction]]:
        """The shares for which the weights of a stretch are best: those of its first piece."""
        shares = pieces_of(self, number)[0].shares
        return shares, [shares[-1]] * self.stretch(number).cells


def cube_root(number: Fraction) -> int:
    """A thousand times the cube root, rounded down, in whole numbers: the same on all machines."""
    cube = number.numerator * 10**9 // number.denominator
    root: int = round(cube ** (1 / 3))
    while root**3 > cube:
        root -= 1
    while (root + 1) ** 3 <= cube:
        root += 1
    return root
