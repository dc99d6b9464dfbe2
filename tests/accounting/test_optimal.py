from __future__ import annotations

import math
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc

from ameles.accounting.divergence import hockey_stick_at
from ameles.accounting.optimal import optimal_delta, optimal_each, optimal_epsilon
from ameles.core.exceptions import BadInput

from .oracle import decimal, fraction_of_float, many_digits, outward

E_TO_MINUS_32 = fraction_of_float(math.exp(-32))
steps = st.fractions(min_value=Fraction(1, 1000), max_value=3, max_denominator=1000)
counts = st.integers(1, 60)


def formula(each: Fraction, count: int, epsilon: Fraction) -> Decimal:
    """The catalogue's sum, term by term, at 80 digits."""
    with many_digits():
        p = decimal(each).exp() / (1 + decimal(each).exp())
        total = Decimal(0)
        for j in range(count + 1):
            exponent = epsilon - (2 * j - count) * each
            if exponent < 0:
                mass = math.comb(count, j) * p**j * (1 - p) ** (count - j)
                total += mass * (1 - decimal(exponent).exp())
        return total


@given(steps, counts, st.fractions(min_value=0, max_value=1, max_denominator=97))
def test_delta_is_outward(each: Fraction, count: int, share: Fraction) -> None:
    epsilon = share * count * each
    delta = optimal_delta(each=each, count=count, epsilon=epsilon)
    truth = formula(each, count, epsilon)
    assert delta == 0 if truth == 0 else outward(delta, truth, "up")


@given(steps, counts, st.integers(1, 25).map(lambda places: Fraction(1, 10**places)))
def test_epsilon_is_outward(each: Fraction, count: int, delta: Fraction) -> None:
    epsilon = optimal_epsilon(each=each, count=count, delta=delta)
    assert epsilon <= count * each
    below = epsilon * (1 - Fraction(1, 10**12))
    tolerance = Decimal(1) + Decimal("1e-70")
    with many_digits():
        assert formula(each, count, epsilon) <= decimal(delta) * tolerance
        assert epsilon == 0 or formula(each, count, below) > decimal(delta)


def enumerated(ratio: int, count: int, at: Fraction) -> Fraction:
    """The delta of ``count`` randomized responses, outcome by outcome, in exact fractions."""
    law, other = {}, {}
    for answers in product((0, 1), repeat=count):
        ones = sum(answers)
        law[answers] = Fraction(ratio**ones, (ratio + 1) ** count)
        other[answers] = Fraction(ratio ** (count - ones), (ratio + 1) ** count)
    return hockey_stick_at(law, other, ratio=at)


