"""Lower bounds: the table of the catalogue, and that our counters respect it."""

from __future__ import annotations

import math
from itertools import combinations, product

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
from tests.each import together


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


@together("beta", [0, 0.05, 0.5, 0.9])
@together("epsilon", [0.1, 1, 3])
@together("changes", [1, 10, 73, 146, 10**6])
def test_so_many_users_make_the_jump_and_no_more(changes: int, epsilon: float, beta: float) -> None:
    n = 100

    def told_apart(m: int) -> bool:
        return changes * math.log(2) + math.log1p(-beta) <= epsilon * m

    bound = varying_bound(changes=changes, jump=1, users=n, epsilon=epsilon, beta=beta)
    m = round(2 * n * bound)
    assert bound == m / n / 2
    assert m == 0 or not told_apart(m)
    assert m == n or told_apart(m + 1)


@pytest.mark.parametrize("modulus", [2, 3, 5])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_inputs_of_the_theorem_are_apart_and_near_to_none(modulus: int, m: int) -> None:
    """At each of 4 steps m of 3 users enter residue 1, or leave it, or nothing happens."""
    n, steps = 3, 4
    paths = []
    for moves in product((False, True), repeat=steps):
        counts, fractions = [0] * n, []
        for moved in moves:
            if moved:
                occurrences = modulus - 1 if counts[0] % modulus == 1 else 1
                counts = [c + occurrences * (u < m) for u, c in enumerate(counts)]
            fractions.append(sum(c % modulus == 1 for c in counts) / n)
        assert sum(c > 0 for c in counts) <= m
        paths.append(fractions)
    for one, other in combinations(paths, 2):
        assert max(abs(a - b) for a, b in zip(one, other, strict=True)) == m / n


def test_the_bound_is_that_of_the_catalogue_up_to_rounding() -> None:
    n = 1000
    for epsilon in (0.1, 1.0):
        t = epsilon * n / math.log(2)
        for k in (2, 50, 100, 1000, 1445, 10**6):
            printed = min(1, k / t) / 2
            bound = varying_bound(changes=k, jump=1, users=n, epsilon=epsilon, beta=0)
            assert printed - 1 / n <= bound <= printed
    # without the minimum it would be 10^6 where always answering 0 errs by 1
    assert varying_bound(changes=10**6, jump=1, users=1, epsilon=1) == 0.5
    assert varying_bound(changes=146, jump=3, users=100, epsilon=1) == 1.5
    for bad in (-0.1, 1.0):
        with pytest.raises(BadInput, match="beta"):
            varying_bound(changes=1, jump=1, users=1, epsilon=1, beta=bad)
