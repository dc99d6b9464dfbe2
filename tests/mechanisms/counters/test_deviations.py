"""Deviations over a stream: all steps at once as one by one, and the worst step is found."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ameles.mechanisms.counters.choose import compare
from ameles.mechanisms.counters.deviations import (
    POINTS,
    mean_deviation,
    points,
    stds_of,
    worst_deviation,
    worst_of,
)
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter


@pytest.mark.parametrize("intrusions", ["none", "one"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 20])  # rounding counts where noise is small
def test_all_steps_at_once_are_as_one_by_one(epsilon: Fraction, intrusions: str) -> None:
    for row in compare(epsilon=epsilon, horizon=60, intrusions=intrusions):
        every = [row.recipe.error.std(t) for t in range(1, 61)]
        assert stds_of(row.recipe.error, range(1, 61)) == pytest.approx(every, rel=1e-12)
        mean = math.sqrt(math.fsum(d * d for d in every) / 60)
        assert mean_deviation(row.recipe, 60) == row.mean == pytest.approx(mean, rel=1e-12)
        assert worst_deviation(row.recipe, 60) == row.worst == pytest.approx(max(every), rel=1e-12)
        assert row.last == row.recipe.error.bound(60, 0.05)


@pytest.mark.parametrize("optimise", ["mean", "worst", 7, np.int64(7)])
def test_rows_are_sorted_by_what_is_asked_for(optimise: Any) -> None:
    rows = compare(epsilon=1, horizon=60, optimise=optimise)
    wanted = {"mean": "mean", "worst": "worst"}.get(optimise)
    for row in rows:
        assert row.objective == (getattr(row, wanted) if wanted else row.recipe.error.std(7))
    assert [row.objective for row in rows] == sorted(row.objective for row in rows)


def test_the_worst_step_of_a_tree_with_shares_by_place_is_found() -> None:
    recipe = PanPrivatePlaceCounter(epsilon=1, horizon=3000)
    every = recipe.error.stds(np.arange(1, 3001))
    assert worst_deviation(recipe, 3000) == pytest.approx(every.max(), rel=1e-12)


@pytest.mark.parametrize("epsilon", [30, 60])
def test_small_noise_of_a_tree_with_shares_by_place_is_rounded(epsilon: int) -> None:
    error = PanPrivatePlaceCounter(epsilon=epsilon, horizon=60).error
    every = [error.law(t).rounded_std for t in range(1, 61)]
    assert error.stds(np.arange(1, 61)) == pytest.approx(every, rel=1e-12)
    assert max(every) < 1


def test_noise_that_is_too_rare_for_a_float_can_be_shown() -> None:
    assert "∞" in repr(compare(epsilon=1000, horizon=1000))


def test_a_long_stream_is_looked_at_evenly_and_at_its_end() -> None:
    assert points(5) == [1, 2, 3, 4, 5]
    spread = points(1 << 20)
    assert len(spread) in (POINTS, POINTS + 1)
    assert spread[-1] == 1 << 20
    assert max(b - a for a, b in pairwise(spread)) < 3 * (1 << 20) / POINTS


@pytest.mark.parametrize(
    ("bad", "worse"),
    [(2, 1), (7, 8), (5, 2), (2, 5), (1, 5), (8, 4), (3, 7)],  # one digit in base 4 is another
)
def test_the_worst_step_is_found_from_a_bad_one_that_differs_in_one_digit(
    bad: int, worse: int
) -> None:
    stds = {bad: 1.0, worse: 2.0}
    recipe: Any = SimpleNamespace(
        arity=4, error=SimpleNamespace(std=lambda t: stds.get(t, 0.0 if 1 <= t <= 8 else 3.0))
    )
    assert worst_of(recipe, 8, [bad]) == 2
