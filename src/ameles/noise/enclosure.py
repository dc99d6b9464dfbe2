"""Real numbers as pairs of integers that surely enclose them, at any precision.

An enclosure of a real number r is a function that, for a number of bits, gives integers
(low, high) with ``low <= r * 2**bits <= high``, a few units apart.  Comparing a uniform
random real with r then takes as many bits as necessary, and is never wrong.

>>> low, high = exp_minus(Fraction(1), 64)
>>> low / 2**64, high - low
(0.36787944117144233, 3)
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

Enclosure: TypeAlias = Callable[[int], tuple[int, int]]


def exp_minus(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers around exp(-x) * 2**bits, for x >= 0."""
    if x == 0:
        return 1 << bits, 1 << bits
    if x > bits:  # exp(-x) < 2**-bits
        return 0, 1
    # decimal's exp is correctly rounded.  Rounding x <= bits moves exp(-x) by a relative bits
    # units of 10**(1 - digits), rounding the result and the product by one unit each; with
    # these digits, that is less than 1/1000 of a unit of 2**-bits.
    digits = bits * 302 // 1000 + len(str(bits)) + 6
    context = Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    near = context.divide(Decimal(-x.numerator), Decimal(x.denominator)).exp(context)
    units = int(context.multiply(near, Decimal(1 << bits)))
    return max(units - 1, 0), min(units + 2, 1 << bits)


def rational(p: Fraction) -> Enclosure:
    """A rational number as an enclosure: as narrow as can be."""

    def at(bits: int) -> tuple[int, int]:
        units, rest = divmod(p.numerator << bits, p.denominator)
        return units, units + (rest > 0)

    return at
