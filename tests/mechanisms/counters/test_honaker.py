"""Honaker's estimate: variances by the recursion, figures of the frontier."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from ameles.audit.algebra import Floats
from ameles.audit.solver import cheapest
from ameles.mechanisms.counters.honaker import HonakerCounter
from ameles.noise import Tape
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


# Several contributions: why m times the noise stays -----------------------------------------


def shifts_of_continuous_noise(horizon: int, k: int, contributions: int) -> float:
    """What the worst steps would cost if noise were continuous: a block costs 1 / k for each larger
    block that ends with it, since the noise of that block can be shifted in its place."""
    levels = HonakerCounter(epsilon=1, horizon=horizon, arity=k).levels

    def cost(step: int, level: int) -> float:
        block, larger = -(-step // k**level), 0
        if block * k**level > horizon:
            return 0
        while level + larger < levels - 1 and block % k ** (larger + 1) == 0:
            larger += 1
        return float(k) ** -larger

    costs = [sum(cost(s, level) for level in range(levels)) for s in range(1, horizon + 1)]
    return sum(sorted(costs, reverse=True)[:contributions])


@pytest.mark.parametrize(("horizon", "contributions"), [(4, 1), (4, 3), (7, 2), (8, 2)])
def test_what_continuous_noise_would_cost(horizon: int, contributions: int) -> None:
    recipe = HonakerCounter(epsilon=1, horizon=horizon)
    still, tape = np.zeros(horizon, dtype=np.int64), Tape()
    recipe.start(tape).feed(still)
    one = recipe.resolution  # so large that nothing is rounded
    places = range(len(tape.draws))
    columns = [recipe.start(Tape([0] * place + [one])).feed(still) / one for place in places]
    matrix: Floats = np.array(columns).T
    worst = 0.0
    for changed in combinations(range(horizon), contributions):
        change = np.isin(np.arange(horizon), changed)  # all in one direction is the worst
        found = cheapest(matrix, np.cumsum(change).astype(float), np.ones(len(columns)))
        assert found is not None
        worst = max(worst, float(np.abs(found.shift).sum()))
    # weights are rounded to one part in 4096
    expected = shifts_of_continuous_noise(horizon, 2, contributions)
    assert worst == pytest.approx(expected, rel=1e-4)


def test_the_figures_of_the_docs() -> None:
    assert [shifts_of_continuous_noise(1024, 2, m) for m in (1, 3, 10, 100)] == [
        11,
        32,
        105.5,
        981.75,
    ]
    assert shifts_of_continuous_noise(1024, 4, 100) == 600


@pytest.mark.parametrize(("epsilon", "share"), [(1, 0.883), (4, 0.905)])
def test_whole_noise_costs_more_than_continuous_noise_would(epsilon: int, share: float) -> None:
    # Two steps, and both of them change.  Noises z of the steps and b of the block, all cases.
    recipe = HonakerCounter(epsilon=epsilon, horizon=2, contributions=2)
    scale = float(recipe.scale)
    most, seen = int(60 * scale), int(20 * scale)  # beyond the first are none of the second
    noises = np.arange(-most, most + 1)
    law = np.exp(-np.abs(noises) / scale)
    second, block = noises[:, None], noises

    def released(first: int) -> Floats:
        """The law of the second release if the first noise is this."""
        count = block - (1365 * (block - first - second) + 2048 >> 12)
        for z, b in ((3, -7), (-20, 5)):
            run = recipe.start(Tape([first, z, b])).feed([0, 0])
            assert run.tolist() == [first, count[z + most, b + most]]
        inside = np.abs(count) <= seen
        weights = np.outer(law, law)[inside]
        found: Floats = np.zeros(2 * seen + 1)
        np.add.at(found, count[inside] + seen, weights)
        return found

    cached = cache(released)
    loss = 0.0
    for first in range(-3, 4):
        changed, ratio = cached(first - 1), cached(first)[2:]
        moved = (abs(first - 1) - abs(first)) / scale
        loss = max(loss, float(np.abs(np.log(ratio / changed[:-2]) + moved).max()))
    assert loss / epsilon == pytest.approx(share, abs=0.0005)
    assert shifts_of_continuous_noise(2, 2, 2) / 4 == 0.875 < loss / epsilon
