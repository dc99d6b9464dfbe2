"""The loss of encoded counters: the columns of their encoder, read off from the real code.

An encoded counter releases whole counts, rounded from P = 2^s (running sum) + F(z), where F filters
the noise z with roundings on the way.  The audit examines P; the releases are P, rounded.

Columns      an impulse of 2^192 on the tape, in integers of any size, shows a column of the
             filter B; a second one of 2^256 shows which digits are roundings
Shift        F without its roundings is B, so the shift that hides a change is the e with
             B e = 2^s A d.  B has ones on its diagonal: e is unique, see ``hiding_shift``
From above   with roundings the shift is e + r.  The recipe's theorem says that |r| is at most its
             ``allowance`` R, so rho is at most (|e| + R)^2 / (2 v) for draws of variance v
From below   given earlier values, P(t) is a discrete Gaussian around an integer, so the divergence
             of order 1, which rho bounds, is the mean of |e + r|^2 / (2 v): at least
             (|e| - R)^2 / (2 v)
Parts        A change is hidden by the filter of its own part and by that part's total, if it ends:
             the total moves by the sum of the part's changes.  Parts have draws of their own, so
             their losses add up.  For m contributions the worst way to divide m among the parts is
             searched for, with an upper bound for each number in each part.
Scales       A counter may let a count add another number of units at each step.  The shift of a
             change is that many times as long, and the releases must be what the recipe's decoder
             makes of P alone.
Keys         A unit changes the vector of a step by at most ``bound`` in L1.  Changes of two keys
             have nothing in common, so one key that has all of them is worst.
The probe    solves for the exact e + r, step by step, with the real code and several kinds of
             noise: r must be within R, and shifted noise must give the neighbour's releases
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ameles.audit.encoded_parts import Encoded, Part, columns_of, parts_of, variances_of
from ameles.audit.encoded_probe import probe
from ameles.audit.finding import Amount
from ameles.audit.hiding_shift import HidingShift

HOW = "its encoder's columns and the roundings that its theorem allows, probed"


@dataclass(frozen=True)
class Bounds:
    """Bounds on rho for changes of several steps by the recipe's bound, and the worst of them."""

    lower: Amount
    upper: Amount
    changes: tuple[tuple[int, int], ...]  # (step, amount), steps from 1


def encoded_bounds(recipe: Encoded, steps: int, tick: Callable[[], None] = lambda: None) -> Bounds:
    """Proven bounds on rho; raises NotLinear if the code is not such a filter."""
    parts = parts_of(recipe, steps)
    variances = variances_of(recipe, parts)
    columns = columns_of(recipe, parts)
    shifts = []
    for part, column in zip(parts, columns, strict=True):
        shifts.append(HidingShift.of(column, bits=part.bits))
        tick()
    probe(recipe, parts, shifts, variances, tick)
    prices = [
        PartPrice(part, shift, recipe.bound, *both)
        for part, shift, both in zip(parts, shifts, variances, strict=True)
    ]
    return worst_division(prices, min(recipe.contributions, steps))


@dataclass(frozen=True)
class PartPrice:
    """What changes of a part cost, in rho."""

    part: Part
    shift: HidingShift
    bound: int
    variance: Fraction  # of the filtered draws
    closing: Fraction | None  # that of the total, if it is shown

    def most(self, count: int) -> Fraction:
        """An upper bound for changes of up to ``count`` steps, whichever they are."""
        if not count:
            return Fraction(0)
        inside = self.bound * self._longest(min(count, self.part.inside)) + self.part.allowance
        return inside**2 / (2 * self.variance) + self._total(min(count, self.part.steps))

    def least(self, signs: Sequence[int]) -> Fraction:
        """A lower bound for changes of the first steps in these directions."""
        if not signs:
            return Fraction(0)
        inside = self.bound * self._length(signs[: self.part.inside]) - self.part.allowance
        return max(Fraction(0), inside) ** 2 / (2 * self.variance) + self._total(sum(signs))

    def _longest(self, count: int) -> Fraction:
        if self.part.even:
            return self.shift.longest(count)
        return self.shift.longest_scaled(count, self.part.units) / (1 << self.part.bits)

    def _length(self, signs: Sequence[int]) -> Fraction:
        if self.part.even:
            return self.shift.length(signs)
        amounts = [sign * unit for sign, unit in zip(signs, self.part.units, strict=False)]
        return self.shift.length(amounts) / (1 << self.part.bits)

    def _total(self, moved: int) -> Fraction:
        return (self.bound * moved) ** 2 / (2 * self.closing) if self.closing else Fraction(0)


def worst_division(prices: Sequence[PartPrice], most: int) -> Bounds:
    """The bounds for up to ``most`` steps, divided among the parts in the worst way."""
    # for each number of steps: the largest price so far, and how many of them each part has
    best: list[tuple[Fraction, tuple[int, ...]]] = [(Fraction(0), ())] * (most + 1)
    for number, price in enumerate(prices, start=1):
        own = [price.most(count) for count in range(most + 1)]
        asked = range(most + 1) if number < len(prices) else [most]
        divisions = [
            max(
                (best[steps - here][0] + own[here], (*best[steps - here][1], here))
                for here in range(steps + 1)
            )
            for steps in asked
        ]
        best = divisions
    upper, division = best[-1]
    lower, changes = max(
        _first_steps(prices, division, directions) for directions in ((1, 1), (1, -1))
    )
    return Bounds(lower, upper, changes)


def _first_steps(
    prices: Sequence[PartPrice], division: Sequence[int], directions: tuple[int, int]
) -> tuple[Fraction, tuple[tuple[int, int], ...]]:
    """A lower bound if the first steps of each part change, in alternating directions."""
    lower = Fraction(0)
    changes: list[tuple[int, int]] = []
    for price, count in zip(prices, division, strict=True):
        signs = [directions[i % 2] for i in range(min(count, price.part.steps))]
        lower += price.least(signs)
        first = price.part.start + 1
        changes += [(first + i, sign * price.bound) for i, sign in enumerate(signs)]
    return lower, tuple(changes)
