"""Enclosures hold the number that they are of, at every precision, and hold it closely."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal, DefaultContext, Inexact, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ameles.noise.enclosure import exp_minus, rational

# 120 digits where the result is near 1; the exponents of the tests need no others.
DIGITS = Context(prec=120, Emin=-(10**15), Emax=10**15)


def encloses(ends: tuple[int, int], x: Fraction, bits: int) -> bool:
    """Whether exp(-x) * 2**bits is between the ends, by 120 digits."""
    with localcontext(DIGITS):
        truth = (Decimal(-x.numerator) / Decimal(x.denominator)).exp() * (1 << bits)
        slack = truth * Decimal(10) ** -110
        return ends[0] - slack <= truth <= ends[1] + slack


magnitudes = st.builds(
    lambda mantissa, exponent: mantissa * Fraction(2) ** exponent,
    st.fractions(Fraction(1, 2), 1, max_denominator=10**12),
    st.integers(-300, 12),
)


@given(x=magnitudes, bits=st.integers(0, 300))
@example(x=Fraction(1), bits=0)
@example(x=Fraction(64), bits=64)
@example(x=Fraction(64) + Fraction(1, 10**9), bits=64)
@example(x=Fraction(1, 1 << 66), bits=64)
@example(x=Fraction(299999, 1000), bits=300)
def test_exp_is_between_its_ends(x: Fraction, bits: int) -> None:
    low, high = exp_minus(x, bits)
    assert encloses((low, high), x, bits)
    assert 0 <= low <= high <= 1 << bits
    assert high - low <= 3


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(5, 7), Fraction(20)])
def test_ends_that_are_off_by_a_few_units_are_seen(x: Fraction) -> None:
    low, high = exp_minus(x, 300)
    assert not encloses((low - 4, high - 4), x, 300)
    assert not encloses((low + 4, high + 4), x, 300)


@pytest.mark.parametrize("bits", [0, 1, 64, 1000])
def test_exp_of_zero_is_one(bits: int) -> None:
    assert exp_minus(Fraction(0), bits) == (1 << bits, 1 << bits)


@pytest.mark.parametrize("bits", [0, 64, 1000])
@pytest.mark.parametrize("x", [1001, 1 << 100, 10**1000])
def test_exp_of_a_huge_number_is_nearly_nothing_but_not_nothing(x: int, bits: int) -> None:
    assert exp_minus(Fraction(x), bits) == (0, 1)


@pytest.mark.parametrize("x", [Fraction(1, 10**5000), Fraction(1, 1 << 100)])
def test_exp_of_almost_zero_is_at_most_one(x: Fraction) -> None:
    # Its upper end once passed 2**64, where no word can be compared with it.
    assert exp_minus(x, 64) == ((1 << 64) - 1, 1 << 64)


def test_many_bits_settle_what_few_leave_open() -> None:
    x = Fraction(1, 1 << 100)
    low, high = exp_minus(x, 400)
    assert (1 << 400) - (1 << 300) <= low < high < 1 << 400
    assert high - low == 3


def test_the_digits_of_the_surroundings_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = exp_minus(Fraction(50), 200)
    monkeypatch.setattr(DefaultContext, "Emin", -3)
    monkeypatch.setitem(DefaultContext.traps, Inexact, True)
    with localcontext(Context(prec=3, rounding=ROUND_CEILING, traps=[Inexact])):
        assert exp_minus(Fraction(50), 200) == expected


@given(
    p=st.fractions(0, 1, max_denominator=10**20),
    bits=st.integers(0, 200),
)
def test_a_rational_number_is_enclosed_as_closely_as_can_be(p: Fraction, bits: int) -> None:
    low, high = rational(p)(bits)
    assert (low, high) == (math.floor(p * (1 << bits)), math.ceil(p * (1 << bits)))
