"""Inputs that are no whole numbers, or not as many as there should be, are refused; large ones are
not, because a refusal would depend on the data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.one_shot.exact_inputs import counts_of_keys, grid_units, numbers, scores

LARGE = 1 << 60


@pytest.mark.parametrize(
    "given",
    [
        np.array([1.5, 2.0]),
        np.array([True, False]),
        np.array(["1", "2"]),
        np.array([1, 2, 3]),
        np.array([[1, 2]]),
        [1],
        [1, 2.0],
        {1, 2},
        "12",
    ],
    ids=str,
)
def test_scores_and_numbers_are_so_many_whole_numbers(given: Any) -> None:
    with pytest.raises(BadInput, match="must be"):
        scores(given, 2)
    with pytest.raises(BadInput, match="must be"):
        numbers(given, 2)


@pytest.mark.parametrize(
    "given",
    [
        [1 << 70, -(1 << 70)],
        np.array([1 << 62, -(1 << 62)]),
        np.array([(1 << 63) - 1, -(1 << 63)]),
    ],
)
def test_scores_beyond_the_largest_are_the_largest(given: Any) -> None:
    assert scores(given, 2).tolist() == [LARGE, -LARGE]


def test_scores_without_a_sign_do_not_wrap() -> None:
    assert scores(np.array([(1 << 64) - 1, 7], dtype=np.uint64), 2).tolist() == [LARGE, 7]


@pytest.mark.parametrize("given", [[3, -4], (3, -4), np.array([3, -4]), np.array([3, -4], "i1")])
def test_numbers_come_as_lists_or_arrays(given: Any) -> None:
    for read in (numbers, scores):
        taken = read(given, 2)
        assert taken.dtype == np.int64
        assert taken.tolist() == [3, -4]
    assert numbers([1 << 64, (1 << 63) + 1], 2).tolist() == [0, 1 - (1 << 63)]  # modulo 2^64
    assert numbers(np.array([7], "u8"), 1).tolist() == numbers(7, None).tolist() == [7]


def test_units_of_a_grid_are_rounded_and_half_of_one_goes_up() -> None:
    quarter = Fraction(1, 4)
    assert grid_units(Fraction(1, 8), None, quarter).tolist() == [1]
    assert grid_units([Fraction(-1, 8), Fraction(-3, 16)], 2, quarter).tolist() == [0, -1]
    assert grid_units(np.array([1, -2]), 2, quarter).tolist() == [4, -8]
    for wrong in ([1], 3, np.array([[1, 2]]), {1, 2}, [0.5, 1]):
        with pytest.raises(BadInput, match="must be"):
            grid_units(wrong, 2, quarter)


def test_counts_of_keys_are_clamped() -> None:
    assert counts_of_keys(np.array([5, -1, 101]), 100).tolist() == [5, 0, 100]
    assert counts_of_keys(np.array([(1 << 64) - 1, 5], "u8"), 100).tolist() == [100, 5]
    assert counts_of_keys((5, -1, 101), 100).tolist() == [5, 0, 100]
    for wrong in (np.array([[1]]), np.array([1.0]), np.array([True]), "12", 3):
        with pytest.raises(BadInput, match="must be a list of counts"):
            counts_of_keys(wrong, 100)
