"""The Gaussian mechanism: calibrated by the law of its own noise, not by the classical formula."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.accounting import discrete_gaussian_delta
from ameles.accounting.continuous_gaussian import classical_gaussian_sigma
from ameles.audit import Verdict, exact_loss
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Norm
from ameles.core.loss import Approx, Concentrated
from ameles.mechanisms.one_shot import GaussianMechanism
from ameles.noise import Tape, Zero

ONE: dict[str, Any] = {"neighbours": "add-remove"}
BOTH: dict[str, Any] = {"epsilon": 1, "delta": "1e-5"}


def test_without_noise_it_is_the_truth() -> None:
    assert GaussianMechanism(rho=1, **ONE).start(Zero()).step(17) == 17
    vector = GaussianMechanism(width=3, **BOTH, **ONE).start(Zero()).step((3, 1, 4))
    assert np.asarray(vector).tolist() == [3, 1, 4]


def test_each_number_has_its_own_noise_of_the_stated_variance() -> None:
    tape = Tape([5, -2])
    recipe = GaussianMechanism(rho="1/4", sensitivity=3, width=2, **ONE)
    assert np.asarray(recipe.start(tape).step([10, 20])).tolist() == [15, 18]
    assert tape.laws == [("gaussian", Fraction(18))] * 2


def test_a_squared_sensitivity_is_a_number_of_counts() -> None:
    recipe = GaussianMechanism(rho="1/4", squared_sensitivity=3, width=5, **ONE)
    assert recipe.variance == 6
    change = recipe.guarantee.contribution
    assert (change.bound, change.norm) == (3, Norm.SQUARED)
    assert str(recipe.guarantee).endswith("changing 1 step by at most 3 (L2 squared), over 1 step")
    plain = GaussianMechanism(rho="1/4", sensitivity=3, **ONE).guarantee.contribution
    assert (plain.bound, plain.norm) == (3, Norm.L2)
    # one whole number whose square is at most 3 changes by at most 1
    one = GaussianMechanism(squared_sensitivity=3, **BOTH, **ONE)
    assert one.variance == GaussianMechanism(**BOTH, **ONE).variance


def test_the_losses_are_those_that_were_asked_for() -> None:
    assert GaussianMechanism(rho="1/4", **ONE).loss == Concentrated("1/4")
    assert GaussianMechanism(**BOTH, **ONE).loss == Approx(1, "1e-5")
    finding = exact_loss(GaussianMechanism(rho="1/4", sensitivity=2, **ONE))
    assert (finding.verdict, finding.exact) == (Verdict.CERTIFIED, Fraction(1, 4))


@pytest.mark.parametrize(
    ("epsilon", "continuous"),
    [("0.1", 30.7496), ("0.5", 7.0318), ("1", 3.7306), ("2", 1.9938)],
)
def test_one_number_is_calibrated_by_its_own_law(epsilon: str, continuous: float) -> None:
    recipe = GaussianMechanism(epsilon=epsilon, delta="1e-5", **ONE)
    variance = recipe.variance
    delta = discrete_gaussian_delta(variance=variance, sensitivity=1, epsilon=epsilon)
    assert delta <= Fraction(1, 10**5)
    # about as much as the table's continuous noise, and less than the classical formula
    deviation = math.sqrt(variance)
    assert deviation == pytest.approx(continuous, rel=0.02)
    assert deviation < classical_gaussian_sigma(epsilon=epsilon, delta="1e-5")
    vector = GaussianMechanism(epsilon=epsilon, delta="1e-5", width=2, **ONE)
    assert vector.variance > variance


def test_where_the_classical_formula_is_not_private_this_is() -> None:
    # at epsilon 10 and delta 1e-5 the classical 0.4845 has an exact delta of 2.27e-5
    classical = Fraction(classical_gaussian_sigma(epsilon=10, delta="1e-5")) ** 2
    delta = discrete_gaussian_delta(variance=classical, sensitivity=1, epsilon=10)
    assert delta > Fraction(1, 10**5)
    recipe = GaussianMechanism(epsilon=10, delta="1e-5", **ONE)
    right = discrete_gaussian_delta(variance=recipe.variance, sensitivity=1, epsilon=10)
    assert right <= Fraction(1, 10**5)


@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-9])
def test_the_error_is_above_the_exact_tail_and_near_it(beta: float) -> None:
    recipe = GaussianMechanism(rho="1/200", width=10, **ONE)  # variance 100
    weights = [math.exp(-k * k / 200) for k in range(200)]
    total = 2 * math.fsum(weights) - 1

    def tail(m: float) -> float:
        return 2 * math.fsum(weights[int(m) + 1 :]) / total

    one, every = recipe.error.bound(1, beta), recipe.error.bound_entries(beta)
    assert tail(one) <= beta < tail(one - 2)
    assert 1 - (1 - tail(every)) ** 10 <= beta < 1 - (1 - tail(every - 2)) ** 10
    assert recipe.error.std(1) == pytest.approx(10)
    assert recipe.error.bound_all(3, beta) == recipe.error.bound(1, beta / 3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Exactly one"),
        ({"epsilon": 1}, "Exactly one"),
        ({"delta": "1e-5"}, "Exactly one"),
        ({"rho": 1, "delta": "1e-5"}, "Exactly one"),
        ({"rho": 1, **BOTH}, "Exactly one"),
        ({"rho": 1, "sensitivity": 1, "squared_sensitivity": 1}, "At most one"),
    ],
)
def test_what_it_refuses(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        GaussianMechanism(**given, **ONE)
