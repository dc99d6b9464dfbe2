"""A second opinion: the same numbers at 80 digits, without the code under test.

``outward`` is the one judge of rounding.  It is strict in one direction and generous by a
relative 1e-9 in the other; ``test_interval`` shows it the roundings that it must reject.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Literal

DIGITS = 80


@contextmanager
def many_digits() -> Iterator[None]:
    with localcontext(Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)):
        yield


def decimal(number: Fraction | int) -> Decimal:
    """A fraction as a decimal, in the context of the caller."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def outward(result: Fraction, truth: Decimal, direction: Literal["up", "down"]) -> bool:
    """Whether the result is on the safe side of the truth, and close to it."""
    if 0 < truth < Decimal("1e-300"):
        # Too small to be written out: a bound may be the smallest number, or nothing.
        return result == (Fraction(1, 10**300) if direction == "up" else 0)
    exact_truth = Fraction(truth)
    tolerance = abs(exact_truth) * Fraction(1, 10**9)
    if direction == "up":
        return exact_truth <= result <= exact_truth + tolerance
    return exact_truth - tolerance <= result <= exact_truth


def fraction_of_float(number: float) -> Fraction:
    """A float as a parameter with 15 digits."""
    return Fraction(f"{number:.15g}")
