"""Learners over counters: what reaches the counter, and what they make of its counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ameles.audit import exact_loss
from ameles.core.exceptions import BadInput
from ameles.mechanisms.learning import (
    AccessList,
    OnlineClassifier,
    PerturbedLeader,
    classifier_counter,
    expert_counter,
    leader_regret,
    list_counter,
)
from ameles.mechanisms.learning.online_classifier import GRID, clipped
from ameles.noise import System, Zero


class Counted:
    """Stands for the run of a counter, and keeps what it is given; counts without noise."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def step(self, x: Any) -> Any:
        self.given.append(np.array(x))
        return np.sum(self.given, axis=0)


def test_a_leader_gives_its_counter_costs_within_the_grid() -> None:
    run: Any = Counted()
    leader = PerturbedLeader(run, rate=1, noise=Zero(), grid=4)
    leader.step([9, -3, 2])
    assert run.given[0].tolist() == [4, 0, 2]
    assert "leader over" in repr(leader)


def test_a_leader_decides_before_it_sees_the_costs_of_a_step() -> None:
    one: Any = Counted()
    two: Any = Counted()
    leaders = [PerturbedLeader(run, rate=1000, noise=Zero(), grid=10) for run in (one, two)]
    assert leaders[0].step([10, 0, 0]) == leaders[1].step([0, 0, 10])


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


def test_a_rate_of_zero_is_refused() -> None:
    run: Any = Counted()
    with pytest.raises(BadInput, match="rate"):
        PerturbedLeader(run, rate=0, noise=Zero())


def test_a_list_asks_its_counter_one_request_at_a_time() -> None:
    run: Any = Counted()
    items = AccessList(run, items=3)
    places = [items.request(item) for item in (2, 2, 0, 2)]
    assert places == [3, 1, 2, 1]
    assert items.order == (2, 0, 1)
    assert all(row.sum() == 1 and row.min() == 0 for row in run.given)
    assert "list over" in repr(items)
    for item in (-1, 3):
        with pytest.raises(BadInput, match="item"):
            items.request(item)
    assert list_counter(epsilon=1, items=3, horizon=4).guarantee.contribution.bound == 2


def classifier(contributions: int = 1) -> tuple[Any, OnlineClassifier]:
    run: Any = Counted()
    return run, OnlineClassifier(run, features=2, rate="0.5", contributions=contributions)


def test_one_user_changes_a_step_by_at_most_a_gradient_of_size_one() -> None:
    rows = np.array([[30.0, -5.0], [0.1, 0.2], [2.0, 2.0], [9.0, 9.0], [-7.0, 1.0]])
    labels = [True, False, True, False, True]
    users = ["a", "b", "a", "a", "c"]
    for user in "abc":
        kept = [place for place, one in enumerate(users) if one != user]
        (with_user, model), (without, other) = classifier(), classifier()
        model.partial_fit(rows, labels, users)
        other.partial_fit(rows[kept], [labels[p] for p in kept], [users[p] for p in kept])
        change = with_user.given[0] - without.given[0]
        assert 0 < np.abs(change).sum() <= GRID


def test_a_user_is_used_in_so_many_steps_and_no_more() -> None:
    run, model = classifier(contributions=2)
    for _ in range(4):
        model.partial_fit([[1.0, 0.0]], [True], ["a"])
    assert [bool(row.any()) for row in run.given] == [True, True, False, False]
    model.partial_fit([[1.0, 0.0], [1.0, 0.0]], [True, True], ["a", "b"])
    assert run.given[-1].any()


def test_rows_that_are_no_numbers_count_as_zero_and_nothing_is_refused() -> None:
    run, model = classifier()
    model.partial_fit([[np.nan, np.inf], [-np.inf, 1.0]], [True, False])
    assert np.isfinite(model.coef_).all()
    assert len(run.given) == 1


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_a_clipped_gradient_is_never_longer_than_the_grid(scale: float) -> None:
    noise = System()
    for _ in range(200):
        gradient = (noise.uniform(2001, 4) - 1000) * scale
        units = clipped(np.asarray(gradient, dtype=float))
        assert np.abs(units).sum() <= GRID


def test_a_gradient_that_is_no_number_counts_as_zero() -> None:
    for wrong in (np.inf, np.nan):
        assert clipped(np.array([1.0, wrong])).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("rows", "labels", "users"),
    [
        ([[1.0]], [True], None),
        ([1.0, 2.0], [True, False], None),
        ([[1.0, 2.0]], [0.5], None),
        ([[1.0, 2.0]], [True, False], None),
        ([[1.0, 2.0]], [True], ["a", "b"]),
    ],
)
def test_what_is_refused_takes_no_step(rows: Any, labels: Any, users: Any) -> None:
    run, model = classifier()
    with pytest.raises(BadInput):
        model.partial_fit(rows, labels, users)
    assert not run.given
    assert "classifier over" in repr(model)


def test_it_learns_with_noise_what_a_constant_cannot_tell() -> None:
    """4,000 people in 40 steps, epsilon 1: 90% at least, where a constant has 50%."""
    counter = classifier_counter(epsilon=1, delta="1e-6", features=2, steps=40)
    model = OnlineClassifier(counter.start(System()), features=2, rate="0.1")
    rows = (System().uniform(2001, (4000, 2)) - 1000) / 1000
    labels = rows @ [1.0, -0.5] > 0
    for batch in range(40):
        part = slice(100 * batch, 100 * batch + 100)
        model = model.partial_fit(rows[part], labels[part])
    assert model.score(rows, labels) > 0.9
    shares = model.predict_proba(rows)
    assert np.allclose(shares.sum(axis=1), 1)
    assert ((shares[:, 1] > 0.5) == model.predict(rows)).all()
    assert np.isfinite(model.intercept_)
    assert counter.guarantee.contribution.bound == GRID
