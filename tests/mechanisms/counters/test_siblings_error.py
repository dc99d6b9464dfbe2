"""The Siblings error: mean and maximum in closed form against one by one."""

from __future__ import annotations

import numpy as np
import pytest

from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.siblings_error import gains, mean_variance, worst_variance


def variance_of(t: int, k: int, levels: int) -> float:
    """The recursion of the module, written out for one t."""
    v_path, v, c = 1.0, 0.0, 0.0
    for level in range(levels):
        digit = t // k**level % k if level < levels - 1 else t // k**level
        v, c = v + digit, c + digit
        spread = (k - 1) + v_path
        if level < levels - 1:
            gain = 1 / (spread + 1)
            v, c, v_path = v - c * c * gain, c * gain, spread * gain
    return v


@pytest.mark.parametrize(("horizon", "k"), [(30, 2), (100, 3), (1024, 14), (700, 30)])
def test_the_mean_is_the_mean(horizon: int, k: int) -> None:
    levels = SiblingsCounter(epsilon=1, horizon=horizon, arity=k).levels
    mean = np.mean([variance_of(t, k, levels) for t in range(1, horizon + 1)])
    assert mean_variance(horizon, k) == pytest.approx(levels**2 * mean, rel=1e-9)


@pytest.mark.parametrize(("horizon", "k"), [(63, 2), (100, 3), (1024, 14), (9000, 20)])
def test_the_maximum_bounds_every_step_closely(horizon: int, k: int) -> None:
    recipe = SiblingsCounter(epsilon=1, horizon=horizon, arity=k)
    most = max(variance_of(t, k, recipe.levels) for t in range(1, horizon + 1))
    assert most <= worst_variance(k, recipe.sizes) <= 1.25 * most + 0.5


def test_gains_fall_towards_their_limit() -> None:
    falling = gains(10, 6)
    assert len(falling) == 5
    assert all(0 < gain < 1 for gain in falling)
