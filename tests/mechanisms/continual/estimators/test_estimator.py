"""Estimators: what counts as one, and the grid of their answers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.core.recipe import Recipe
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.continual.estimators.estimator import (
    Algorithm,
    Estimator,
    Exactly,
    check_estimator,
    grid_units,
    on_grid,
)
from ameles.mechanisms.counters.binary import BinaryCounter

NUMBERS = st.fractions(min_value=-50, max_value=50, max_denominator=24)
GRIDS = st.fractions(min_value=Fraction(1, 24), max_value=3, max_denominator=24)


@given(value=NUMBERS, grid=GRIDS)
def test_the_nearest_multiple_with_halves_upwards(value: Fraction, grid: Fraction) -> None:
    off = value - on_grid(value, grid) * grid
    assert -grid / 2 <= off < grid / 2


@given(one=NUMBERS, other=NUMBERS, grid=GRIDS)
def test_rounding_takes_values_no_further_apart_than_stated(
    one: Fraction, other: Fraction, grid: Fraction
) -> None:
    apart = abs(on_grid(one, grid) - on_grid(other, grid))
    assert apart <= grid_units(abs(one - other), grid)


@given(distance=st.fractions(min_value=0, max_value=50, max_denominator=24), grid=GRIDS)
def test_distances_are_rounded_up_by_less_than_one_unit(distance: Fraction, grid: Fraction) -> None:
    assert 0 <= grid_units(distance, grid) * grid - distance < grid


@dataclass(frozen=True, kw_only=True)
class Asks(Recipe):
    algorithm: Algorithm = Algorithm()


def test_an_estimator_is_a_recipe_with_answers() -> None:
    exact = ExactDistinct(users=3)
    assert Asks(algorithm=exact).algorithm is exact
    for recipe in (exact, NoisyDistinct(users=3, epsilon=1, neighbours="user-presence")):
        assert isinstance(recipe, Estimator)
        check_estimator(recipe)


@pytest.mark.parametrize("bad", [3, None, "ExactDistinct", ExactDistinct])
def test_what_is_no_recipe_is_refused_by_the_parameter(bad: Any) -> None:
    with pytest.raises(BadInput, match=r"'algorithm' parameter must be an estimator"):
        Asks(algorithm=bad)


def test_a_recipe_without_answers_is_refused_by_its_name_alone() -> None:
    with pytest.raises(BadInput, match=r"Got 'BinaryCounter' instead"):
        check_estimator(BinaryCounter(epsilon=1, horizon=4))


def test_the_truth_has_no_error() -> None:
    assert {Exactly().bound(t, 1e-9) for t in (1, 100)} == {0}
    assert Exactly().bound_all(100, 1e-9) == 0
