from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.interval import PI, Interval
from ameles.core.exceptions import BadInput

from .oracle import decimal, many_digits, outward

numbers = st.fractions(min_value=-50, max_value=50, max_denominator=10**6)
positives = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**9)


def contains(interval: Interval, truth: Fraction) -> bool:
    return Fraction(interval.low) <= truth <= Fraction(interval.high)


@given(numbers, numbers)
def test_arithmetic_contains_the_exact_result(a: Fraction, b: Fraction) -> None:
    x, y = Interval.of(a), Interval.of(b)
    assert contains(x + y, a + b)
    assert contains(x - y, a - b)
    assert contains(x * y, a * b)
    assert contains(-x, -a)
    assert contains(3 - x, 3 - a)
    assert contains(a * y, a * b)
    if b:
        assert contains(x / y, a / b)
        assert contains(1 / y, 1 / b)


@given(numbers)
def test_exponentials_contain_the_truth(a: Fraction) -> None:
    with many_digits():
        grown = decimal(a).exp()
        truth = {
            "exp": grown,
            "exp_less_one": grown - 1,
            "half_tanh": (grown - 1) / (grown + 1),
        }
    for name, value in truth.items():
        interval: Interval = getattr(Interval.of(a), name)()
        assert interval.low <= value <= interval.high, name


@given(positives)
def test_roots_and_logarithms_round_outward(a: Fraction) -> None:
    with many_digits():
        log, side = decimal(a).ln(), decimal(a).sqrt()
    x = Interval.of(a)
    assert outward(x.sqrt().up(), side, "up")
    assert outward(x.sqrt().down(), side, "down")
    if a != 1:
        assert outward(x.ln().up(), log, "up")
        assert outward(x.ln().down(), log, "down")


@given(st.integers(min_value=11, max_value=45), st.sampled_from([1, -1]))
def test_exp_less_one_keeps_its_digits_near_zero(places: int, sign: int) -> None:
    small = Fraction(sign, 10**places)
    with many_digits():
        x = decimal(small)
        truth = x + x * x / 2 + x**3 / 6 + x**4 / 24 + x**5 / 120 + x**6 / 720 + x**7 / 5040
    interval = Interval.of(small).exp_less_one()
    assert outward(interval.up(), truth, "up")
    assert outward(interval.down(), truth, "down")


def test_pi_by_machins_formula() -> None:
    with many_digits():

        def arctan_of_inverse(n: int) -> Decimal:
            return sum(
                (Decimal((-1) ** k) / ((2 * k + 1) * Decimal(n) ** (2 * k + 1)) for k in range(70)),
                Decimal(0),
            )

        pi = 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)
    assert PI.low < pi < PI.high
    assert PI.high - PI.low == Decimal(10) ** -59


def test_the_judge_rejects_roundings_to_nearest_and_inward() -> None:
    with many_digits():
        truth = Decimal(2).sqrt()
    nearest = [Fraction(f"{truth:.{digits}f}") for digits in range(10, 22)]
    # Rounded to nearest, about half of the results are on the wrong side.
    wrong_up = sum(not outward(value, truth, "up") for value in nearest)
    wrong_down = sum(not outward(value, truth, "down") for value in nearest)
    assert wrong_up + wrong_down == len(nearest)
    assert min(wrong_up, wrong_down) >= 3
    assert not outward(Interval.of(2).sqrt().down(), truth, "up")
    assert not outward(Interval.of(2).sqrt().up() * (1 + Fraction(1, 10**8)), truth, "up")


@pytest.mark.parametrize("sign", [1, -1])
def test_results_have_fifteen_digits(sign: int) -> None:
    third = Interval.of(Fraction(sign, 3))
    assert third.up() - third.down() == Fraction(1, 10**15)
    assert third.up(2) == (Fraction(34, 100) if sign > 0 else Fraction(-33, 100))
    assert third.down(2) == (Fraction(33, 100) if sign > 0 else Fraction(-34, 100))
    assert Interval.of(0).up() == Interval.of(0).down() == 0


def test_what_is_too_small_stays_an_upper_bound() -> None:
    tiny = Interval.of(-(10**6)).exp()
    assert tiny.up() == Fraction(1, 10**300)
    assert tiny.down() == 0
    assert (-tiny).up() == 0
    assert (-tiny).down() == -Fraction(1, 10**300)
    vanished = Interval.of(-(10**30)).exp()
    assert vanished.low == 0
    assert vanished.up() == Fraction(1, 10**300)


@pytest.mark.parametrize(
    "result",
    [lambda: Interval.of(10**4).exp().up(), lambda: Interval.of(10**18).exp()],
)
def test_what_is_too_large_is_refused(result: Callable[[], object]) -> None:
    with pytest.raises(BadInput, match="above 1e300"):
        result()


def test_division_by_what_may_be_zero_fails() -> None:
    with pytest.raises(ZeroDivisionError):
        1 / (Interval.of(Fraction(1, 3)) - Fraction(1, 3))
