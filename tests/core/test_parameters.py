"""Parameters: what a person writes is what is held, and everything else is refused."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.parameters import (
    LARGEST_DIGITS,
    Number,
    exact,
    refuse,
    whole,
)
from tests.core.parameters import Example
from tests.each import together


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


# What a number may be written as, and what it means.
MEANT: list[tuple[Any, Fraction]] = [
    (0.1, Fraction(1, 10)),
    ("0.1", Fraction(1, 10)),
    (" 0.10 ", Fraction(1, 10)),
    ("1e-1", Fraction(1, 10)),
    ("1/10", Fraction(1, 10)),
    (Decimal("0.1"), Fraction(1, 10)),
    (Fraction(1, 10), Fraction(1, 10)),
    (np.float64(0.1), Fraction(1, 10)),
    (np.float32(0.1), Fraction(1, 10)),  # its own shortest decimal form, not 0.100000001490116
    (np.float16(0.1), Fraction(1, 10)),
    (1, Fraction(1)),
    (1.0, Fraction(1)),
    (np.int64(3), Fraction(3)),
    (np.uint8(3), Fraction(3)),
    (np.array(3), Fraction(3)),
    (1e-9, Fraction(1, 10**9)),
    ("+1/3", Fraction(1, 3)),
]


NOT_NUMBERS: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    np.float64("nan"),
    np.float32("inf"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("-Infinity"),
    True,
    False,
    np.True_,
    None,
    1j,
    "",
    "abc",
    "nan",
    "inf",
    "1/0",
    "0/0",
    "1/2/3",
    "1 / 3",
    "0x10",
    "1,5",
    b"1",
    bytearray(b"1"),
    [1],
    (1,),
    {"epsilon": 1},
    np.array([1, 2]),
    np.array([0.5]),
    object,
    Unprintable(),
]
TOO_LONG: list[Any] = [
    "1e999",
    "1e-999",
    "1e999999999",
    "1e-999999999",
    "0e999999999",
    Decimal("1e999999"),
    Decimal("1e-999999"),
    Decimal((0, (1,) * 1_000_000, -1_000_000)),
    "9" * 1_000_000,
    "0." + "3" * 1_000_000,
    "x" * 1_000_000,
    10**100,
    -(10**100),
    10**5000,  # Python itself refuses to print this one
    Fraction(1, 10**5000),
    1e-300,
    5e-324,
    1e300,
    "0." + "3" * (LARGEST_DIGITS + 1),
]
OUT_OF_RANGE: list[Any] = [0, 0.0, -0.0, "0", -1, "-1", -0.1, Fraction(-1, 3), 1001, "1e-10"]
REFUSED = NOT_NUMBERS + TOO_LONG + OUT_OF_RANGE
NOT_WHOLE: list[Any] = [
    *NOT_NUMBERS,
    1.0,
    np.float64(1),
    "1",
    Decimal(1),
    Fraction(1),
    0,
    -1,
    2**40 + 1,
    10**5000,
]


def label(value: object) -> str:
    """A name for a test: never the whole of a long value, never its failing repr."""
    try:
        return f"{type(value).__name__}-{str(value)[:24]}"
    except (ValueError, RuntimeError):
        return type(value).__name__


def epsilon_of(value: Any) -> Fraction:
    return Example(epsilon=value, horizon=1).epsilon


def sentence(refused: pytest.ExceptionInfo[BadInput]) -> str:
    return refused.value.what


@pytest.mark.parametrize(("written", "meant"), MEANT, ids=label)
def test_a_number_means_what_was_written(written: Any, meant: Fraction) -> None:
    held = epsilon_of(written)
    assert held == meant
    assert type(held) is Fraction


def test_reading_the_bits_of_a_float_would_give_another_number() -> None:
    # The planted alternative: Fraction(0.1) is what the hardware holds, not what was typed.
    assert Fraction(0.1) != Fraction(1, 10) == exact(0.1, "epsilon")


@given(st.floats(min_value=1e-9, max_value=1000))
def test_a_float_and_its_text_are_the_same_number(number: float) -> None:
    assert exact(number, "epsilon") == exact(repr(number), "epsilon")
    assert float(exact(number, "epsilon")) == number


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=1000, max_denominator=10**30))
def test_a_fraction_and_its_text_are_the_same_number(number: Fraction) -> None:
    assert epsilon_of(number) == epsilon_of(str(number)) == number


@together("value", REFUSED)
def test_what_is_not_a_usable_number_is_refused_as_both_kinds_of_error(value: Any) -> None:
    with pytest.raises(BadInput) as refused:
        epsilon_of(value)
    assert isinstance(refused.value, AmelesError)
    assert isinstance(refused.value, ValueError)


@together("value", REFUSED)
def test_a_refusal_names_the_parameter_its_range_and_what_was_given(value: Any) -> None:
    with pytest.raises(BadInput) as refused:
        epsilon_of(value)
    text = sentence(refused)
    assert text.startswith("The 'epsilon' parameter must be ")
    assert "from 1e-09 to 1000" in text
    assert " Got " in text
    assert text.endswith(" instead.")


@together("value", REFUSED)
def test_a_refusal_is_one_short_line(value: Any) -> None:
    with pytest.raises(BadInput) as refused:
        epsilon_of(value)
    assert "\n" not in sentence(refused)
    assert len(sentence(refused)) < 250


@pytest.mark.parametrize("value", TOO_LONG, ids=label)
def test_a_number_with_too_many_digits_is_refused_at_once(value: Any) -> None:
    # Writing out 10**999999999 takes 400 MB and minutes; refusing takes microseconds.
    # One second leaves a slow machine four orders of magnitude.
    begun = time.process_time()
    with pytest.raises(BadInput, match=f"at most {LARGEST_DIGITS} digits"):
        epsilon_of(value)
    assert time.process_time() - begun < 1


@given(st.text(max_size=40) | st.text("0123456789.eE+-/_ ", max_size=40) | st.binary(max_size=20))
def test_any_text_is_a_number_in_range_or_refused(value: Any) -> None:
    try:
        held = epsilon_of(value)
    except BadInput:
        return
    assert Fraction(1, 10**9) <= held <= 1000


@given(
    st.floats() | st.complex_numbers() | st.integers() | st.decimals() | st.fractions() | st.none()
)
def test_any_number_is_held_in_range_or_refused(value: Any) -> None:
    try:
        held = epsilon_of(value)
    except BadInput:
        return
    assert Fraction(1, 10**9) <= held <= 1000


def test_the_ends_of_a_range_are_in_it() -> None:
    assert epsilon_of(1000) == 1000
    assert epsilon_of("1e-9") == Fraction(1, 10**9)


def test_a_range_is_told_exactly_even_where_six_digits_would_not_do() -> None:
    @dataclass(frozen=True)
    class Long:
        share: Number = Number(0, 1234567890123)

    with pytest.raises(BadInput, match="from 0 to 1234567890123"):
        Long(-1)


@pytest.mark.parametrize("value", [1, 2**40, np.int64(7), np.uint8(7), np.array(7)], ids=label)
def test_a_whole_number_is_held_as_a_plain_int(value: Any) -> None:
    held = Example(epsilon=1, horizon=value).horizon
    assert held == int(value)
    assert type(held) is int


@together("value", NOT_WHOLE)
def test_what_is_not_a_whole_number_in_range_is_refused_with_its_range(value: Any) -> None:
    with pytest.raises(BadInput) as refused:
        Example(epsilon=1, horizon=value)
    text = sentence(refused)
    assert text.startswith("The 'horizon' parameter must be a whole number from 1 to 1099511627776")
    assert text.endswith(" instead.")


@given(st.integers())
def test_an_integer_is_itself_or_out_of_range(value: int) -> None:
    if 1 <= value <= 100:
        assert whole(value, "width", low=1, high=100) == value
    else:
        with pytest.raises(BadInput, match="from 1 to 100"):
            whole(value, "width", low=1, high=100)


def test_none_is_kept_only_where_it_has_a_meaning() -> None:
    assert Example(epsilon=1, horizon=1, limit=None).limit is None
    unset: Any = None
    with pytest.raises(BadInput, match="'horizon'"):
        Example(epsilon=1, horizon=unset)


def test_a_refusal_can_say_why() -> None:
    problem = refuse("width", "at least 1", 0, why="there is nothing to count")
    assert str(problem).splitlines() == [
        "error[input]: The 'width' parameter must be at least 1. Got 0 instead.",
        "  why: there is nothing to count",
    ]
