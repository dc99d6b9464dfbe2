from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.accounting.calibration import gaussian_variance_for
from ameles.accounting.concentrated import zcdp_delta
from ameles.accounting.continuous_gaussian import analytic_gaussian_delta, analytic_gaussian_sigma
from ameles.accounting.discrete_gaussian import (
    GRID_DIGITS,
    discrete_gaussian_delta,
    discrete_gaussian_variance,
)
from ameles.accounting.interval import Interval
from ameles.core.exceptions import BadInput

from .oracle import decimal, fraction_of_float, many_digits, outward

epsilons = st.fractions(min_value=0, max_value=10, max_denominator=100)
variances = st.fractions(min_value=Fraction(1, 20), max_value=60, max_denominator=100)


def enumerated(variance: Fraction, shift: int, epsilon: Fraction) -> Decimal:
    """Every integer that matters, one by one, at 80 digits."""
    with many_digits():
        reach = 22 * math.isqrt(math.ceil(variance)) + 2 * shift + math.ceil(10 * variance) + 20
        weights = {
            k: (-decimal(Fraction(k**2) / (2 * variance))).exp()
            for k in range(-reach, reach + shift + 1)
        }
        factor = decimal(epsilon).exp()
        surplus = (weights[k] - factor * weights[k + shift] for k in range(-reach, reach + 1))
        return sum((s for s in surplus if s > 0), Decimal(0)) / sum(weights.values(), Decimal(0))


@settings(max_examples=15)
@given(variances, st.integers(1, 12), epsilons)
def test_delta_is_outward(variance: Fraction, shift: int, epsilon: Fraction) -> None:
    delta = discrete_gaussian_delta(variance=variance, sensitivity=shift, epsilon=epsilon)
    truth = enumerated(variance, shift, epsilon)
    if truth > Decimal("1e-60"):  # beyond that, the 80 digits of the normaliser run out
        assert outward(delta, truth, "up")


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
@pytest.mark.parametrize("sigma", [5_000, 300_000, 2**40])
def test_wide_laws_are_near_the_continuous_one(sigma: int, epsilon: str) -> None:
    shift = sigma // 2
    delta = float(
        discrete_gaussian_delta(variance=Fraction(sigma) ** 2, sensitivity=shift, epsilon=epsilon)
    )
    smooth = analytic_gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=shift)
    assert smooth * (1 - 1e-6) <= delta <= smooth * 1.01


def test_the_stride_costs_little_and_stays_above() -> None:
    # 1100 is the first width with a stride of 2; the truth is the sum with a stride of 1.
    variance, shift = Fraction(1100**2), 300
    for epsilon in (Fraction(1, 2), Fraction(1)):
        delta = discrete_gaussian_delta(variance=variance, sensitivity=shift, epsilon=epsilon)
        floats = sum(
            max(
                0.0,
                math.exp(-(k**2) / 2.0 / 1100**2)
                - math.exp(float(epsilon) - (k + shift) ** 2 / 2.0 / 1100**2),
            )
            for k in range(-2000, 12_000)
        ) / (math.sqrt(2 * math.pi) * 1100)
        assert floats < float(delta) < floats * 1.005


@settings(max_examples=15)
@given(variances, st.integers(1, 10), epsilons)
def test_the_largest_shift_is_the_worst(variance: Fraction, shift: int, epsilon: Fraction) -> None:
    deltas = [
        discrete_gaussian_delta(variance=variance, sensitivity=s, epsilon=epsilon)
        for s in (shift, shift + 1)
    ]
    assert deltas[0] <= deltas[1]


@settings(max_examples=15)
@given(variances, epsilons)
def test_more_epsilon_is_less_delta_and_zcdp_is_above(
    variance: Fraction, epsilon: Fraction
) -> None:
    here, there = (
        discrete_gaussian_delta(variance=variance, sensitivity=1, epsilon=e)
        for e in (epsilon, epsilon + 1)
    )
    assert there <= here
    assert here <= zcdp_delta(rho=1 / (2 * variance), epsilon=epsilon)


@pytest.mark.parametrize(
    ("epsilon", "least", "most"),
    [("1", 1.01, 1.03), ("8", 2.5, 3.5)],  # the frontier's "2%" and "3 x"
)
def test_frontier_the_continuous_sigma_misses_its_delta(
    epsilon: str, least: float, most: float
) -> None:
    sigma = fraction_of_float(analytic_gaussian_sigma(epsilon=epsilon, delta="1e-6"))
    if epsilon == "1":
        assert round(float(sigma), 4) == 4.2247
    delta = discrete_gaussian_delta(variance=sigma**2, sensitivity=1, epsilon=epsilon)
    assert least < float(delta) * 1e6 < most


