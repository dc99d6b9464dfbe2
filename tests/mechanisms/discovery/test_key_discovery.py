from __future__ import annotations

import math
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours
from ameles.mechanisms.discovery import KeyDiscovery

PLAIN: dict[str, Any] = {"epsilon": 6, "delta": "1e-9", "horizon": 100, "records": 32}


def test_looks_are_at_public_steps_and_the_last_is_the_end() -> None:
    for horizon, looks in ((100, None), (1000, None), (7, 3), (12, 12), (365, 100), (1, 1)):
        recipe = KeyDiscovery(epsilon=1, delta=1e-6, horizon=horizon, records=4, looks=looks)
        count = recipe.look_count
        steps = [recipe.step_of(look) for look in range(1, count + 1)]
        assert steps == [math.ceil(look * horizon / count) for look in range(1, count + 1)]
        told = {step: recipe.look_at(step) for step in range(1, horizon + 1)}
        assert {step: look for step, look in told.items() if look} == {
            step: look for look, step in enumerate(steps, start=1)
        }
        assert steps[-1] == horizon


def test_the_noise_is_that_of_the_formulas_at_the_benchmark() -> None:
    """T = 100, epsilon 6, delta 1e-9, C = 32, in units of a full slot.

    The tight conversion at delta / 2 gives rho 0.42177; sigma is sqrt(22 / 16 / rho) for selection
    and sqrt(32 / rho) for values; the best real rates have a smoothed deviation of 1.564 at the end
    and 1.663 at most, and a union over looks without any slack needs z = 7.004.
    """
    recipe = KeyDiscovery(**PLAIN)
    selection, values = recipe.selection, recipe.values
    unit = 4 << selection.noise.bits
    sigma = math.sqrt(selection.noise.variance) / unit
    assert sigma == pytest.approx(math.sqrt(22 / 16 / 0.42177), rel=5e-4)
    assert sigma > math.sqrt(22 / 16 / 0.42177)
    assert math.sqrt(values.variance) / (1 << values.bits) == pytest.approx(8.7103, rel=5e-4)
    deviations = [selection.std(look) / 4 / sigma for look in range(1, 101)]
    assert deviations[-1] == pytest.approx(1.564, rel=2e-3)
    assert max(deviations) == pytest.approx(1.663, rel=3e-3)
    assert 7.004 < selection.z < 7.01
    assert selection.thresholds[-1] / unit == pytest.approx(1 + 7.004 * 1.8056 * 1.564, rel=2e-3)


def test_the_guarantee_is_about_users() -> None:
    recipe = KeyDiscovery(**PLAIN, unit="user-window:10")
    assert recipe.guarantee.neighbours is Neighbours.USER_PRESENCE
    assert recipe.guarantee.horizon == 100
    assert [recipe.window_of(step) for step in (1, 10, 11, 100)] == [0, 0, 1, 9]


@pytest.mark.parametrize(
    "fields",
    [
        {"slots": ()},
        {"slots": (1, 2)},
        {"slots": (0,)},
        {"slots": (1,) * 33},
        {"slots": "4211"},
        {"per_key": 33},
        {"looks": 101},
        {"unit": "event"},
        {"delta": 0},
        {"horizon": None},
        {"epsilon": "1e-9", "bound": 1 << 30},
    ],
)
def test_recipes_that_cannot_be_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        KeyDiscovery(**{**PLAIN, **fields})
