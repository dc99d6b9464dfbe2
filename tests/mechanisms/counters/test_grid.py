"""The grid: clamped, rounded, bounded, and never a float past the noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.grid import Grid
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.noise import System, Zero

GRID = Grid(lower="-0.5", upper=2, granularity="0.25")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_units_stay_within_reach_whatever_the_values(values: list[float]) -> None:
    units = GRID.units(values)
    assert units.dtype == np.int64
    assert (units >= -2).all()
    assert (units <= 8).all()
    assert int(np.abs(units).max()) <= GRID.reach == 8


@given(st.floats(-0.5, 2))
def test_rounding_moves_a_value_by_half_a_unit_at_most(value: float) -> None:
    assert abs(GRID.value(GRID.units(value)) - value) <= 0.125


def test_a_number_gives_a_number_and_an_array_an_array() -> None:
    assert GRID.units(1) == 4
    assert type(GRID.units(1.0)) is int
    assert GRID.units(np.array([[0.3], [9.0]])).tolist() == [[1], [8]]
    assert GRID.value(np.array([4, 8])).tolist() == [1.0, 2.0]


def test_sums_under_zero_noise_are_sums_of_rounded_values() -> None:
    run = SiblingsCounter(epsilon=1, horizon=50, bound=GRID.reach).start(Zero())
    values = np.linspace(-1, 3, 50)
    released = GRID.value(run.feed(GRID.units(values)))
    assert released[-1] == pytest.approx(float(np.clip(values, -0.5, 2).sum()), abs=50 * 0.125)


def test_the_noise_is_calibrated_in_grid_units() -> None:
    coarse = SiblingsCounter(epsilon=1, horizon=50, bound=1)
    fine = SiblingsCounter(epsilon=1, horizon=50, bound=GRID.reach)
    assert fine.scale == 8 * coarse.scale
    assert isinstance(fine.start(System()).step(GRID.units(1.3)), int)


@pytest.mark.parametrize("values", [float("nan"), [1.0, float("inf")], "1", [None], True, 1j])
def test_what_is_no_real_number_is_refused_without_its_value(values: Any) -> None:
    with pytest.raises(BadInput, match="finite real numbers") as refusal:
        GRID.units(values)
    assert "inf," not in str(refusal.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"lower": 1, "upper": 1},
        {"lower": 2, "upper": 1},
        {"granularity": 0},
        {"granularity": "0.3"},
        {"granularity": "1e-9"},
        {"upper": float("inf")},
    ],
    ids=str,
)
def test_grids_that_are_none_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        Grid(**{"lower": 0, "upper": 1, "granularity": "0.25", **wrong})