@pytest.mark.parametrize("ratio", [2, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_randomized_response_attains_it(ratio: int, count: int) -> None:
    each = fraction_of_float(math.log(ratio))
    for at in (Fraction(1), Fraction(3, 2), Fraction(ratio), Fraction(5), Fraction(ratio**count)):
        truth = float(enumerated(ratio, count, at))
        epsilon = fraction_of_float(math.log(at))
        delta = float(optimal_delta(each=each, count=count, epsilon=epsilon))
        assert delta == pytest.approx(truth, abs=1e-13)


def test_scipy_agrees_on_large_counts() -> None:
    # delta(E) = P(J >= j) - exp(E) Q(J >= j) from the first j on whose loss exceeds E.
    k, each, epsilon = 1000, 0.1, 12.0
    p = math.exp(each) / (1 + math.exp(each))
    first = math.floor((epsilon / each + k) / 2) + 1
    tails = [float(betainc(first, k - first + 1, chance)) for chance in (p, 1 - p)]
    truth = tails[0] - math.exp(epsilon) * tails[1]
    delta = float(optimal_delta(each=each, count=k, epsilon=epsilon))
    assert delta == pytest.approx(truth, rel=1e-9)


def test_catalogue_51_one_in_801_is_true_and_not_the_limit() -> None:
    delta = optimal_delta(each=Fraction(1, 801), count=10_000, epsilon=1)
    assert f"{float(delta):.2e}" == "1.38e-17"
    assert f"{float(E_TO_MINUS_32):.2e}" == "1.27e-14"
    sufficient = optimal_delta(each=1 / Fraction("715.6"), count=10_000, epsilon=1)
    assert sufficient <= E_TO_MINUS_32
    insufficient = optimal_delta(each=1 / Fraction("715.5"), count=10_000, epsilon=1)
    assert insufficient > E_TO_MINUS_32


def test_the_largest_share_is_between_those() -> None:
    each = optimal_each(count=10_000, epsilon=1, delta=E_TO_MINUS_32)
    assert 1 / Fraction("715.6") <= each < 1 / Fraction("715.5")
    assert optimal_delta(each=each, count=10_000, epsilon=1) <= E_TO_MINUS_32


@settings(max_examples=15)
@given(
    st.fractions(min_value=Fraction(1, 10), max_value=10, max_denominator=10),
    st.integers(1, 30),
    st.integers(1, 12).map(lambda places: Fraction(1, 10**places)),
)
def test_shares_are_allowed_and_nearly_the_largest(
    epsilon: Fraction, count: int, delta: Fraction
) -> None:
    each = optimal_each(count=count, epsilon=epsilon, delta=delta)
    more = each * (1 + Fraction(1, 10**7))
    assert optimal_delta(each=each, count=count, epsilon=epsilon) <= delta
    assert optimal_delta(each=more, count=count, epsilon=epsilon) > delta


@given(steps, counts)
def test_monotone(each: Fraction, count: int) -> None:
    epsilon = each * count / 3
    base = optimal_delta(each=each, count=count, epsilon=epsilon)
    assert base <= optimal_delta(each=each * 2, count=count, epsilon=epsilon)
    assert base <= optimal_delta(each=each, count=count + 1, epsilon=epsilon)
    assert base >= optimal_delta(each=each, count=count, epsilon=epsilon * 2)


def test_exact_where_it_can_be() -> None:
    assert optimal_epsilon(each="0.1", count=3, delta=0) == Fraction(3, 10)
    assert optimal_delta(each="0.1", count=3, epsilon="0.3") == 0
    assert optimal_epsilon(each=0, count=3, delta="0.1") == 0
    assert optimal_epsilon(each="0.1", count=3, delta="0.9") == 0
    assert optimal_each(count=4, epsilon=1, delta=0) == Fraction(1, 4)


def test_ten_thousand_in_well_under_a_second() -> None:
    """Of this process, whatever else the machine does."""
    started = time.process_time()
    optimal_epsilon(each="0.01", count=10_000, delta="1e-6")
    optimal_delta(each="0.01", count=10_000, epsilon=5)
    assert time.process_time() - started < 1  # measured: 0.07 s


def understates(delta_of: Callable[[Fraction, int, Fraction], Fraction]) -> bool:
    """Whether k randomized responses with ratio 2 leak more than this claims."""
    each = fraction_of_float(0.693147180559946)  # ln 2, rounded up
    return any(
        delta_of(each, count, fraction_of_float(0.405465108108164)) < enumerated(2, count, at)
        for count in (2, 3, 4)
        for at in (Fraction(3, 2),)  # exp of the epsilon above, which is rounded down
    )


def test_a_sum_that_stops_one_term_early_is_caught() -> None:
    def broken(each: Fraction, count: int, epsilon: Fraction) -> Fraction:
        whole = optimal_delta(each=each, count=count, epsilon=epsilon)
        all_right = Fraction(math.exp(each * count) / (1 + math.exp(each)) ** count)
        return whole - all_right * Fraction(-math.expm1(epsilon - count * each))

    assert not understates(
        lambda each, count, epsilon: optimal_delta(each=each, count=count, epsilon=epsilon)
    )
    assert understates(broken)


def test_refusals() -> None:
    with pytest.raises(BadInput, match="'count'"):
        optimal_delta(each=1, count=0, epsilon=1)
    with pytest.raises(BadInput, match="'count'"):
        optimal_delta(each=1, count=10**6 + 1, epsilon=1)
    with pytest.raises(BadInput, match="'delta'"):
        optimal_epsilon(each=1, count=1, delta=1)
    with pytest.raises(BadInput, match="'epsilon'"):
        optimal_each(count=1, epsilon=0, delta="0.1")


def test_a_whole_epsilon_for_each_is_composed_like_any_other() -> None:
    almost = optimal_epsilon(each="0.999999", count=10, delta="0.1")
    assert optimal_epsilon(each=1, count=10, delta="0.1") == pytest.approx(float(almost), rel=1e-4)
    assert almost < 9
