"""Intervals of decimals that are sure to contain the real number that was meant.

Theorem      each operation rounds its lower end down and its upper end up, so the true
             value stays inside; exp, ln and sqrt of the decimal module are correctly
             rounded to nearest, so one unit in the last place on either side is enough
Precision    60 digits inside; results leave as fractions of 15 significant digits
Why          a privacy claim that was rounded the wrong way, however little, is false

``up`` is for losses and for anything that must not be understated; ``down`` is for
amounts that may be spent.  Fifteen digits keep the exact sums of a ledger short.

>>> low, high = Interval.of(2).sqrt().down(), Interval.of(2).sqrt().up()
>>> low**2 < 2 < high**2, high - low == Fraction(1, 10**14)
(True, True)
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from typing import TypeAlias

from ameles.core.exceptions import BadInput

PRECISION = 60
SHOWN_DIGITS = 15
# A positive result below 10**-300 is reported as 10**-300: still an upper bound, and no
# fraction has a denominator of a million digits.
SMALLEST_EXPONENT = 300
NEAR_ZERO = Decimal("1e-10")
LARGEST_EXPONENT = Decimal("1e17")  # of e; beyond it a decimal's own exponent overflows


def _context(rounding: str, precision: int = PRECISION) -> Context:
    return Context(
        prec=precision,
        rounding=rounding,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[DivisionByZero, InvalidOperation, Overflow],
    )


DOWN = _context(ROUND_FLOOR)
UP = _context(ROUND_CEILING)

Term: TypeAlias = "Interval | Fraction | int"


@dataclass(frozen=True, slots=True)
class Interval:
    """A real number known to lie from ``low`` to ``high``."""

    low: Decimal
    high: Decimal

    @classmethod
    def of(cls, number: Fraction | int | Decimal) -> Interval:
        """The interval around an exact number; no wider than the precision needs."""
        if isinstance(number, Decimal):
            return cls(DOWN.plus(number), UP.plus(number))
        top, bottom = Decimal(number.numerator), Decimal(number.denominator)
        return cls(DOWN.divide(top, bottom), UP.divide(top, bottom))

    def __neg__(self) -> Interval:
        return Interval(self.high.copy_negate(), self.low.copy_negate())

    def __add__(self, other: Term) -> Interval:
        term = _interval(other)
        return Interval(DOWN.add(self.low, term.low), UP.add(self.high, term.high))

    __radd__ = __add__

    def __sub__(self, other: Term) -> Interval:
        return self + -_interval(other)

    def __rsub__(self, other: Term) -> Interval:
        return _interval(other) - self

    def __mul__(self, other: Term) -> Interval:
        term = _interval(other)
        pairs = [(a, b) for a in (self.low, self.high) for b in (term.low, term.high)]
        return Interval(
            min(DOWN.multiply(a, b) for a, b in pairs),
            max(UP.multiply(a, b) for a, b in pairs),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Term) -> Interval:
        term = _interval(other)
        if term.low <= 0 <= term.high:
            raise ZeroDivisionError("the divisor may be zero")
        # 1/x falls on either side of zero, so the ends trade places.
        return self * Interval(DOWN.divide(1, term.high), UP.divide(1, term.low))

    def __rtruediv__(self, other: Term) -> Interval:
        return _interval(other) / self

    def exp(self) -> Interval:
        """e to the power of this number."""
        if self.high > LARGEST_EXPONENT:
            raise _meaningless()
        # An underflow gives a zero, whose predecessor would be negative.
        low = max(Decimal(0), DOWN.next_minus(DOWN.exp(self.low)))
        return Interval(low, UP.next_plus(UP.exp(self.high)))

    def exp_less_one(self) -> Interval:
        """exp(x) - 1, without the loss of digits that the subtraction has near zero."""
        if self.low < -NEAR_ZERO or self.low < 0 < self.high or self.high > NEAR_ZERO:
            return self.exp() - 1
        if self.low < 0:
            return -(-self).exp_less_one() * self.exp()
        # x + x²/2 + x³/6 + ...: the terms from the third on lie between 0 and x³/5.
        start = self + self * self / 2
        rest = self * self * self / 5
        return Interval(start.low, (start + rest).high)

    def ln(self) -> Interval:
        """The natural logarithm; this number must be above zero."""
        return Interval(DOWN.next_minus(DOWN.ln(self.low)), UP.next_plus(UP.ln(self.high)))

    def sqrt(self) -> Interval:
        """The square root; this number must be zero or more."""
        low = max(Decimal(0), DOWN.next_minus(DOWN.sqrt(self.low)))
        return Interval(low, UP.next_plus(UP.sqrt(self.high)))

    def half_tanh(self) -> Interval:
        """tanh(x/2) = (exp(x) - 1) / (exp(x) + 1)."""
        return self.exp_less_one() / (self.exp() + 1)

    def up(self, digits: int = SHOWN_DIGITS) -> Fraction:
        """The shortest upper bound: this many significant digits, rounded up."""
        return _shortened(self.high, ROUND_CEILING, digits)

    def down(self, digits: int = SHOWN_DIGITS) -> Fraction:
        """The shortest lower bound: this many significant digits, rounded down."""
        return _shortened(self.low, ROUND_FLOOR, digits)


def _interval(term: Term) -> Interval:
    return term if isinstance(term, Interval) else Interval.of(term)


def _meaningless() -> BadInput:
    return BadInput(
        "This result is above 1e300, where a privacy loss means nothing.",
        tip="smaller parameters",
    )


def _shortened(number: Decimal, rounding: str, digits: int) -> Fraction:
    if number == 0:
        return Fraction(0)
    if number.adjusted() > SMALLEST_EXPONENT:
        raise _meaningless()
    if number.adjusted() < -SMALLEST_EXPONENT:
        away_from_zero = (rounding == ROUND_CEILING) == (number > 0)
        nearest = Fraction(1, 10**SMALLEST_EXPONENT) if away_from_zero else Fraction(0)
        return nearest if number > 0 else -nearest
    return Fraction(_context(rounding, digits).plus(number))


# The first 60 digits; the true value is above them by less than one unit of the last.
PI = Interval(
    Decimal("3.14159265358979323846264338327950288419716939937510582097494"),
    Decimal("3.14159265358979323846264338327950288419716939937510582097495"),
)
