"""Reports that no device wrote are refused before they are counted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.local import MarginalResponse, MeanResponse, RandomizedResponse
from tests.mechanisms.local.test_randomizers import KINDS

BAD_REPORTS: tuple[Any, ...] = (
    [-1],
    [8],
    [1.0],
    [math.nan],
    ["1"],
    [None],
    [True],
    5,
    [[1], [1, 0]],
    np.array([2**63], dtype=np.uint64),
    np.zeros((2, 1, 5), dtype=int),
)
BAD_ROWS: tuple[Any, ...] = ([[1, 0]], [[0, 0, 2, 0, 0]], [[256, 0, 0, 0, 0]], [[0.0] * 5])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reports", [*BAD_REPORTS, *BAD_ROWS], ids=repr)
def test_what_is_no_report_is_refused(kind: Any, reports: Any) -> None:
    recipe = kind(categories=5, epsilon=1)
    for use in (recipe.estimate, recipe.support):
        with pytest.raises(BadInput, match="Reports must be"):
            use(reports)


def test_other_randomizers_refuse_what_is_no_report() -> None:
    # one such bit would count for many users, in a mean or in a marginal
    reports: list[Any] = [[2], [-1], [0.5], [[1]]]
    for one in reports:
        with pytest.raises(BadInput, match="from 0 to 1"):
            MeanResponse(largest=3, epsilon=1).estimate(one)
    for one in [*reports[1:], [6]]:
        with pytest.raises(BadInput, match="from 0 to 5"):
            MarginalResponse(attributes=2, epsilon=1).marginal(one, (0,))


@pytest.mark.parametrize("beta", [0, 1, -1, 2, math.nan, "x"])
def test_a_confidence_is_a_probability(beta: Any) -> None:
    with pytest.raises(BadInput, match="beta"):
        RandomizedResponse(categories=2, epsilon=1).estimate([1], beta=beta)
