"""Gradients in whole numbers: none depends on another, none is too long; and their counter."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ameles.audit import exact_loss
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Norm
from ameles.mechanisms.learning.gradient_counter import GradientCounter
from ameles.mechanisms.learning.gradients import (
    GRID,
    LARGEST_WEIGHT,
    ONE,
    UNIT,
    _length,
    clipped,
    gradients_of,
    rows_of,
    scores_of,
)
from ameles.noise import System
from tests.mechanisms.counters.gaussian.test_buffered import certified, encoding_shift


def squared(vectors: Any) -> list[int]:
    """The exact squares of the lengths."""
    return [sum(one * one for one in row) for row in vectors.tolist()]


def test_a_gradient_depends_on_its_own_row_alone() -> None:
    """Rows one by one, and all together: a matrix product of floats differs in the last bit."""
    noise = System()
    weights = (noise.uniform(2001, 24) - 1000) / 100
    rows = (noise.uniform(2**20, (37, 23)) - 2**19) / 2**19
    second = noise.uniform(2, 37)
    together = gradients_of(rows_of(rows, 23), second, weights)
    for place in range(37):
        alone = gradients_of(rows_of(rows[[place]], 23), second[[place]], weights)
        assert alone.tolist() == [together[place].tolist()]


@pytest.mark.parametrize("far", [0, 1e-300, 1, 1e9, 1e300])
def test_rows_are_as_long_as_their_unit_and_no_longer(far: float) -> None:
    rows = rows_of((System().uniform(2001, (50, 7)) - 1000) * far, 7)
    lengths = squared(rows)
    assert max(lengths) <= UNIT**2
    assert min(lengths) > 0.999 * UNIT**2


def test_what_is_no_number_counts_as_zero_and_changes_no_other_row() -> None:
    strange: list[Any] = ["?", None, 1j, math.nan, math.inf, -math.inf, 10**400, [1]]
    plain = rows_of([[True, 0.5]], 2).tolist()
    zero = rows_of([[0, 0.5]], 2).tolist()
    for value in strange:
        assert rows_of([[value, 0.5], [True, 0.5]], 2).tolist() == zero + plain


@pytest.mark.parametrize("row", [[], [1.0], [1, 2, 3], [[1, 2]], 5.0, None, "12", np.ones(3)])
def test_a_row_of_another_length_has_zeros_and_changes_no_other(row: Any) -> None:
    zeros, plain = rows_of([[0, 0]], 2).tolist(), rows_of([[0.5, 0.25]], 2).tolist()
    assert rows_of([[0.5, 0.25], row, np.array([0.5, 0.25])], 2).tolist() == plain + zeros + plain


@pytest.mark.parametrize("table", [[], np.zeros((0, 2)), np.zeros((0, 2), dtype=object)])
def test_no_rows_are_a_table_too(table: Any) -> None:
    assert rows_of(table, 2).shape == (0, 3)


@pytest.mark.parametrize(
    "table", [np.ones(2), np.ones((1, 1)), np.full((1, 3), 5), 5, np.ones((1, 1, 2)), "55"], ids=str
)
def test_other_shapes_are_refused_without_a_value(table: Any) -> None:
    with pytest.raises(BadInput, match="a table with 2 columns") as told:
        rows_of(table, 2)
    assert "5" not in str(told.value)


def test_the_logistic_function_is_as_good_as_its_table() -> None:
    rows = rows_of([[0.6, -0.2], [1.0, 1.0]], 2)
    for weights in ([0.0, 0.0, 0.0], [3.0, -1.0, 0.5], [1e30, 0.0, 0.0], [-1e30, math.nan, 0.0]):
        known = np.nan_to_num(np.array(weights))
        score = (rows / UNIT) @ np.clip(known, -4096, 4096)
        truth = 1 / (1 + np.exp(-np.clip(score, -500, 500)))
        for second in (0, 1):
            found = gradients_of(rows, np.full(2, second), np.array(weights)) / ONE
            expected = (truth - second)[:, None] * rows / UNIT
            assert found == pytest.approx(expected, abs=1e-3)
    assert np.abs(scores_of(rows, np.full(3, 1e30))).max() <= 3 * LARGEST_WEIGHT * UNIT


def test_a_step_of_the_logistic_function_goes_the_right_way() -> None:
    rows = rows_of([[1.0]], 1)
    assert (gradients_of(rows, np.array([1]), np.zeros(2)) < 0).all()
    assert (gradients_of(rows, np.array([0]), np.zeros(2)) > 0).all()


@pytest.mark.parametrize("columns", [1, 2, 9])
@pytest.mark.parametrize("size", [1, 2**12, 2**20, 2**32 - 1, 2**32, 2**33, 2**52, 2**62])
def test_a_clipped_gradient_is_never_longer_than_the_grid(size: int, columns: int) -> None:
    sums = np.clip(System().uniform(2**40, (60, columns)) - 2**39, -size, size)
    sums[0] = size
    sums[1] = -(2**63)  # where sums wrap
    found = clipped(sums)
    assert max(squared(found)) <= GRID**2
    if size >= ONE:
        assert squared(found)[0] > (0.999 * GRID) ** 2, "a long vector keeps its direction"
        assert found[0].tolist() == [found[0][0]] * columns


def test_lengths_are_rounded_up() -> None:
    vectors = [[3, 4], [1, 1], [0, 0], [1 << 20, 1], [(1 << 30) - 1, 1]]
    assert _length(np.array(vectors)).ravel().tolist() == [5, 2, 0, (1 << 20) + 1, 1 << 30]


def test_short_gradients_keep_their_length() -> None:
    assert clipped(np.array([[ONE, 0]])).tolist() == [[GRID, 0]]
    assert clipped(np.array([[ONE // 2, -ONE // 4]])).tolist() == [[GRID // 2, -GRID // 4]]
    assert clipped(np.zeros((0, 3), dtype=np.int64)).shape == (0, 3)
    assert clipped(np.array([[0, 0]])).tolist() == [[0, 0]]


ALIKE = [(3, 4)] * 3
APART = [(5, 0), (-4, 3), (0, -5)]


@pytest.mark.parametrize("vectors", [ALIKE, APART])
@pytest.mark.parametrize("steps", [(0,), (0, 1, 2)])
def test_no_vectors_of_the_length_exceed_the_certificate(vectors: Any, steps: Any) -> None:
    """Both numbers of a vector are encoded by the real code; the squares of both are added."""
    recipe = GradientCounter(rho=1, horizon=16, contributions=3, bound=5, width=2, buffers=2)
    alone = replace(recipe, width=None)
    noises = (System().uniform(2**20, 16) - 2**19).tolist()
    total = 0
    for column in (0, 1):
        change = [0] * 16
        for step, vector in zip(steps, vectors, strict=False):
            change[step] = vector[column]
        total += sum(e * e for e in encoding_shift(alone, noises, change, 4))
    assert total <= certified(recipe, 4)
    if len(steps) == 3 and vectors is ALIKE:
        assert total > 0.8 * float(recipe.filter.squared_norm(16, 3).up()) * 25 * 4**4


def test_the_counter_promises_a_length() -> None:
    recipe = GradientCounter(rho=1, horizon=4, width=100, bound=5)
    assert recipe.guarantee.contribution.norm is Norm.L2
    assert recipe.touched == 25, "a vector of whole numbers with length 5 has 25 of them at most"
    assert replace(recipe, width=7).touched == 7
    assert exact_loss(GradientCounter(rho=1, horizon=4, width=2, bound=5)).upper <= 1