def rejected(calibrate: Callable[[Fraction, Fraction], Fraction]) -> bool:
    """Whether some calibrated variance leaks more than its delta, counted integer by integer."""
    for epsilon in (Fraction(1), Fraction(4), Fraction(8)):
        delta = Fraction(1, 10**6)
        truth = enumerated(calibrate(epsilon, delta), 1, epsilon)
        if Fraction(truth) > delta:
            return True
    return False


def test_our_calibration_holds_and_the_continuous_one_does_not() -> None:
    def ours(epsilon: Fraction, delta: Fraction) -> Fraction:
        return discrete_gaussian_variance(epsilon=epsilon, delta=delta, sensitivity=1)

    def proven(epsilon: Fraction, delta: Fraction) -> Fraction:
        return gaussian_variance_for(epsilon=epsilon, delta=delta, sensitivity=1)

    def continuous(epsilon: Fraction, delta: Fraction) -> Fraction:
        return fraction_of_float(analytic_gaussian_sigma(epsilon=epsilon, delta=delta)) ** 2

    assert not rejected(ours)
    assert not rejected(proven)
    assert rejected(continuous)  # planted


@settings(max_examples=10)
@given(
    st.fractions(min_value=Fraction(1, 10), max_value=20, max_denominator=10),
    st.integers(1, 9).map(lambda places: Fraction(1, 10**places)),
    st.integers(1, 20),
)
def test_a_variance_passes_and_the_next_smaller_one_fails(
    epsilon: Fraction, delta: Fraction, shift: int
) -> None:
    variance = discrete_gaussian_variance(epsilon=epsilon, delta=delta, sensitivity=shift)
    proven = gaussian_variance_for(epsilon=epsilon, delta=delta, sensitivity=shift)
    assert variance <= proven * (1 + Fraction(2, 10 ** (GRID_DIGITS - 1)))

    def leaks(v: Fraction) -> bool:
        return discrete_gaussian_delta(variance=v, sensitivity=shift, epsilon=epsilon) > delta

    assert not leaks(variance)
    grid = Interval.of(proven / 10 ** (GRID_DIGITS - 1)).up(digits=1)
    assert variance % grid == 0
    assert leaks(variance - grid)


def test_delta_is_not_monotone_in_the_variance() -> None:
    deltas = [
        discrete_gaussian_delta(variance=v, sensitivity=1, epsilon=8)
        for v in ("0.06", "0.0625", "0.07")
    ]
    assert deltas[1] < deltas[2] < deltas[0]
    assert deltas[2] > deltas[1] * 2


def test_the_walk_does_not_stop_in_a_dip() -> None:
    # At (8, 5e-4) the variance 1/16 passes, but a little more noise does not.
    target = Fraction(5, 10**4)
    assert discrete_gaussian_delta(variance="0.0625", sensitivity=1, epsilon=8) < target
    variance = discrete_gaussian_variance(epsilon=8, delta=target, sensitivity=1)
    assert variance > Fraction(1, 10)
    assert all(
        discrete_gaussian_delta(variance=variance * factor, sensitivity=1, epsilon=8) <= target
        for factor in (Fraction(n, 100) for n in range(100, 160, 4))
    )


def test_extremes() -> None:
    tiny = discrete_gaussian_delta(variance="1e-30", sensitivity=1, epsilon=1)
    assert tiny == 1
    assert discrete_gaussian_delta(variance="1e30", sensitivity=1, epsilon=1) > 0
    for sigma in (1, 50, 10**4):
        far = discrete_gaussian_delta(variance=sigma**2, sensitivity=2**40, epsilon=1000)
        assert far >= 1 - Fraction(1, 10**12)
    assert discrete_gaussian_delta(variance=100, sensitivity=1, epsilon=1000) == Fraction(
        1, 10**300
    )


def test_refusals() -> None:
    with pytest.raises(BadInput, match="'variance'"):
        discrete_gaussian_delta(variance=0, sensitivity=1, epsilon=1)
    with pytest.raises(BadInput, match="'sensitivity'"):
        discrete_gaussian_delta(variance=1, sensitivity=0, epsilon=1)
    with pytest.raises(BadInput, match="'delta'"):
        discrete_gaussian_variance(epsilon=1, delta=0, sensitivity=1)
    with pytest.raises(BadInput, match="'epsilon'"):
        discrete_gaussian_variance(epsilon=0, delta="0.1", sensitivity=1)
