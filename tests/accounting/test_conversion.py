from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.concentrated import zcdp_epsilon
from ameles.accounting.conversion import (
    to_approx,
    to_concentrated,
    zcdp_of_bounded_range,
    zcdp_of_gaussian,
    zcdp_of_pure,
)
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Pure

amounts = st.fractions(min_value=0, max_value=100, max_denominator=10**6)


@given(amounts)
def test_into_zcdp_is_exact(epsilon: Fraction) -> None:
    assert zcdp_of_pure(epsilon=epsilon) == Concentrated(epsilon**2 / 2)
    assert zcdp_of_bounded_range(epsilon=epsilon) == Concentrated(epsilon**2 / 8)
    assert to_concentrated(Pure(epsilon)) == to_concentrated(Approx(epsilon, 0))


def test_catalogue_53_gaussian() -> None:
    assert zcdp_of_gaussian(sensitivity=3, variance=9) == Concentrated(Fraction(1, 2))
    assert zcdp_of_gaussian(sensitivity="0.5", variance=2) == Concentrated(Fraction(1, 16))


def renyi(law: list[float], other: list[float], alpha: float) -> float:
    moment = sum(p**alpha * q ** (1 - alpha) for p, q in zip(law, other, strict=True))
    return math.log(moment) / (alpha - 1)


def exceeded_by_randomized_response(rho_of: Callable[[float], float]) -> bool:
    """Whether some order alpha of randomized response is above rho * alpha."""
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        p = math.exp(epsilon) / (1 + math.exp(epsilon))
        for alpha in (1.0001, 1.5, 2.0, 5.0, 40.0):
            if renyi([p, 1 - p], [1 - p, p], alpha) > rho_of(epsilon) * alpha * (1 + 1e-9):
                return True
    return False


def test_pure_is_epsilon_squared_over_two() -> None:
    assert not exceeded_by_randomized_response(lambda e: float(zcdp_of_pure(epsilon=e).rho))
    # Planted: the rule of bounded range, which randomized response does not have.
    assert exceeded_by_randomized_response(lambda e: float(zcdp_of_bounded_range(epsilon=e).rho))


def test_bounded_range_covers_the_exponential_mechanism() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        for steps in range(1, 20):
            # Two outcomes of bounded range: log-ratios a and a - epsilon, for every split.
            top = epsilon * steps / 20
            q = (math.exp(top) - 1) / (math.exp(top) - math.exp(top - epsilon))
            other = [1 - q, q]
            law = [(1 - q) * math.exp(top), q * math.exp(top - epsilon)]
            assert math.isclose(sum(law), 1)
            rho = float(zcdp_of_bounded_range(epsilon=epsilon).rho)
            for alpha in (1.0001, 2.0, 10.0):
                assert renyi(law, other, alpha) <= rho * alpha * (1 + 1e-9)


def test_zcdp_goes_to_approx_by_the_tight_conversion() -> None:
    rho, delta = Fraction(1, 2), Fraction(1, 10**6)
    assert to_approx(Concentrated(rho), delta=delta) == Approx(
        zcdp_epsilon(rho=rho, delta=delta), delta
    )


def test_pure_and_approx_keep_their_epsilon() -> None:
    assert to_approx(Pure(1), delta=0) == Approx(1, 0)
    assert to_approx(Approx(1, "1e-6"), delta="1e-5") == Approx(1, "1e-5")


def test_refusals_say_what_to_do() -> None:
    with pytest.raises(BadInput, match="cannot be expressed as zCDP") as refusal:
        to_concentrated(Approx(1, "1e-6"))
    assert "to_approx" in refusal.value.tip
    with pytest.raises(BadInput, match="'delta' parameter must be at least"):
        to_approx(Approx(1, "1e-5"), delta="1e-6")
    with pytest.raises(BadInput, match="'delta'"):
        to_approx(Pure(1), delta=1)
    with pytest.raises(BadInput, match="'delta'"):
        to_approx(Concentrated(1), delta=0)
    with pytest.raises(BadInput, match="'variance'"):
        zcdp_of_gaussian(sensitivity=1, variance=0)


@pytest.mark.parametrize("loss", [Pure(1), Approx(1, "0.1")])
def test_a_delta_of_one_promises_nothing(loss: Pure | Approx) -> None:
    with pytest.raises(BadInput, match="below 1"):
        to_approx(loss, delta=1)


def test_catalogue_53_erratum_every_concentrated_loss_is_an_approximate_one() -> None:
    rho, delta = Fraction(1, 2), Fraction(1, 10**5)
    plain = 0.5 + 2 * math.sqrt(0.5 * math.log(10**5))
    assert plain == pytest.approx(5.2985, abs=5e-5)
    tight = float(to_approx(Concentrated(rho), delta=delta).epsilon)
    assert tight == pytest.approx(4.728, abs=5e-4)
    # a pure loss of 1 is 1/2, and an eighth of its square where the range is bounded
    assert float(zcdp_of_pure(epsilon=1).rho) == 0.5
    assert float(zcdp_of_bounded_range(epsilon=1).rho) == 0.125
