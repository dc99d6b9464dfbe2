"""The tails of sums of discrete Gaussians, against exact convolutions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.gaussian.binary import DyadicError
from ameles.mechanisms.counters.gaussian.error import (
    discrete_variance,
    gaussian_lower_bound,
    quantile,
    rounded_variance,
    sum_factor,
)
from tests.each import together


def law(parameter: float, terms: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], int]:
    """The probabilities of a sum of discrete Gaussians, and where its zero is."""
    reach = 12 + int(12 * math.sqrt(parameter))
    one = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * parameter))
    one /= one.sum()
    masses = one
    for _ in range(terms - 1):
        masses = np.convolve(masses, one)
    return masses, len(masses) // 2


@together("parameter", [0.05, 0.3, 1.0, 4.0, 55.0])
@together("terms", [1, 2, 7])
@together("beta", [0.3, 0.05, 1e-3, 1e-6])
def test_bounds_are_never_below_the_truth_and_close_to_it(
    parameter: float, terms: int, beta: float
) -> None:
    probabilities, zero = law(parameter, terms)
    bound = quantile(terms * parameter, beta, factor=sum_factor(terms, parameter))
    assert probabilities[zero + bound + 1 :].sum() * 2 <= beta * (1 + 1e-9)
    if parameter >= 1:  # the smallest integer that would do, or the next
        assert bound <= 1 or probabilities[zero + bound - 1 :].sum() * 2 > beta


@pytest.mark.parametrize("parameter", [0.05, 0.1, 0.3, 1.0, 4.0])
@pytest.mark.parametrize(("before", "t"), [(0, 1), (0, 3), (3, 4)])
def test_totals_over_steps_are_never_below_the_truth(parameter: float, before: int, t: int) -> None:
    total = DyadicError(parameter).between(before, t)
    terms = {(0, 1): 1, (0, 3): 2, (3, 4): 3}[before, t]
    probabilities, zero = law(parameter, terms)
    for beta in (0.3, 0.05, 1e-3, 1e-6):
        outside = probabilities[zero + total.quantile(beta) + 1 :].sum() * 2
        assert outside <= beta * (1 + 1e-9)


def test_a_variance_in_place_of_the_parameter_would_be_false() -> None:
    # what totals had before: small discrete noise is narrower than a normal law, but its tail
    # is not that of a normal law of its variance
    probabilities, zero = law(0.1, 1)
    bound = quantile(discrete_variance(0.1), 1e-3, factor=sum_factor(1, 0.1))
    assert probabilities[zero + bound + 1 :].sum() * 2 > 1e-3


def test_a_normal_tail_without_its_factor_would_be_false() -> None:
    # parameter 0.05: all but 9e-5 is at zero, the normal tail beyond 1/2 has 0.025
    probabilities, zero = law(0.4, 1)
    beyond = float(probabilities[zero + 1 :].sum() * 2)
    assert beyond > math.erfc(1 / math.sqrt(0.8))  # without the half for the rounding
    assert beyond <= sum_factor(1, 0.4) * math.erfc(0.5 / math.sqrt(0.8))


@pytest.mark.parametrize("parameter", [0.05, 0.2, 1.0, 1.99, 2.01, 9.0])
def test_the_variance_of_the_discrete_law(parameter: float) -> None:
    probabilities, zero = law(parameter, 1)
    places = np.arange(len(probabilities)) - zero
    exact = float((places**2 * probabilities).sum())
    assert discrete_variance(parameter) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("variance", [0.01, 0.3, 1.9, 2.1, 50.0])
def test_the_variance_of_a_rounded_normal_variable(variance: float) -> None:
    edges = np.arange(-100, 101) + 0.5
    below = np.array([math.erfc(-edge / math.sqrt(2 * variance)) / 2 for edge in edges])
    exact = float((np.arange(-99, 101) ** 2 * np.diff(below)).sum())
    assert rounded_variance(variance) == pytest.approx(exact, rel=1e-6)
    assert rounded_variance(0) == 0


def test_slack_moves_a_bound_by_as_much() -> None:
    plain, moved = quantile(1e4, 0.01), quantile(1e4, 0.01, slack=7.0)
    assert moved == plain + 7


def test_huge_factors_leave_the_chernoff_bound() -> None:
    bound = quantile(100.0, 0.01, factor=1e300)
    assert 2 * math.exp(-((bound + 0.5) ** 2) / 200) <= 0.01
    assert sum_factor(10**9, 1e-9) < math.inf


@pytest.mark.parametrize("beta", [0, 1, -0.1, float("nan")])
def test_beta_is_a_probability(beta: float) -> None:
    with pytest.raises(BadInput, match="probability"):
        quantile(1.0, beta)


@pytest.mark.parametrize(
    ("horizon", "bound"), [(1, 1.0), (2**10, 2.910), (2**16, 4.232), (2**20, 5.115)]
)
def test_the_lower_bound(horizon: int, bound: float) -> None:
    assert gaussian_lower_bound(horizon) == pytest.approx(bound, abs=5e-4)


def test_the_lower_bound_is_the_nuclear_norm() -> None:
    singular = np.linalg.svd(np.tril(np.ones((200, 200))), compute_uv=False)
    assert gaussian_lower_bound(200) == pytest.approx(float(singular.sum()) / 200, rel=1e-12)


def test_the_lower_bound_beyond_its_terms_is_the_same_sum() -> None:
    horizon = 1 << 18
    terms = 1 / np.sin((2 * np.arange(1, horizon + 1) - 1) * math.pi / (4 * horizon + 2))
    assert gaussian_lower_bound(horizon) == pytest.approx(
        float(terms.sum()) / (2 * horizon), rel=1e-10
    )
