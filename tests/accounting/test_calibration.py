from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.calibration import gaussian_variance, gaussian_variance_for, laplace_scale
from ameles.accounting.concentrated import zcdp_delta, zcdp_rho
from ameles.accounting.conversion import zcdp_of_gaussian
from ameles.core.exceptions import BadInput

amounts = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000)
deltas = st.integers(1, 15).map(lambda places: Fraction(1, 10**places))


@given(amounts, amounts)
def test_laplace_and_gaussian_are_exact(amount: Fraction, sensitivity: Fraction) -> None:
    assert laplace_scale(epsilon=amount, sensitivity=sensitivity) * amount == sensitivity
    variance = gaussian_variance(rho=amount, sensitivity=sensitivity)
    assert zcdp_of_gaussian(sensitivity=sensitivity, variance=variance).rho == amount
    assert gaussian_variance(rho=amount, squared_sensitivity=sensitivity**2) == variance


@pytest.mark.parametrize(("tight", "sigma"), [(True, 4.531), (False, 5.350)])
def test_frontier_sigma(tight: bool, sigma: float) -> None:
    variance = gaussian_variance_for(epsilon=1, delta="1e-6", sensitivity=1, tight=tight)
    assert round(math.sqrt(variance), 3) == sigma


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=20, max_denominator=100),
    deltas,
    st.integers(1, 10**6),
    st.booleans(),
)
def test_enough_noise_and_hardly_more(
    epsilon: Fraction, delta: Fraction, sensitivity: int, tight: bool
) -> None:
    variance = gaussian_variance_for(
        epsilon=epsilon, delta=delta, sensitivity=sensitivity, tight=tight
    )
    rho = zcdp_of_gaussian(sensitivity=sensitivity, variance=variance).rho
    allowed = zcdp_rho(epsilon=epsilon, delta=delta, tight=tight)
    assert allowed * (1 - Fraction(1, 10**11)) <= rho <= allowed
    spent = zcdp_delta(rho=rho, epsilon=epsilon, tight=tight)
    assert spent <= delta
    assert len(str(variance.numerator)) + len(str(variance.denominator)) <= 40


def test_a_variance_rounded_to_nearest_would_be_caught() -> None:
    # Planted: two digits to nearest; 4.53 squared is 20.5, the true variance 20.5289.
    rho = zcdp_of_gaussian(sensitivity=1, variance="20.5").rho
    assert rho > zcdp_rho(epsilon=1, delta="1e-6")
    assert zcdp_delta(rho=rho, epsilon=1) > Fraction(1, 10**6)


def test_refusals() -> None:
    with pytest.raises(BadInput, match="Exactly one of"):
        gaussian_variance(rho=1)
    with pytest.raises(BadInput, match="Exactly one of"):
        gaussian_variance(rho=1, sensitivity=1, squared_sensitivity=1)
    with pytest.raises(BadInput, match="'sensitivity' parameter must be above zero"):
        laplace_scale(epsilon=1, sensitivity=0)
    with pytest.raises(BadInput, match="'epsilon' parameter must be above zero"):
        laplace_scale(epsilon=0, sensitivity=1)
    with pytest.raises(BadInput, match="'rho'"):
        gaussian_variance(rho=-1, sensitivity=1)
