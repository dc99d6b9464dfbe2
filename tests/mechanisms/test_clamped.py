"""Numbers that people report: none is refused for its size, and no message names one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ameles.mechanisms.clamped import clamped


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ([2**63, -1], [9, -1]),  # numpy makes floats of these
        ([10**30, -(10**30)], [9, -3]),
        (np.array([2**64 - 1, 4], dtype=np.uint64), [9, 4]),
        (np.array([-128, 127], dtype=np.int8), [-3, 9]),
        (np.array([200, 0], dtype=np.uint8), [9, 0]),
        ([True, False], [1, 0]),
        (range(2), [0, 1]),
        ([], []),
        ([[1, -(10**30)], [3, 2**70]], [[1, -3], [3, 9]]),
    ],
)
def test_whole_numbers_of_any_size_are_taken(given: Any, read: Any) -> None:
    numbers = clamped(given, -3, 9, refuse=ValueError)
    assert numbers.tolist() == read
    assert numbers.dtype == np.int64


def test_a_range_that_a_small_type_does_not_hold_keeps_its_numbers() -> None:
    assert clamped(np.array([-5, 100], dtype=np.int8), -(10**6), 10**6, refuse=ValueError)[1] == 100


@pytest.mark.parametrize(
    "given",
    ["12", b"12", {1}, frozenset([1]), {1: 2}, 3, None, [0.5], [None], ["secret"], [10**30, 0.5]],
)
def test_what_is_no_list_of_whole_numbers_is_refused_without_a_value(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^an? [a-zA-Z0-9<>_ ]+( with shape \(\d,?\))?$") as told:
        clamped(given, 0, 5, refuse=ValueError)
    assert "secret" not in str(told.value)


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        clamped([[1], [1, 2]], 0, 5, refuse=ValueError)
