"""Bounds that are computed ahead are those that were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from ameles.measures.bounds_cache import BLOCK, Floats, cached_bounds
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.noise.arrays import IntArray

asked: list[tuple[int, int]] = []


def squares(steps: IntArray, offset: int) -> Floats:
    asked.append((int(steps[0]), int(steps[-1])))
    return np.stack([steps**2 + offset, -steps], axis=1).astype(np.float64)


def bounds(steps: IntArray, recipe: CounterRecipe) -> Floats:
    return recipe.error.bounds(steps, 0.05)


@pytest.mark.parametrize("horizon", [None, 3 * BLOCK - 5])
def test_every_step_has_its_own_row(horizon: int | None) -> None:
    asked.clear()
    last = horizon or 3 * BLOCK
    for first in range(1, last + 1):
        for count in {1, min(3, last + 1 - first)}:
            steps = np.arange(first, first + count)
            bounds = cached_bounds(squares, steps, 10 + (horizon or 0), horizon=horizon)
            assert bounds[:, 0].tolist() == (steps**2 + 10 + (horizon or 0)).tolist()
            assert bounds[:, 1].tolist() == (-steps).tolist()
    assert asked == [(1, BLOCK), (BLOCK + 1, 2 * BLOCK), (2 * BLOCK + 1, last)]


@pytest.mark.parametrize("count", [33, 2 * BLOCK, 3 * BLOCK - 1])
def test_many_steps_are_divided_as_few_are(count: int) -> None:
    """So the bounds are the same, and take the same memory, however many steps are due."""
    asked.clear()
    found = cached_bounds(squares, np.arange(90, 90 + count), count, horizon=None)
    assert found[:, 1].tolist() == list(range(-90, -90 - count, -1))
    assert {last - first + 1 for first, last in asked} == {BLOCK}
    assert {first % BLOCK for first, _ in asked} == {1}


def test_nothing_beyond_the_horizon_is_asked_for() -> None:
    def bounded(steps: IntArray) -> Floats:
        assert steps[-1] <= 7
        return steps.astype(np.float64)

    assert cached_bounds(bounded, np.array([7]), horizon=7).tolist() == [7.0]


@pytest.mark.parametrize(
    "steps",
    [[], [5, 9], [9, 5], [1, 1, 3]],
    ids=["none", "apart", "back", "repeated"],
)
def test_other_steps_are_computed_as_they_are(steps: list[int]) -> None:
    given = np.array(steps, dtype=np.int64)
    seen = []

    def noted(each: IntArray) -> Floats:
        seen.append(each.tolist())
        return each.astype(np.float64)

    assert cached_bounds(noted, given, horizon=None).tolist() == steps
    assert seen == [steps]


def test_different_parameters_have_different_blocks() -> None:
    step = np.array([4])
    assert cached_bounds(squares, step, 1, horizon=9)[0, 0] == 17
    assert cached_bounds(squares, step, 2, horizon=9)[0, 0] == 18
    assert cached_bounds(squares, step, 1, horizon=8)[0, 0] == 17


@pytest.mark.parametrize(
    "recipe",
    [SiblingsCounter(epsilon=1, horizon=1000), BinaryCounter(epsilon="1/3", horizon=1000)],
    ids=lambda recipe: type(recipe).__name__,
)
def test_they_are_the_same_as_one_by_one(recipe: CounterRecipe) -> None:
    for step in (1, 2, 3, 127, 128, 129, 500, 999, 1000):
        one = np.array([step])
        assert (
            cached_bounds(bounds, one, recipe, horizon=1000).tolist()
            == bounds(one, recipe).tolist()
        )


def test_the_steps_of_a_block_take_one_hash_and_cannot_change_each_other() -> None:
    hashes = []

    class Recipe:
        def __hash__(self) -> int:
            hashes.append(self)
            return 7

    recipe = Recipe()

    def roots(steps: IntArray, recipe: Recipe, scale: float) -> Floats:
        return np.sqrt(steps) * scale

    found = [cached_bounds(roots, np.array([t]), recipe, t / t, horizon=None) for t in range(1, 99)]
    assert np.concatenate(found).tolist() == np.sqrt(np.arange(1, 99)).tolist()
    assert len(hashes) == 1
    with pytest.raises(ValueError, match="read-only"):
        found[0][0] = 0.0
