"""Lower bounds: the table of the catalogue, and that our counters respect it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.choose import counter
from ameles.mechanisms.counters.lower_bounds import (
    binomial_distance,
    intrusion_bound,
    packing_bound,
    varying_bound,
)
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter


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


@pytest.mark.parametrize(("k", "distance"), [(2, 0.383), (4, 0.197), (10, 0.080)])
def test_the_distances_of_the_catalogue(k: int, distance: float) -> None:
    for n in (10**4, 10**8):
        assert binomial_distance(n, 0.5, 0.5 + 1 / (k * math.sqrt(n))) == pytest.approx(
            distance, abs=5e-4
        )


@pytest.mark.parametrize(("n", "p", "q"), [(1, 0.3, 0.6), (50, 0.1, 0.2), (3000, 0.7, 0.69)])
def test_the_distance_is_that_of_the_two_laws(n: int, p: float, q: float) -> None:
    counts = np.arange(n + 1)
    apart = np.abs(binom.pmf(counts, n, p) - binom.pmf(counts, n, q)).sum() / 2
    assert binomial_distance(n, p, q) == pytest.approx(apart, abs=1e-9)
    assert binomial_distance(n, q, p) == pytest.approx(apart, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 1.5, 3])
def test_seized_after_every_step_the_root_is_needed_and_reached(epsilon: float) -> None:
    # also above ln 3, where the lemma of the paper has a negative probability
    bounds = [intrusion_bound(intrusions=n, epsilon=epsilon, beta=0.1) for n in (10**4, 10**6)]
    assert bounds[1] / bounds[0] == pytest.approx(10, rel=0.25)
    for n, bound in zip((10**4, 10**6), bounds, strict=True):
        assert 0 < bound <= SimpleTwoCounter(epsilon=epsilon).error.bound(n, 0.1)


def test_the_inequality_by_hand() -> None:
    # n = 10^4, epsilon = 1, beta = 1/4: at E = 49.5 some rate of ones still violates it
    n, r = 10**4, 1 / (1 + math.e)
    rates = [c / 100 for c in np.geomspace(1 / 16, 16, 400)]
    room = [
        1 - 2 / 4 - binomial_distance(n, r, r + rate * math.tanh(0.5)) - binom.cdf(99, n, rate)
        for rate in rates
    ]
    assert max(room) > 0


@pytest.mark.parametrize("bad", [-0.1, 0.5, 1.0])
def test_a_coin_is_right_half_of_the_time(bad: float) -> None:
    with pytest.raises(BadInput):
        intrusion_bound(intrusions=10, epsilon=1, beta=bad)


def test_functions_that_vary() -> None:
    # t is the first whole number above 1 + n / ln 2: 145.3 for 100 users
    assert varying_bound(changes=73, jump=1, users=100, epsilon=1) == 0.25
    assert varying_bound(changes=146, jump=3, users=100, epsilon=1) == 1.5
    # the printed bound, d k / n, would be 10^6 where always answering 0 errs by 1
    assert varying_bound(changes=10**6, jump=1, users=1, epsilon=1) == 0.5
