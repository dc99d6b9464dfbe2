"""Gaussian binary counter: its exact loss from the code, its worst case, its figures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import pytest

from ameles.mechanisms.counters.gaussian.binary import GaussianBinaryCounter, squared_changes
from tests.mechanisms.counters.loss import exact_rho


@pytest.mark.parametrize("horizon", [*range(1, 18), 31, 32, 33])
def test_the_loss_is_exactly_rho(horizon: int) -> None:
    assert exact_rho(GaussianBinaryCounter(rho="1/3", horizon=horizon), horizon) == Fraction(1, 3)


@pytest.mark.parametrize("contributions", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("horizon", [5, 8])
def test_several_contributions_cost_exactly_rho(horizon: int, contributions: int) -> None:
    recipe = GaussianBinaryCounter(rho=1, horizon=horizon, contributions=contributions, bound=3)
    assert exact_rho(recipe, horizon) == 1


def test_one_level_too_few_is_caught() -> None:
    @dataclass(frozen=True, kw_only=True)
    class AsPrinted(GaussianBinaryCounter):
        @property
        def variance(self) -> Fraction:
            return super().variance * (self.horizon.bit_length() - 1) / self.horizon.bit_length()

    assert exact_rho(AsPrinted(rho=1, horizon=4), 4) > 1


def test_the_worst_steps_are_the_first_ones() -> None:
    for horizon in range(1, 14):
        blocks = [
            range((k - 1) << level, k << level)
            for level in range(horizon.bit_length())
            for k in range(1, (horizon >> level) + 1, 2)
        ]
        for m in range(1, horizon + 1):
            worst = max(
                sum(len(set(block) & set(changed)) ** 2 for block in blocks)
                for changed in combinations(range(horizon), m)
            )
            assert squared_changes(horizon, m) == worst
        assert squared_changes(horizon, 10**9) == squared_changes(horizon, horizon)


@pytest.mark.parametrize(
    ("horizon", "mean", "worst"),
    [(2**10, 7.42, 10.49), (2**16, 11.66, 16.49), (2**20, 14.49, 20.49)],
)
def test_the_figures_of_the_frontier(horizon: int, mean: float, worst: float) -> None:
    recipe = GaussianBinaryCounter(rho="1e-4", horizon=horizon)
    sigma = float(1 / (2 * recipe.spend)) ** 0.5
    assert recipe.error.rms(horizon) / sigma == pytest.approx(mean, abs=5e-3)
    assert recipe.error.std(horizon - 1) / sigma == pytest.approx(worst, abs=5e-3)


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 100])
def test_the_mean_is_over_all_steps(steps: int) -> None:
    error = GaussianBinaryCounter(rho=1, horizon=128).error
    squares = [error.std(t) ** 2 for t in range(1, steps + 1)]
    assert error.rms(steps) ** 2 == pytest.approx(sum(squares) / steps)


def test_all_steps_at_once_cost_less_than_a_union() -> None:
    error = GaussianBinaryCounter(rho="1/100", horizon=1000).error
    assert error.bound(511, 0.05) < error.bound_all(511, 0.05) < error.bound(511, 0.05 / 511)
    assert error.bound_all(511, 0.05) <= error.bound_all(1000, 0.05)
