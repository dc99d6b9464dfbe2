"""Inputs that are no whole numbers, or not as many as there should be, are refused; large ones are
not, because a refusal would depend on the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.one_shot.exact_inputs import scores

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
def test_scores_are_so_many_whole_numbers(given: Any) -> None:
    with pytest.raises(BadInput, match="must be"):
        scores(given, 2)


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
