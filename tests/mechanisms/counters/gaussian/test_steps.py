"""Gaussian steps: its exact loss from the code, its errors, all generic checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.recipe import recipe_from_json
from ameles.mechanisms.counters.gaussian.steps import GaussianStepsCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.noise import System
from tests import checks
from tests.each import together
from tests.mechanisms.counters.loss import exact_rho


@pytest.mark.parametrize("contributions", [1, 2, 5, 9])
def test_the_loss_is_exactly_rho(contributions: int) -> None:
    recipe = GaussianStepsCounter(rho="1/3", horizon=5, contributions=contributions, bound=3)
    assert exact_rho(recipe, 5) == Fraction(1, 3)


def test_the_noise_of_one_step_only_is_caught() -> None:
    @dataclass(frozen=True, kw_only=True)
    class OneStep(GaussianStepsCounter):
        @property
        def variance(self) -> Fraction:
            return super().variance / self.contributions

    assert exact_rho(OneStep(rho=1, horizon=5, contributions=3), 5) == 3


VARIANTS: list[dict[str, Any]] = [
    {"epsilon": 1, "delta": "1e-6", "horizon": 64},
    {"rho": "1/3", "horizon": 50, "width": 5},
    {"rho": 2, "width": 3000},
    {"epsilon": 0.1, "delta": "1e-9", "unit": "user", "contributions": 3, "bound": 2, "width": 1},
]
# JSON is read through the catalogue there, and through the class below.
CHECKS = [check for check in checks.CHECKS if check is not checks.recipes_survive_json]


@together("check", CHECKS)
@together("variant", range(len(VARIANTS)))
def test_every_check(check: Callable[[CounterRecipe], None], variant: int) -> None:
    parameters: dict[str, Any] = VARIANTS[variant]
    check(GaussianStepsCounter(**parameters))


def test_recipes_survive_json() -> None:
    recipe = GaussianStepsCounter(rho="1/7", width=3)
    again = recipe_from_json(recipe.to_json(), {"GaussianStepsCounter": GaussianStepsCounter})
    assert again == recipe


def test_bounds_hold() -> None:
    checks.bounds_hold(
        lambda width: GaussianStepsCounter(rho="1/50", horizon=16, width=width), System()
    )


def test_the_law_of_a_window_is_that_of_its_steps() -> None:
    error = GaussianStepsCounter(rho="1/50").error
    assert error.between(7, 10).std == pytest.approx(error.std(3))
    steps = np.array([1, 5, 9])
    assert error.bounds(steps, 0.05).tolist() == [error.bound(int(t), 0.05) for t in steps]
    assert error.between_bounds(steps - 1, steps, 0.05).tolist() == [error.bound(1, 0.05)] * 3


def test_it_is_better_than_laplace_noise_for_users_with_many_steps() -> None:
    def deviation(kind: type[CounterRecipe], steps: int) -> float:
        given: dict[str, Any] = {"epsilon": 1, "contributions": steps, "unit": "user"}
        if kind is GaussianStepsCounter:
            given["delta"] = "1e-6"
        return kind(**given).error.std(1)

    for steps, better in ((1, False), (5, False), (20, True), (365, True)):
        less = deviation(GaussianStepsCounter, steps) < deviation(SimpleTwoCounter, steps)
        assert less is better


def gaussian(parameter: float, far: int) -> Any:
    weights = np.exp(-(np.arange(-far, far + 1) ** 2) / (2 * parameter))
    return weights / weights.sum()


@together("rho", ["1/2", 5, "1/20"])
@together("beta", [0.3, 0.05, 1e-4])
def test_bounds_are_the_smallest_integers(rho: Any, beta: float) -> None:
    error = GaussianStepsCounter(rho=rho, horizon=16).error
    law, total = gaussian(float(error.variance), 60), np.ones(1)
    inside: dict[int, float] = {}
    for t in range(1, 9):
        total = np.convolve(total, law)
        size = abs(np.arange(len(total)) - len(total) // 2)
        bound = int(error.bound(t, beta))
        assert total[size > bound].sum() <= beta
        assert bound == 0 or total[size > bound - 1].sum() > 0.998 * beta
        # all steps at once: sums over paths that stay inside
        together_ = int(error.bound_all(t, beta))
        inside[-1] = 0.0
        for m in (together_, max(together_ - 1, 0)):
            paths = np.ones(1)
            for _ in range(t):
                paths = np.convolve(paths, law)
                paths = paths[max(0, len(paths) // 2 - m) : len(paths) // 2 + m + 1]
            inside[m] = float(paths.sum())
        assert 1 - inside[together_] <= beta
        assert together_ == 0 or 1 - inside[together_ - 1] > 0.998 * beta


def test_windows_have_the_same_law_as_counts() -> None:
    error = GaussianStepsCounter(rho=5, horizon=5000).error
    for steps in (1, 7, 2000):
        law = error.between(11, 11 + steps)
        assert law.quantile(0.05) == error.bound(steps, 0.05)
        assert law.std == pytest.approx(error.std(steps))
