"""The binary counter: its level count, and the figures of the frontier."""

from __future__ import annotations

import math

import pytest

from ameles.mechanisms.counters.binary import BinaryCounter
from tests.mechanisms.counters.figures import mean_and_worst


def test_levels_are_those_of_the_corrected_theorem() -> None:
    for horizon in range(1, 200):
        assert (
            BinaryCounter(epsilon=1, horizon=horizon).levels == math.floor(math.log2(horizon)) + 1
        )


@pytest.mark.parametrize(
    ("power", "mean", "worst"), [(10, 34.8, 49.2), (16, 68.0, 96.2), (20, 93.9, 132.8)]
)
def test_the_figures_of_the_frontier(power: int, mean: float, worst: float) -> None:
    recipe = BinaryCounter(epsilon="1/100", horizon=2**power)
    assert mean_and_worst(recipe, 2**power)[0] == pytest.approx(100 * mean, rel=0.01)
    assert recipe.error.std(2**power - 1) == pytest.approx(100 * worst, rel=0.002)


def test_ninety_five_percent_at_the_worst_step() -> None:
    # catalogue 5: 97.5 for continuous noise at T = 1024, 243.0 at T = 10^6 (k = 19, b = 20)
    assert BinaryCounter(epsilon=1, horizon=1024).error.bound(1023, 0.05) in (97, 98)
    assert BinaryCounter(epsilon=1, horizon=10**6).error.bound(2**19 - 1, 0.05) in (242, 243, 244)
