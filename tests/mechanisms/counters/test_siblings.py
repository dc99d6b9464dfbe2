"""Siblings: figures of the frontier, exactness of the weights, limits."""

from __future__ import annotations

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.noise import System, Tape, Zero
from tests.mechanisms.counters.figures import mean_and_worst


@pytest.mark.parametrize(
    ("power", "shape", "mean", "worst"),
    [
        (10, (14, 3, 6), 11.12, 14.07),
        (16, (21, 4, 8), 20.8, 26.2),
        (20, (20, 5, 7), 28.2, 35.7),
    ],
)
def test_the_figures_of_the_frontier(
    power: int, shape: tuple[int, int, int], mean: float, worst: float
) -> None:
    recipe = SiblingsCounter(epsilon="1/100", horizon=2**power)
    assert (recipe.arity, recipe.levels, recipe.top) == shape
    figures = mean_and_worst(recipe, 2**power)
    assert figures[0] == pytest.approx(100 * mean, rel=0.01)
    assert figures[1] <= 100 * worst * 1.001


@pytest.mark.parametrize("power", [10, 16, 20])
def test_the_goal_against_the_binary_tree(power: int) -> None:
    siblings = mean_and_worst(SiblingsCounter(epsilon="1/100", horizon=2**power), 2**power)[0]
    binary = mean_and_worst(BinaryCounter(epsilon="1/100", horizon=2**power), 2**power)[0]
    assert siblings <= 0.32 * binary * 1.001


def test_the_measured_deviation_is_within_two_percent() -> None:
    # 100,000 independent counters at each step: the deviation of a sample deviation is at most
    # sqrt((6 - 1) / 4n) = 0.35% for sums of Laplace variables, so 2% is 5.6 of them
    recipe = SiblingsCounter(epsilon=1, horizon=1024, width=100_000)
    noise = recipe.start(System()).feed(np.zeros((40, 100_000), dtype=np.int64))
    for t in (1, 13, 27, 40):
        assert float(noise[t - 1].std()) == pytest.approx(recipe.error.std(t), rel=0.02)


def test_a_change_of_the_data_that_follows_the_nodes_is_hidden_exactly() -> None:
    # the theorem on the code: adding 1 to item s and taking 1 from the noise of every node that
    # holds s leaves every release as it was, rounding included
    recipe = SiblingsCounter(epsilon=1, horizon=60, arity=4)
    tape = Tape(beyond=System())
    still = np.zeros(60, dtype=np.int64)
    releases = recipe.start(tape).feed(still).tolist()
    for s in range(60):
        shifted = shift_nodes(tape.values, s, recipe.sizes)
        changed = still.copy()
        changed[s] = 1
        assert recipe.start(Tape(shifted)).feed(changed).tolist() == releases


def shift_nodes(values: list[int], item: int, sizes: tuple[int, ...]) -> list[int]:
    """Takes 1 from the noise of each node that holds the item, in the order of the tape."""
    shifted = list(values)
    place, groups = 0, {}
    for t in range(1, 61):
        block = 1
        for level, size in enumerate(sizes):
            block *= size
            starts = t == 1 or (t % block == 0 and level + 1 < len(sizes))
            if starts:
                group = 0 if t == 1 else t // block
                groups[level, group] = place
                place += size
    block = 1
    for level, size in enumerate(sizes):
        node = item // block
        group, child = (0, node) if level + 1 == len(sizes) else divmod(node, size)
        if (level, group) in groups:
            shifted[groups[level, group] + child] -= 1
        block *= size
    return shifted


def test_noise_too_large_for_its_weights_is_refused() -> None:
    with pytest.raises(BadInput, match="64 bits"):
        SiblingsCounter(epsilon=1e-9, horizon=1000, bound=100)


@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 40, 41])
def test_every_horizon_works_to_its_end(horizon: int) -> None:
    for arity in (None, 2, 3, 50):
        recipe = SiblingsCounter(epsilon=1, horizon=horizon, arity=arity)
        assert recipe.start(Zero()).feed([1] * horizon).tolist() == list(range(1, horizon + 1))


@pytest.mark.parametrize("horizon", [1, 8, 365])
def test_the_memory_is_the_state_and_the_noise_taken_ahead(horizon: int) -> None:
    recipe = SiblingsCounter(epsilon=1, horizon=horizon, width=3)
    run = recipe.start(Zero())
    run.feed([[1, 1, 1]] * min(horizon, 5))
    assert sum(part.size for part in run._parts()) + 3 * recipe.ahead == recipe.memory
