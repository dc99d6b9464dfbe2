"""Finite local randomizers as exact tables: a row of probabilities for each value of a user.

Theorem      Dwork-Roth 2014, Def 12.1 (catalogue 30): a randomizer is epsilon-local if no outcome
             is more than e^epsilon times likelier for one value than for another.  For a finite
             table that is the largest ratio within a column, a fraction
Exactness    rows sum to 1 exactly; ``epsilon`` is the logarithm of the ratio, rounded up

Randomized response of the slides tells the truth if a coin shows tails, and otherwise what a second
coin says.  Someone whose truth is No says Yes if the first coin *and* the second show heads (the
printed proof has tails for the second):

>>> half, quarter = Fraction(1, 2), Fraction(1, 4)
>>> slides = FiniteTable([[half + quarter, quarter], [quarter, half + quarter]])
>>> slides.ratio, round(float(slides.epsilon), 6)
(Fraction(3, 1), 1.098612)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ameles.accounting.interval import Interval
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.core.parameters import Exact, exact

# Draws are whole numbers below the common denominator.
LARGEST_DENOMINATOR = 1 << 62


@dataclass(frozen=True, init=False)
class FiniteTable:
    """A row of probabilities for each value; all rows have the same outcomes."""

    rows: tuple[tuple[Fraction, ...], ...]

    def __init__(self, rows: Iterable[Iterable[Exact]]) -> None:
        held = tuple(tuple(exact(p, "rows") for p in row) for row in rows)
        if not held or len({len(row) for row in held}) != 1:
            raise BadInput("A table must have rows, all of one length.")
        if any(p < 0 for row in held for p in row) or any(sum(row) != 1 for row in held):
            raise BadInput(
                "Each row of a table must have probabilities that sum to 1 exactly.",
                tip="fractions, such as '1/3'",
            )
        object.__setattr__(self, "rows", held)
        if self._denominator > LARGEST_DENOMINATOR:
            raise BadInput(
                "The probabilities of a table must have a common denominator of at most 2**62.",
                why="outcomes are drawn in whole numbers of 64 bits",
            )

    @cached_property
    def ratio(self) -> Fraction | float:
        """How many times likelier an outcome is for one value than for another, at most.

        Infinite if some value can have an outcome that another cannot.
        """
        worst: Fraction | float = Fraction(1)
        for column in zip(*self.rows, strict=True):
            if not any(column):
                continue
            worst = max(worst, max(column) / min(column) if all(column) else math.inf)
        return worst

    @property
    def epsilon(self) -> Fraction:
        """The loss of one answer, rounded up; a table that gives values away is refused."""
        if not isinstance(self.ratio, Fraction):
            raise BadInput(
                "This table is no local randomizer.",
                why="it has an outcome that some values can have and others cannot",
                tip="a table without zeros",
            )
        return Interval.of(self.ratio).ln().up() if self.ratio > 1 else Fraction(0)

    def draw(self, value: int, noise: Noise) -> int:
        """An outcome for this value, from one uniform draw; without noise the likeliest."""
        row = self.rows[value]
        rest = int(noise.uniform(self._denominator, 1)[0])
        outcome = -1
        for outcome in sorted(range(len(row)), key=lambda one: -row[one]):
            rest -= int(row[outcome] * self._denominator)
            if rest < 0:
                break
        return outcome

    @cached_property
    def _denominator(self) -> int:
        return math.lcm(*(p.denominator for row in self.rows for p in row))
