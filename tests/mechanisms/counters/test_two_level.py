"""The two-level counter: terms, scales and the block sizes at the edge."""

from __future__ import annotations

import pytest

from ameles.mechanisms.counters.two_level import TwoLevelCounter
from tests.mechanisms.counters.figures import mean_and_worst


def test_terms_are_whole_blocks_and_single_steps() -> None:
    error = TwoLevelCounter(epsilon=1, horizon=16, block=4).error
    assert [error.terms(t) for t in range(1, 17)] == [t // 4 + t % 4 for t in range(1, 17)]
    assert error.most_terms(16) == 6


@pytest.mark.parametrize(("block", "levels"), [(1, 1), (4, 2), (16, 2), (17, 1), (None, 2)])
def test_a_level_that_would_repeat_or_never_end_is_left_out(block: int | None, levels: int) -> None:
    assert TwoLevelCounter(epsilon=1, horizon=16, block=block).scale == levels


@pytest.mark.parametrize(("power", "mean", "worst"), [(10, 15.8, 22.3), (16, 45.2, 63.9)])
def test_the_figures_of_the_frontier(power: int, mean: float, worst: float) -> None:
    figures = mean_and_worst(TwoLevelCounter(epsilon="1/100", horizon=2**power), 2**power)
    assert figures[0] == pytest.approx(100 * mean, rel=0.02)
    assert figures[1] == pytest.approx(100 * worst, rel=0.03)
