"""The choice of a counter: by the error of the span, whatever the scale."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from ameles.measures.counter_choice import Span, chosen, mean_variance
from ameles.measures.laws import law_of
from ameles.mechanisms.counters.choose import compare, counter
from ameles.mechanisms.counters.gaussian.steps import GaussianStepsCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter

ONE = Fraction(1)


@pytest.mark.parametrize("horizon", [1, 5, 365, None])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_a_single_step_has_noise_on_itself(horizon: int | None, epsilon: str) -> None:
    recipe = chosen(Span(window=1, horizon=horizon), epsilon=Fraction(epsilon), width=3)
    assert isinstance(recipe, SimpleTwoCounter)
    assert recipe.scale == 1 / Fraction(epsilon)
    assert (recipe.width, recipe.horizon) == (3, horizon)


@pytest.mark.parametrize("window", [1, 3, 30, 100])
def test_no_counter_of_the_comparison_is_better(window: int) -> None:
    span = Span(window=window, horizon=100)
    best = mean_variance(chosen(span, epsilon=ONE, width=1), span)
    for row in compare(epsilon=1, horizon=100, width=1):
        assert best <= mean_variance(row.recipe, span) * (1 + 1e-9)


def test_totals_are_as_chosen_before() -> None:
    given: dict[str, Any] = {"contributions": 2, "bound": 7, "unit": "user"}
    span = Span(window=None, horizon=200)
    recipe = chosen(span, epsilon=Fraction(1, 3), width=4, **given)
    assert recipe == counter(epsilon="1/3", horizon=200, width=4, **given)


@pytest.mark.parametrize(("steps", "gaussian"), [(1, False), (40, True)])
@pytest.mark.parametrize("window", [1, 7])
def test_many_steps_of_a_user_have_gaussian_noise(steps: int, gaussian: bool, window: int) -> None:
    span = Span(window=window, horizon=60)
    recipe = chosen(
        span, epsilon=ONE, delta=Fraction(1, 10**6), width=2, contributions=steps, unit="user"
    )
    assert isinstance(recipe, GaussianStepsCounter) is gaussian
    assert recipe.unit == "user"


def test_the_mean_is_over_the_span() -> None:
    recipe = SimpleTwoCounter(epsilon=1)
    each = recipe.error.std(1) ** 2
    assert mean_variance(recipe, Span(window=3, horizon=None)) == pytest.approx(3 * each, rel=0.01)
    assert mean_variance(recipe, Span(window=3, horizon=4)) == pytest.approx(9 / 4 * each)
    assert mean_variance(recipe, Span(window=None, horizon=4)) == pytest.approx(10 / 4 * each)
    assert math.isclose(law_of(recipe, 3, 2).std ** 2, 2 * each)


def test_large_epsilons_are_looked_at_as_they_are() -> None:
    span = Span(window=None, horizon=30)
    recipe = chosen(span, epsilon=Fraction(20), width=1)
    for row in compare(epsilon=20, horizon=30, width=1):
        assert mean_variance(recipe, span) <= mean_variance(row.recipe, span) * (1 + 1e-9)
