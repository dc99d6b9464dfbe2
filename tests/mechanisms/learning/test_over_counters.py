"""Learners over counters: what reaches the counter, and what they make of its counts."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache, reduce
from typing import Any

import numpy as np
import pytest

from ameles.audit import exact_loss
from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.learning import (
    AccessList,
    PerturbedLeader,
    expert_counter,
    leader_regret,
    list_counter,
)
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.noise import System, Zero
from tests.odd_values import LARGE, ODD, name_of


def leader(grid: int = 1, rate: Any = 1000, experts: int = 3) -> PerturbedLeader:
    """One without noise."""
    counter = expert_counter(epsilon=1, experts=experts, horizon=8, grid=grid)
    return PerturbedLeader(counter.start(Zero()), rate=rate, noise=Zero(), grid=grid)


def test_a_leader_gives_its_counter_costs_within_the_grid() -> None:
    one = leader(grid=4)
    for costs in ([9, -3, 2], [10**30, 0, 0], np.array([200, 0, 0], dtype=np.uint8)):
        one.step(costs)
    assert one._costs is not None
    assert one._costs.tolist() == [12, 0, 2]
    assert "leader over" in repr(one)


def test_a_leader_decides_before_it_sees_the_costs_of_a_step() -> None:
    assert leader(grid=10).step([10, 0, 0]) == leader(grid=10).step([0, 0, 10])


@pytest.mark.parametrize("costs", [[1, 2], np.ones(3), 3, [[1, 2, 3]], np.array(["secret"] * 3)])
def test_costs_of_another_kind_are_refused_and_take_no_step(costs: Any) -> None:
    one = leader()
    with pytest.raises(BadInput, match="3 whole numbers") as told:
        one.step(costs)
    assert "secret" not in str(told.value)
    assert one._run.t == 0


def test_a_leader_needs_a_counter_that_hides_its_costs() -> None:
    counter = expert_counter(epsilon=1, experts=3, horizon=8, grid=4)
    with pytest.raises(BadInput, match="this grid"):
        PerturbedLeader(counter.start(Zero()), rate=1, noise=Zero(), grid=5)
    with pytest.raises(BadInput, match="this grid"):
        PerturbedLeader(SimpleTwoCounter(epsilon=1).start(Zero()), rate=1, noise=Zero())


@pytest.mark.parametrize("whole_step", [False, True])
def test_the_counters_of_experts_are_as_private_as_they_say(whole_step: bool) -> None:
    counter = expert_counter(epsilon=1, experts=2, horizon=4, whole_step=whole_step)
    finding = exact_loss(replace(counter, width=None), steps=4)
    assert finding.upper <= 1
    assert counter.bound == (2 if whole_step else 1)


def test_the_regret_of_a_leader_is_within_its_bound() -> None:
    # The bound is on the expectation, and far above: 10 runs of at most 256 cannot exceed it.
    counter = expert_counter(epsilon=5, experts=3, horizon=256)
    costs = System().uniform(2, (256, 3))
    costs[:, 1] &= System().uniform(2, 256)
    noise, regrets = System(), []
    for _ in range(10):
        leader = PerturbedLeader(counter.start(System.direct()), rate="0.2", noise=noise)
        followed = sum(int(row[leader.step(row)]) for row in costs)
        regrets.append(followed - int(costs.sum(axis=0).min()))
    best = float(costs.sum(axis=0).min())
    bound = leader_regret(counter, steps=256, rate="0.2", best=best)
    assert 0 < float(np.mean(regrets)) <= bound
    assert float(np.mean(regrets)) < 60, "it follows the best expert most of the time"


@cache
def noise_between(counter: PanPrivateCounter) -> Any:
    """The law of the noise of one expert minus that of the other, around zero."""
    ratio = math.exp(-1 / float(counter.scale))
    one = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-60, 61))
    # after the first step there are always 1 + depth noises in each count (catalogue 9)
    return reduce(np.convolve, [one] * (2 + 2 * counter.depth()))


def followed(counter: PanPrivateCounter, rate: float, costs: Any) -> float:
    """The exact expected cost of a leader of two experts, from the law of the counters' noise.

    The perturbations of both, subtracted, are a Laplace variable; it decides who leads.
    """
    law = noise_between(counter)
    away = np.arange(len(law)) - len(law) // 2
    total, counts = 0.5 * sum(costs[0]), np.array(costs[0])
    for row in costs[1:]:
        gap = counts[0] - counts[1] + away  # the first expert leads if the second has more cost
        first = np.where(
            gap > 0, np.exp(-rate * np.abs(gap)) / 2, 1 - np.exp(-rate * np.abs(gap)) / 2
        )
        share = float((law * first).sum())
        total += share * row[0] + (1 - share) * row[1]
        counts = counts + row
    return float(total)


@pytest.mark.parametrize("epsilon", [4, 40])
@pytest.mark.parametrize("rate", ["0.5", "2"])
def test_no_costs_of_two_experts_exceed_the_bound_of_the_regret(epsilon: int, rate: str) -> None:
    """Exactly, for all costs of three steps."""
    counter = expert_counter(epsilon=epsilon, experts=2, horizon=4)
    bounds = [leader_regret(counter, steps=3, rate=rate, best=best) for best in range(4)]
    closest = math.inf
    for costs in itertools.product(itertools.product((0, 1), repeat=2), repeat=3):
        best = int(np.array(costs).sum(axis=0).min())
        regret = followed(counter, float(rate), costs) - best
        assert regret <= bounds[best]
        closest = min(closest, bounds[best] / max(regret, 1e-9))
    assert closest < (2 if (epsilon, rate) == (40, "2") else 40)


def test_the_law_of_a_leader_is_that_of_its_draws() -> None:
    # 500 runs of two steps: the share of the first expert is within 5.4 deviations, 1e-7
    counter = expert_counter(epsilon=40, experts=2, horizon=4)
    costs = [[0, 1], [1, 0]]
    noise = System()
    total = 0
    for _ in range(500):
        run = PerturbedLeader(counter.start(System.direct()), rate="0.5", noise=noise)
        total += sum(row[run.step(row)] for row in costs)
    assert abs(total / 500 - followed(counter, 0.5, costs)) < 5.4 * 0.71 / math.sqrt(500)


def test_a_rate_of_zero_is_refused() -> None:
    with pytest.raises(BadInput, match="rate"):
        leader(rate=0)


def test_a_list_asks_its_counter_one_request_at_a_time() -> None:
    run = list_counter(epsilon=1, items=3, horizon=4).start(Zero())
    items = AccessList(run)
    orders = []
    for item in (2, np.int8(2), 0, 2):
        items.request(item)
        orders.append(items.order)
    assert orders == [(2, 0, 1)] * 4
    assert "list over" in repr(items)
    assert list_counter(epsilon=1, items=3, horizon=4).guarantee.contribution.bound == 2


def test_a_request_gives_nothing_back() -> None:
    # the place of an item in the list, which is public, names the item
    items: Any = AccessList(list_counter(epsilon=1, items=3, horizon=4).start(Zero()))
    answers: list[Any] = [items.request(item) for item in (2, 0, 99)]
    assert answers == [None, None, None]


@pytest.mark.parametrize("item", [*ODD, *LARGE, 3, -1], ids=name_of)
def test_a_request_for_no_item_counts_nowhere(item: Any) -> None:
    run = list_counter(epsilon=1, items=3, horizon=4).start(Zero())
    items = AccessList(run)
    items.request(1)
    items.request(item)
    assert items.order == (1, 0, 2)
    assert run.t == 2
    assert np.asarray(run.step(np.zeros(3, dtype=np.int64))).tolist() == [0, 1, 0]


@pytest.mark.parametrize("given", [{"width": 3, "bound": 1}, {"bound": 2}])
def test_a_list_needs_a_counter_that_hides_two_changes(given: Any) -> None:
    run = PanPrivateCounter(epsilon=1, horizon=4, **given).start(Zero())
    with pytest.raises(BadInput, match="list_counter"):
        AccessList(run)
