"""What numbers look like in text: exact, or said to be about."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ameles.core.parameters import (
    shown,
)


def read_back(text: str) -> Fraction:
    return Fraction(text.removeprefix("about "))


@given(st.fractions() | st.fractions(max_denominator=1000) | st.integers().map(Fraction))
def test_a_shown_number_is_exact_or_says_about(number: Fraction) -> None:
    text = shown(number)
    assert text.startswith("about ") or read_back(text) == number


@given(
    st.integers(-(10**60), 10**60).filter(bool),
    st.integers(1, 10**60),
    st.integers(-800, 800),
)
def test_about_is_close_whatever_the_size(top: int, bottom: int, exponent: int) -> None:
    number = Fraction(top, bottom) * Fraction(10) ** exponent
    # Three significant digits are the fewest printed: half a unit of the third is 0.5%.
    assert abs(read_back(shown(number)) / number - 1) <= Fraction(1, 200)


@given(st.fractions(), st.integers(-800, 800))
def test_a_shown_number_is_short(number: Fraction, exponent: int) -> None:
    assert len(shown(number * Fraction(10) ** exponent)) <= 25  # a sign and 24 digits


def test_a_positive_number_is_never_shown_as_zero() -> None:
    assert shown(Fraction(1, 10**400)) == "about 1e-400"
    assert shown(Fraction(-1, 10**400)) == "about -1e-400"


def test_a_number_beyond_what_python_prints_is_shown_too() -> None:
    assert shown(Fraction(10**5000)) == "about 1e+5000"
    assert shown(Fraction(10**5000, 10**5000 + 1)) == "about 1"


def test_rounding_to_six_digits_without_about_would_be_a_lie() -> None:
    # The planted alternative: what a format string alone would print.
    third = Fraction(1, 3)
    assert Fraction(f"{float(third):.6g}") != third == Fraction(shown(third))
