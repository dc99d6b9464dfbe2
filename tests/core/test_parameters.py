"""Parameters: what a person writes is what is held, and everything else is refused."""

from __future__ import annotations

import copy
import math
import time
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
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
    Bound,
    Contributions,
    Epsilon,
    Horizon,
    Number,
    OptionalHorizon,
    Parameter,
    Whole,
    Width,
    exact,
    refuse,
    shown,
    whole,
)

from .transport import sent


@dataclass(frozen=True, kw_only=True)
class Example:
    """One field of each kind, as recipes declare them."""

    epsilon: Epsilon = Epsilon()
    half: Number = Number(0, 1, "0.5")
    horizon: Horizon = Horizon()
    limit: OptionalHorizon = OptionalHorizon()
    width: Width = Width()
    steps: Contributions = Contributions()
    bound: Bound = Bound()


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


# --- numbers ---------------------------------------------------------------------------


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


@pytest.mark.parametrize("value", REFUSED, ids=label)
def test_what_is_not_a_usable_number_is_refused_as_both_kinds_of_error(value: Any) -> None:
    with pytest.raises(BadInput) as refused:
        epsilon_of(value)
    assert isinstance(refused.value, AmelesError)
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize("value", REFUSED, ids=label)
def test_a_refusal_names_the_parameter_its_range_and_what_was_given(value: Any) -> None:
    with pytest.raises(BadInput) as refused:
        epsilon_of(value)
    text = sentence(refused)
    assert text.startswith("The 'epsilon' parameter must be ")
    assert "from 1e-09 to 1000" in text
    assert " Got " in text
    assert text.endswith(" instead.")


@pytest.mark.parametrize("value", REFUSED, ids=label)
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


# --- whole numbers ---------------------------------------------------------------------


@pytest.mark.parametrize("value", [1, 2**40, np.int64(7), np.uint8(7), np.array(7)], ids=label)
def test_a_whole_number_is_held_as_a_plain_int(value: Any) -> None:
    held = Example(epsilon=1, horizon=value).horizon
    assert held == int(value)
    assert type(held) is int


@pytest.mark.parametrize("value", NOT_WHOLE, ids=label)
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


# --- fields of frozen dataclasses ------------------------------------------------------

EXAMPLE = Example(epsilon="0.1", horizon=8)


def test_defaults_are_checked_and_converted_as_given_values_are() -> None:
    assert EXAMPLE.half == Fraction(1, 2)
    assert (EXAMPLE.limit, EXAMPLE.width, EXAMPLE.steps, EXAMPLE.bound) == (None, None, 1, 1)


def test_a_default_out_of_range_is_found_when_it_is_used() -> None:
    @dataclass(frozen=True)
    class Wrong:
        count: Whole = Whole(1, 5, 6)

    with pytest.raises(BadInput, match="'count'"):
        Wrong()


def test_a_field_without_a_default_is_required() -> None:
    make: Any = Example
    with pytest.raises(TypeError, match="epsilon"):
        make(horizon=8)


def test_dataclasses_sees_the_same_fields_that_were_declared() -> None:
    names = [each.name for each in fields(Example)]
    assert names == ["epsilon", "half", "horizon", "limit", "width", "steps", "bound"]


def test_a_field_cannot_be_assigned_or_deleted() -> None:
    writable: Any = EXAMPLE
    with pytest.raises(FrozenInstanceError):
        writable.epsilon = 2
    with pytest.raises(FrozenInstanceError):
        del writable.epsilon
    assert EXAMPLE.epsilon == Fraction(1, 10)


def test_replace_converts_and_checks_again() -> None:
    assert replace(EXAMPLE, epsilon=0.2).epsilon == Fraction(1, 5)
    with pytest.raises(BadInput, match="'epsilon'"):
        replace(EXAMPLE, epsilon=0)


def test_equal_parameters_make_equal_objects_with_equal_hashes() -> None:
    eight: Any = np.int64(8)
    same = Example(epsilon=Decimal("0.1"), horizon=eight, half=0.5)
    assert same == EXAMPLE
    assert hash(same) == hash(EXAMPLE)
    assert len({same, EXAMPLE}) == 1


@pytest.mark.parametrize("name", [each.name for each in fields(Example)])
def test_any_other_parameter_makes_another_object(name: str) -> None:
    other: Any = {name: "1/7" if name in ("epsilon", "half") else 5}
    assert replace(EXAMPLE, **other) != EXAMPLE


def test_the_repr_shows_every_field_at_its_exact_value() -> None:
    assert repr(EXAMPLE) == (
        "Example(epsilon=Fraction(1, 10), half=Fraction(1, 2), horizon=8, limit=None, "
        "width=None, steps=1, bound=1)"
    )


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, sent])
def test_a_copy_is_equal_and_as_frozen(again: Any) -> None:
    made = again(EXAMPLE)
    assert made == EXAMPLE
    assert hash(made) == hash(EXAMPLE)
    with pytest.raises(FrozenInstanceError):
        made.epsilon = 2


def test_a_half_built_object_lacks_the_attribute_in_the_usual_way() -> None:
    hollow = object.__new__(Example)
    assert not hasattr(hollow, "epsilon")
    assert getattr(hollow, "half", "unset") == "unset"


def test_two_objects_of_one_class_do_not_share_values() -> None:
    first, second = Example(epsilon=1, horizon=1), Example(epsilon=2, horizon=2)
    assert (first.horizon, second.horizon) == (1, 2)


def test_a_subclass_inherits_its_parameters_and_may_add_some() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Further(Example):
        depth: Whole = Whole(1, 9, 2)

    further = Further(epsilon="1/3", horizon=4)
    assert (further.epsilon, further.depth) == (Fraction(1, 3), 2)
    with pytest.raises(BadInput, match="'depth'"):
        replace(further, depth=10)


def test_an_inherited_whole_number_is_an_int_for_mypy_too() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Heir(Example):
        def most(self) -> int:
            return min(self.steps * self.bound, self.horizon)

    assert Heir(epsilon=1, horizon=8, steps=5, bound=2).most() == 8


def test_a_field_that_is_no_parameter_is_not_checked() -> None:
    # The planted alternative: without the descriptor, nonsense is held without a word.
    @dataclass(frozen=True)
    class Trusting:
        epsilon: float = field(default=math.nan)

    assert math.isnan(Trusting().epsilon)


def test_a_parameter_needs_its_own_check() -> None:
    abstract: Any = Parameter
    with pytest.raises(TypeError, match="abstract"):
        abstract()


# --- what numbers look like in text ----------------------------------------------------


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


def test_a_refusal_can_say_why() -> None:
    problem = refuse("width", "at least 1", 0, why="there is nothing to count")
    assert str(problem).splitlines() == [
        "error[input]: The 'width' parameter must be at least 1. Got 0 instead.",
        "  why: there is nothing to count",
    ]
