"""Honaker's estimate: variances by the recursion, figures of the frontier."""

from __future__ import annotations

import pytest

from ameles.mechanisms.counters.honaker import HonakerCounter
from tests.mechanisms.counters.figures import mean_and_worst


@pytest.mark.parametrize(("power", "mean", "worst"), [(10, 26.5, 37.5), (16, 50.4, 71.3)])
def test_the_figures_of_the_frontier(power: int, mean: float, worst: float) -> None:
    recipe = HonakerCounter(epsilon="1/100", horizon=2**power)
    assert mean_and_worst(recipe, 2**power)[0] == pytest.approx(100 * mean, rel=0.01)
    assert recipe.error.std(2**power - 1) == pytest.approx(100 * worst, rel=0.003)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_variances_follow_the_recursion(k: int) -> None:
    # 1 / v_j = 1 + 1 / (k v_(j-1)), for a full block of level j
    recipe = HonakerCounter(epsilon="1/1000", horizon=k**4, arity=k)
    one = recipe.error.std(1)
    v = 1.0
    for level in range(1, 4):
        v = 1 / (1 + 1 / (k * v))
        assert recipe.error.std(k**level) == pytest.approx(one * v**0.5, rel=1e-6)
