from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ameles.accounting.concentrated import zcdp_delta, zcdp_epsilon, zcdp_rho
from ameles.accounting.continuous_gaussian import analytic_gaussian_delta
from ameles.core.exceptions import BadInput

from .oracle import decimal, many_digits, outward

rhos = st.fractions(min_value=Fraction(1, 10**6), max_value=200, max_denominator=10**9)
deltas = st.integers(1, 30).map(lambda places: Fraction(1, 10**places)) | st.just(Fraction(3, 10))
epsilons = st.fractions(min_value=Fraction(1, 100), max_value=60, max_denominator=1000)


def tight_epsilon(rho: Fraction, delta: Fraction) -> Decimal:
    """The same minimum, at 80 digits, by golden sections that know no derivative."""
    with many_digits():
        r, surprise = decimal(rho), -decimal(delta).ln()

        def value(log_excess: Decimal) -> Decimal:
            x = log_excess.exp()
            return (1 + x) * r + (surprise - (1 + x).ln()) / x + x.ln() - (1 + x).ln()

        return max(Decimal(0), golden(value, Decimal(-20), Decimal(40)))


def golden(value: Callable[[Decimal], Decimal], low: Decimal, high: Decimal) -> Decimal:
    ratio = (Decimal(5).sqrt() - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(75):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = value(right)
    return min(at_left, at_right)


@settings(max_examples=15)
@given(rhos, deltas)
def test_epsilon_is_outward_and_the_minimum(rho: Fraction, delta: Fraction) -> None:
    epsilon = zcdp_epsilon(rho=rho, delta=delta)
    truth = tight_epsilon(rho, delta)
    assert epsilon == 0 if truth == 0 else outward(epsilon, truth, "up")


@given(rhos, deltas)
def test_simple_epsilon_is_outward(rho: Fraction, delta: Fraction) -> None:
    with many_digits():
        r = decimal(rho)
        truth = r + 2 * (-r * decimal(delta).ln()).sqrt()
    assert outward(zcdp_epsilon(rho=rho, delta=delta, tight=False), truth, "up")


@settings(max_examples=15)
@given(rhos, epsilons)
def test_delta_is_outward_and_the_minimum(rho: Fraction, epsilon: Fraction) -> None:
    with many_digits():
        r, e = decimal(rho), decimal(epsilon)

        def logarithm(log_excess: Decimal) -> Decimal:
            x = log_excess.exp()
            return x * ((1 + x) * r - e) + x * x.ln() - (1 + x) * (1 + x).ln()

        truth = min(Decimal(1), golden(logarithm, Decimal(-120), Decimal(40)).exp())
    assert outward(zcdp_delta(rho=rho, epsilon=epsilon), truth, "up")


@given(rhos, epsilons)
def test_simple_delta_is_outward(rho: Fraction, epsilon: Fraction) -> None:
    bound = zcdp_delta(rho=rho, epsilon=epsilon, tight=False)
    if epsilon <= rho:
        assert bound == 1
        return
    with many_digits():
        truth = (-((decimal(epsilon) - decimal(rho)) ** 2) / (4 * decimal(rho))).exp()
    assert outward(bound, truth, "up")


@settings(max_examples=15)
@given(epsilons, deltas, st.booleans())
def test_rho_is_allowed_and_nearly_the_largest(
    epsilon: Fraction, delta: Fraction, tight: bool
) -> None:
    rho = zcdp_rho(epsilon=epsilon, delta=delta, tight=tight)
    more = rho * (1 + Fraction(1, 10**9))
    assert zcdp_epsilon(rho=rho, delta=delta, tight=tight) <= epsilon * (1 + Fraction(1, 10**13))
    assert zcdp_epsilon(rho=more, delta=delta, tight=tight) > epsilon
    if tight:
        assert tight_epsilon(rho, delta) <= decimal_up(epsilon)


def decimal_up(number: Fraction) -> Decimal:
    with many_digits():
        return decimal(number) + Decimal(10) ** -75


@given(rhos, rhos, deltas, st.booleans())
def test_more_rho_is_more_epsilon_and_more_delta(
    one: Fraction, two: Fraction, delta: Fraction, tight: bool
) -> None:
    less, more = sorted((one, two))
    assert zcdp_epsilon(rho=less, delta=delta, tight=tight) <= zcdp_epsilon(
        rho=more, delta=delta, tight=tight
    )
    assert zcdp_delta(rho=less, epsilon=3, tight=tight) <= zcdp_delta(
        rho=more, epsilon=3, tight=tight
    )


@given(rhos, deltas)
def test_tight_is_at_most_simple(rho: Fraction, delta: Fraction) -> None:
    assert zcdp_epsilon(rho=rho, delta=delta) <= zcdp_epsilon(rho=rho, delta=delta, tight=False)


@given(epsilons, deltas)
def test_tight_allows_more_rho_than_simple(epsilon: Fraction, delta: Fraction) -> None:
    assert zcdp_rho(epsilon=epsilon, delta=delta) >= zcdp_rho(
        epsilon=epsilon, delta=delta, tight=False
    )


@pytest.mark.parametrize(("tight", "sigma"), [(True, 4.531), (False, 5.350)])
def test_sigma_of_the_frontier(tight: bool, sigma: float) -> None:
    rho = zcdp_rho(epsilon=1, delta="1e-6", tight=tight)
    assert round(math.sqrt(1 / (2 * rho)), 3) == sigma


def test_scipy_finds_no_better_alpha() -> None:
    for rho, epsilon in [(0.5, 3.0), (0.01, 1.0), (2.0, 9.0)]:

        def logarithm(log_excess: float, rho: float = rho, epsilon: float = epsilon) -> float:
            x = math.exp(log_excess)
            return x * ((1 + x) * rho - epsilon) + x * math.log(x) - (1 + x) * math.log1p(x)

        best = minimize_scalar(logarithm, bounds=(-10, 10), method="bounded")
        bound = float(zcdp_delta(rho=rho, epsilon=epsilon))
        assert math.isclose(bound, math.exp(best.fun), rel_tol=1e-8)


def understates_a_gaussian(convert: Callable[[Fraction, Fraction], Fraction]) -> bool:
    """Gaussian noise is exactly rho-zCDP: no valid delta is below its own."""
    return any(
        float(convert(rho, epsilon))
        < analytic_gaussian_delta(epsilon=epsilon, sigma=1 / math.sqrt(2 * rho))
        for rho in (Fraction(1, 100), Fraction(1, 2), Fraction(4))
        for epsilon in (Fraction(1, 2), Fraction(1), Fraction(5), Fraction(12))
    )


def test_no_conversion_promises_more_than_a_gaussian_keeps() -> None:
    assert not understates_a_gaussian(lambda rho, e: zcdp_delta(rho=rho, epsilon=e))
    assert not understates_a_gaussian(lambda rho, e: zcdp_delta(rho=rho, epsilon=e, tight=False))
    # Planted: the order alpha forgotten in alpha * rho, and a rho halved.
    assert understates_a_gaussian(
        lambda rho, e: Fraction(min(1.0, math.exp(-(float(e - rho) ** 2) / float(rho))))
    )
    assert understates_a_gaussian(lambda rho, e: zcdp_delta(rho=rho / 2, epsilon=e))


def test_nothing_spent_is_nothing_lost() -> None:
    assert zcdp_epsilon(rho=0, delta="1e-6") == 0
    assert zcdp_delta(rho=0, epsilon=0) == 0


def test_extreme_parameters_stay_true() -> None:
    for places in (12, 40, 99):
        small = Fraction(1, 10**places)
        assert zcdp_epsilon(rho=small, delta=small) > 0
        assert zcdp_epsilon(rho=10**30, delta=small) >= 10**30
        assert zcdp_rho(epsilon=small, delta=Fraction(1, 10**6)) > 0
        assert zcdp_delta(rho=10**30, epsilon=1) == 1


def test_delta_zero_and_one_are_refused() -> None:
    for delta in (0, 1):
        with pytest.raises(BadInput, match="'delta'"):
            zcdp_epsilon(rho=1, delta=delta)
        with pytest.raises(BadInput, match="'delta'"):
            zcdp_rho(epsilon=1, delta=delta)
