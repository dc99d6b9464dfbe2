"""The shape of Hats without an end: where the knots are, and which share of epsilon each node has.

Knots of the top level are ever further apart: the first is ``first`` steps into the stream, the
next ``cell`` steps later, and from then on each cell is longer than the one before by the next
factor of ``growth``, up to ``longest``.  The first hat is flat before its knot.  The steps between
two knots are a *stretch*; stretch 0 is before the first knot.  Lower levels have knots
``radix ** l`` steps apart.  A level is *born* at a knot of the top level: where a cell of the top
level would have more than ``most`` cells of the level below, another level comes between them.
To its left the first hat of a level falls as that of the level below does, so it is a sum of hats
of the level below like any other.

Shares are found piece by piece.  In a piece of a stretch the lower levels have what the top level
leaves there at least.  A node on the border of two pieces has the smaller share of both.  In the
last cell before a birth, the new level is paid for, too.  So no item, which is in two hats of each
level with weights that add up to 1, spends more than epsilon.  Once the cells of the top level
grow no more, all stretches are equal, so what holds for the first ones holds for ever.

>>> shape = EndlessShape()
>>> [(one.start, one.steps, one.spans) for one in map(shape.stretch, range(4))]
[(0, 24, (1,)), (24, 48, (1,)), (72, 96, (1, 16)), (168, 384, (1, 16))]
>>> shape.knot_share(0), *shape.piece_at(300).shares
(Fraction(7, 17), Fraction(5, 18), Fraction(25, 72))
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from ameles.core.exceptions import BadInput

# In how many pieces of a stretch lower nodes have shares of their own, or a few less.
PIECES = 4
# How much more a node of the top level has than a lower level: at births, and elsewhere.
BIRTH, KNOT = Fraction(7, 5), Fraction(6, 5)
# What lower levels have, and the highest of them: soon after a birth, then, and far from knots.
# These constants are near the solution of a convex program: see docs/hats.md.
LOWER, YOUNG, GROWN, FAR = 8, 7, 10, 12
# Residuals are rounded to multiples of one over this, or a little more.
FINEST = 1 << 20


@dataclass(frozen=True)
class Stretch:
    """The steps between two knots of the top level, and the levels there."""

    start: int
    steps: int
    spans: tuple[int, ...]  # of the levels below the top, from the single steps up

    @property
    def end(self) -> int:
        """The next knot of the top level."""
        return self.start + self.steps

    @property
    def highest(self) -> int:
        """The level just below the top."""
        return len(self.spans) - 1

    @property
    def cells(self) -> int:
        """How many cells of that level there are."""
        return self.steps // self.spans[-1]


@dataclass(frozen=True)
class Piece:
    """Steps in which the nodes of each level below the top have the same share."""

    start: int
    end: int
    shares: tuple[Fraction, ...]


@dataclass(frozen=True)
class EndlessShape:
    """The knots of all levels, and the share of every node."""

    radix: int = 16
    first: int = 24
    cell: int = 48
    growth: tuple[int, ...] = (2, 4, 2)
    most: int = 48
    longest: int = 3 << 38

    def __post_init__(self) -> None:
        powers = all(
            number > 1 and number & number - 1 == 0 for number in (self.radix, *self.growth)
        )
        # else two levels would be born at once
        grows = self.growth and max(self.growth) <= self.radix
        starts = 2 <= self.cell <= self.most * self.radix
        if not powers or not grows or not starts or self.first < 2:
            raise _no_shape()
        if any(one.steps % one.spans[-1] or one.cells < 2 for one in self._stretches):
            raise _no_shape()

    # Knots ---------------------------------------------------------------------------------------

    @cached_property
    def _stretches(self) -> list[Stretch]:
        """All up to the third of the greatest length; those after it are like it."""
        found = [Stretch(0, self.first, (1,))]
        steps, grown = self.cell, 0
        spans: tuple[int, ...] = (1,)
        while len(found) < 4 or found[-3].steps < found[-1].steps:
            while steps > self.most * spans[-1]:
                spans = (*spans, spans[-1] * self.radix)
            found.append(Stretch(found[-1].end, steps, spans))
            growth = self.growth[grown % len(self.growth)]
            if steps * growth <= self.longest:
                steps, grown = steps * growth, grown + 1
        return found

    @property
    def usual(self) -> int:
        """The number of a stretch that is like those beside it, and like all later ones."""
        return len(self._stretches) - 2

    @property
    def levels(self) -> int:
        """How many levels there are below the top in the end."""
        return len(self._stretches[-1].spans)

    def stretch(self, number: int) -> Stretch:
        """Stretch 0 is before the first knot of the top level, stretch j after knot j - 1."""
        if number < len(self._stretches):
            return self._stretches[number]
        last = self._stretches[-1]
        later = number + 1 - len(self._stretches)
        return Stretch(last.start + later * last.steps, last.steps, last.spans)

    def number(self, place: int) -> int:
        """The stretch that a step is in; both are counted from 0."""
        last = self._stretches[-1]
        if place >= last.end:
            return len(self._stretches) + (place - last.end) // last.steps
        return bisect_right(self._starts, place) - 1

    @cached_property
    def _starts(self) -> list[int]:
        return [one.start for one in self._stretches]

    @cached_property
    def births(self) -> tuple[int, ...]:
        """The first knot of each level below the top."""
        return tuple(
            next(one.start for one in self._stretches if one.highest >= level)
            for level in range(self.levels)
        )

    def born(self, number: int) -> bool:
        """Whether a level is born where this stretch starts."""
        return number > 0 and self.stretch(number).highest > self.stretch(number - 1).highest

    # Units ---------------------------------------------------------------------------------------

    def unit(self, number: int) -> int:
        """In this stretch noises are sums of multiples of one over this.

        It is the length of the next stretch, in which a hat that counts here ends, without as many
        factors of 2 as ``FINEST`` allows.
        """
        return coarsened(self.stretch(number + 1).steps)

    def shift(self, level: int) -> int:
        """By how many bits the residuals of a level below the top are rounded.

        Residuals have no data in them, so that rounding them costs no privacy.
        """
        span, bits = self.radix**level, 0
        while coarsened(self._stretches[-1].steps) % (span >> bits):
            bits += 1
        return bits

    # Shares --------------------------------------------------------------------------------------

    def knot_share(self, knot: int) -> Fraction:
        """The share of a node of the top level."""
        after = min(knot, self.usual - 1) + 1
        own = BIRTH if knot == 0 or self._young(after) else KNOT  # the first hat is flat
        return own / (own + max(self.stretch(after).highest + 1, 2))

    def parts(self, number: int, start: int, end: int) -> list[int]:
        """In which proportion the lower levels have shares in a piece of a stretch, which is given
        in cells of the highest one."""
        one, beside = self.stretch(number), self._young(number - 1)
        if self._young(number) or (beside and start == 0):
            highest = YOUNG
        else:
            highest = GROWN if beside or start == 0 or end == one.cells else FAR
        return [*(LOWER for _ in one.spans[1:]), highest]

    def _young(self, number: int) -> bool:
        """Whether a level is born where this stretch starts, and the next one is longer."""
        return self.born(number) and self.stretch(number).steps < self.stretch(number + 1).steps

    def fitted_to(self, number: int) -> tuple[tuple[Fraction, ...], list[Fraction]]:
        """The shares for which the weights of a stretch are best: those of the levels below the
        top, and of each node of the highest one."""
        one, pieces = self.stretch(number), pieces_of(self, number)
        places = range(one.start, one.end, one.spans[-1])
        return pieces[len(pieces) // 2].shares, [self.share(one.highest, at) for at in places]

    def top_share(self, number: int, cell: int) -> Fraction:
        """What the top level has at a cell of the level below it, of one stretch."""
        before, after = self.knot_share(max(number - 1, 0)), self.knot_share(number)
        return before + (after - before) * Fraction(cell, self.stretch(number).cells)

    def piece_at(self, place: int) -> Piece:
        """The piece that a step is in."""
        pieces = pieces_of(self, self.number(place))
        return pieces[bisect_right([piece.start for piece in pieces], place) - 1]

    def share(self, level: int, place: int) -> Fraction:
        """The share of the node of a level below the top whose knot is at this place."""
        piece = self.piece_at(place)
        share = piece.shares[level]
        if place == piece.start > 0:
            before = self.piece_at(place - 1).shares
            return min((share, *before[level : level + 1]))
        return share

    @cached_property
    def shares(self) -> set[Fraction]:
        """All shares that nodes have."""
        numbers = range(self.usual + 1)
        lower = {
            share
            for number in numbers
            for piece in pieces_of(self, number)
            for share in piece.shares
        }
        return lower | {self.knot_share(number) for number in numbers}

    @cached_property
    def spent(self) -> Fraction:
        """The most of epsilon that any item spends, at any time, or a little more.

        Between the ends of a piece, all that its items spend is linear, or less.
        """
        most = Fraction(0)
        for number in range(self.usual + 1):
            one = self.stretch(number)
            for piece in pieces_of(self, number):
                cells = ((at - one.start) // one.spans[-1] for at in (piece.start, piece.end))
                tops = [self.top_share(number, cell) for cell in cells]
                new = self._new_share(number) if piece.end == one.end else Fraction(0)
                most = max(most, sum(piece.shares) + max(tops[0], tops[1] + new))
        return most

    def _new_share(self, number: int) -> Fraction:
        """The share of the first node of a level that is born at the end of a stretch.

        Its hat reaches one cell of the level below to the left: from single steps to no other.
        """
        highest = self.stretch(number).highest
        if not highest or not self.born(number + 1):
            return Fraction(0)
        return pieces_of(self, number + 1)[0].shares[highest + 1]


def coarsened(steps: int) -> int:
    """A number without as many factors of 2 as ``FINEST`` allows."""
    while steps > FINEST and steps % 2 == 0:
        steps //= 2
    return steps


@lru_cache(maxsize=1024)
def pieces_of(shape: EndlessShape, number: int) -> tuple[Piece, ...]:
    """The pieces of a stretch, in order."""
    one = shape.stretch(number)
    new = one.highest > 0 and shape.born(number + 1)
    found, last = [], one.cells - new
    each = -(-one.cells // PIECES) if number else one.cells
    for start in range(0, last, each):
        end = min(start + each, last)
        left = 1 - max(shape.top_share(number, start), shape.top_share(number, end))
        parts = shape.parts(number, start, min(start + each, one.cells))
        shares = tuple(left * Fraction(part, sum(parts)) for part in parts)
        places = [one.start + cell * one.spans[-1] for cell in (start, end)]
        found.append(Piece(places[0], places[1], shares))
    if new:  # the last cell, where the level that is born next is paid for
        shares = pieces_of(shape, number + 1)[0].shares[: len(one.spans)]
        found.append(Piece(one.end - one.spans[-1], one.end, shares))
    return tuple(found)


def _no_shape() -> BadInput:
    return BadInput(
        "These numbers are not those of a Hats counter without an end.",
        why="its knots must be nested: each cell of a level has whole cells of the level below",
        tip="leave them out: the usual ones are the best that we know",
    )
