"""Lower bounds: the table of the catalogue, and that our counters respect it."""

from __future__ import annotations

import pytest

from ameles.mechanisms.counters.choose import counter
from ameles.mechanisms.counters.lower_bounds import packing_bound


@pytest.mark.parametrize(("power", "bound"), [(8, 1.5), (16, 4.0), (20, 5.5), (60, 18.5)])
def test_the_table_of_the_catalogue(power: int, bound: float) -> None:
    assert packing_bound(horizon=2**power, epsilon=1, beta=1 / 3) == bound


@pytest.mark.parametrize("horizon", [2**8, 2**16])
@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_no_counter_is_below_it(horizon: int, epsilon: float) -> None:
    recipe = counter(epsilon=epsilon, horizon=horizon)
    assert recipe.error.bound_all(horizon, 1 / 3) >= packing_bound(
        horizon=horizon, epsilon=epsilon, beta=1 / 3
    )
