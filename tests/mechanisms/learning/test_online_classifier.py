"""The classifier: what reaches its counter, whose runs it takes, how it goes on after a restart."""

from __future__ import annotations

import copy
import math
import uuid
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import AmelesError, BadInput, HorizonReached, StoreRefused
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.learning import (
    GradientCounter,
    OnlineClassifier,
    classifier_counter,
    expert_counter,
)
from ameles.mechanisms.learning.gradients import GRID, _number
from ameles.mechanisms.learning.user_limit import UserLimit, user_id
from ameles.noise import System, Zero
from tests.odd_values import LARGE, ODD, name_of


class Watched:
    """A classifier of two features without noise, and what reached its counter."""

    def __init__(self, contributions: int = 1, unit: str = "user", **given: Any) -> None:
        self.counter = classifier_counter(
            epsilon=1,
            delta="1e-6",
            features=2,
            steps=6,
            contributions=contributions,
            unit=unit,
        )
        self.run = self.counter.start(Zero())
        self.model = OnlineClassifier(self.run, **{"rate": "0.5", **given})
        self._sum = np.zeros(3)

    def fit(self, *batch: Any) -> Any:
        """The change of the counter's sums by one step."""
        self.model.partial_fit(*batch)
        before, self._sum = self._sum, np.append(self.model.coef_, self.model.intercept_)
        return np.rint((before - self._sum) * GRID / 0.5).astype(int)


ROWS = np.array([[30.0, -5.0], [0.1, 0.2], [2.0, 2.0], [9.0, 9.0], [-7.0, 1.0]])
LABELS = [True, False, True, False, True]
USERS = ["a", "b", "a", "a", "c"]


@pytest.mark.parametrize("user", ["a", "b", "c"])
def test_one_user_changes_a_step_by_at_most_a_gradient_of_length_one(user: str) -> None:
    kept = [place for place, one in enumerate(USERS) if one != user]
    whole = Watched().fit(ROWS, LABELS, USERS)
    without = Watched().fit(ROWS[kept], [LABELS[p] for p in kept], [USERS[p] for p in kept])
    change = whole - without
    alone = [place for place, one in enumerate(USERS) if one == user]
    only = Watched().fit(ROWS[alone], [LABELS[p] for p in alone], [USERS[p] for p in alone])
    assert change.tolist() == only.tolist(), "others count as if the user were not there"
    assert 0 < int(change @ change) <= GRID**2


def test_rows_of_one_user_count_as_one_gradient_wherever_they_stand() -> None:
    once = Watched().fit([[1.0, 0.0]], [True], ["a"])
    often = Watched().fit([[1.0, 0.0]] * 50, [True] * 50, ["a"] * 50)
    assert int(often @ often) <= GRID**2
    assert int(often @ often) > int(once @ once)
    shuffled = [4, 2, 0, 3, 1]
    mixed = Watched().fit(
        ROWS[shuffled], [LABELS[p] for p in shuffled], [USERS[p] for p in shuffled]
    )
    assert mixed.tolist() == Watched().fit(ROWS, LABELS, USERS).tolist()


def test_a_user_who_comes_back_is_used_in_so_many_steps_and_no_more() -> None:
    watched = Watched(contributions=2)
    batches = [["a"], [], ["a"], ["a"], ["a", "b"]]
    used = [
        bool(watched.fit([[1.0, 0.0]] * len(owners), [True] * len(owners), owners).any())
        for owners in batches
    ]
    assert used == [True, False, True, False, True]


def test_an_event_is_one_row_whatever_others_there_are() -> None:
    one, two = Watched(unit="event"), Watched(unit="event")
    change = one.fit(ROWS, LABELS) - two.fit(ROWS[1:], LABELS[1:])
    assert 0 < int(change @ change) <= GRID**2


@pytest.mark.parametrize(("unit", "users"), [("user", None), ("event", ["a"])])
def test_users_are_named_if_they_are_protected_and_only_then(unit: str, users: Any) -> None:
    watched = Watched(unit=unit)
    with pytest.raises(BadInput, match="protects users"):
        watched.model.partial_fit([[1.0, 0.0]], [True], users)
    assert watched.run.t == 0


@pytest.mark.parametrize(
    ("values", "same"),
    [
        ([7, "7", 7.0, np.int32(7), np.float64(7)], "7"),
        (["ann", np.str_("ann")], "ann"),
        ([uuid.UUID(int=5), str(uuid.UUID(int=5))], str(uuid.UUID(int=5))),
        ([None, "", 0.5, math.nan, math.inf, True, np.bool_(True), 2.0**53, b"a", ("a",)], None),
        (["a\ufffd", "\ud800"], None),
    ],
)
def test_a_user_has_one_id_in_all_forms(values: list[Any], same: str | None) -> None:
    assert {user_id(value) for value in values} == {same}


def test_rows_without_a_user_or_a_known_label_count_nowhere() -> None:
    watched = Watched(contributions=6, classes=("ham", "spam"))
    plain = watched.fit([[1.0, 0.0]], ["spam"], ["a"])
    assert plain.any()
    fresh = Watched(contributions=6, classes=("ham", "spam"))
    owners = ["a", None, "b", math.nan]
    labels = ["spam", "ham", "eggs", "spam"]
    assert fresh.fit([[1.0, 0.0]] * 4, labels, owners).tolist() == plain.tolist()
    mixed = Watched(contributions=6, classes=(0, 1))
    assert mixed.fit([[1.0, 0.0]] * 2, [1, "1"], ["a", "b"]).tolist() == plain.tolist()
    assert fresh.model._limit is not None
    assert fresh.model._limit.used == {"a": 1}, "a row that counts nowhere uses nobody up"


def test_classes_name_what_is_predicted() -> None:
    watched = Watched(unit="event", classes=(-1, 1))
    for _ in range(6):
        watched.fit([[1.0, 0.0], [-1.0, 0.0]] * 20, [1, -1] * 20)
    assert watched.model.predict([[1.0, 0.0], [-1.0, 0.0]]).tolist() == [1, -1]
    assert watched.model.classes_.tolist() == [-1, 1]
    assert watched.model.n_features_in_ == 2
    assert watched.model.score([[1.0, 0.0]] * 2, [1, 5]) == 0.5
    assert watched.model.score([], []) == 0


@pytest.mark.parametrize("classes", [(1,), (1, 1), (0, 1, 2), (1, "a"), (0.5, 1), (None, 1)])
def test_classes_are_two_labels(classes: Any) -> None:
    with pytest.raises(BadInput, match="classes"):
        Watched(classes=classes)


@pytest.mark.parametrize("rate", [0, -1])
def test_a_rate_is_above_zero(rate: int) -> None:
    with pytest.raises(BadInput, match="rate"):
        Watched(rate=rate)


@pytest.mark.parametrize(
    ("rows", "labels", "users"),
    [
        (np.ones((1, 1)), [True], ["a"]),
        (np.array([1.0, 2.0]), [True, False], ["a", "b"]),
        ([[1.0, 2.0]], [True, False], ["a"]),
        ([[1.0, 2.0]], np.array([[True]]), ["a"]),
        ([[1.0, 2.0]], [[True], [True, False]], ["a"]),
        ([[1.0, 2.0]], [True], ["a", "b"]),
        ([[1.0, 2.0]], [True], "a"),
        ([[1.0, 2.0]], [True], iter(["a"])),
    ],
)
def test_what_is_refused_takes_no_step_and_uses_nobody_up(
    rows: Any, labels: Any, users: Any
) -> None:
    watched = Watched()
    with pytest.raises(BadInput):
        watched.model.partial_fit(rows, labels, users)
    assert watched.run.t == 0
    assert watched.fit([[1.0, 2.0]], [True], ["a"]).any()


def test_the_end_of_the_run_uses_nobody_up() -> None:
    watched = Watched()
    for _ in range(6):
        watched.fit([], [], [])
    with pytest.raises(HorizonReached):
        watched.model.partial_fit([[1.0, 2.0]], [True], ["a"])
    assert watched.model._limit is not None
    assert not watched.model._limit.used


def test_only_a_run_whose_noise_hides_a_gradient_will_do() -> None:
    short = GradientCounter(rho=1, horizon=4, width=3, bound=GRID - 1)
    flat = BufferedCounter(rho=1, horizon=4, width=3, bound=GRID)
    experts = expert_counter(epsilon=1, experts=3, horizon=4)
    for counter in (short, flat, experts):
        with pytest.raises(BadInput, match="classifier_counter"):
            OnlineClassifier(counter.start(System.direct()), rate=1)
    windows = GradientCounter(rho=1, horizon=4, width=3, bound=GRID, unit="user-window:2")
    with pytest.raises(BadInput, match="event or user"):
        OnlineClassifier(windows.start(Zero()), rate=1)
    with pytest.raises(BadInput, match="contributions"):
        classifier_counter(epsilon=1, delta="1e-6", features=2, steps=4, contributions=2)


def test_two_classifiers_cannot_share_a_run() -> None:
    watched = Watched()
    other = OnlineClassifier(watched.run, rate=1)
    twin = copy.copy(watched.model)
    watched.fit([[1.0, 0.0]], [True], ["a"])
    for late in (other, twin, OnlineClassifier(watched.run, rate=1)):
        with pytest.raises(BadInput, match="taken 1 steps"):
            late.partial_fit([[1.0, 0.0]], [True], ["a"])
    with pytest.raises(AmelesError, match="copied"):
        copy.deepcopy(watched.model)


def test_after_a_restart_it_knows_its_users_and_its_weights() -> None:
    watched = Watched(contributions=2, classes=("no", "yes"))
    watched.fit([[1.0, 0.0], [0.0, 1.0]], ["yes", "no"], ["a", 7])
    kept = watched.run.snapshot(), watched.model.snapshot()
    run = watched.counter.resume(kept[0], Zero())
    resumed = OnlineClassifier.resume(run, kept[1])
    assert resumed.coef_.tolist() == watched.model.coef_.tolist()
    assert resumed.classes_.tolist() == ["no", "yes"]
    assert resumed._limit is not None
    assert resumed._limit.used == {"a": 1, "7": 1}
    resumed.partial_fit([[1.0, 0.0]], ["yes"], ["a"])
    before = resumed.coef_
    assert resumed.partial_fit([[1.0, 0.0]], ["yes"], ["a"]).coef_.tolist() == before.tolist()
    with pytest.raises(BadInput, match="taken 3 steps"):
        OnlineClassifier.resume(run, kept[1])
    with pytest.raises(BadInput, match="another run"):
        OnlineClassifier.resume(watched.counter.start(Zero()), kept[1])


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: b"\xff",
        lambda kept: b"{}",
        lambda kept: kept.replace(b'"rate"', b'"rats"'),
        lambda kept: kept.replace(b'"step":0', b'"step":-1'),
        lambda kept: kept.replace(b'"used":{}', b'"used":3'),
        lambda kept: kept.replace(b'"version":1', b'"version":2'),
        lambda kept: kept.replace(b'"0x0.0p+0"', b'"x"'),
    ],
)
def test_a_damaged_snapshot_is_refused(damage: Any) -> None:
    watched = Watched()
    with pytest.raises((StoreRefused, BadInput)):
        OnlineClassifier.resume(watched.run, damage(watched.model.snapshot()))


def test_nothing_that_prints_names_a_user() -> None:
    watched = Watched()
    watched.fit([[1.0, 0.0]], [True], ["ann"])
    assert "ann" not in repr(watched.model)
    limit = UserLimit(3)
    limit.admit(["ann"])
    assert repr(limit) == "<limit of 3 steps for each user>"


def test_it_learns_with_noise_what_a_constant_cannot_tell() -> None:
    """4,000 people in 40 steps, epsilon 1: 90% at least, where a constant has 50%."""
    counter = classifier_counter(epsilon=1, delta="1e-6", features=2, steps=40)
    model = OnlineClassifier(counter.start(System()), rate="0.1")
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


STRANGE: list[Any] = [*ODD, *LARGE]


@pytest.mark.parametrize("odd", STRANGE, ids=name_of)
def test_one_person_s_odd_value_counts_nowhere(odd: Any) -> None:
    """As a label, a user, a row: the others' gradients are the same."""
    rows, labels, users = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], [True, False, True], ["a", "b", "c"]
    without = Watched()
    without.fit([rows[0], rows[2]], [True, True], ["a", "c"])
    expected = without.model.coef_.tolist()
    watched = Watched()
    watched.fit(rows, [True, odd, True], users)
    assert watched.model.coef_.tolist() == expected
    if user_id(odd) is None:
        watched = Watched()
        watched.fit(rows, labels, ["a", odd, "c"])
        assert watched.model.coef_.tolist() == expected
    # a cell that is no number is zero, and so are all cells of a row that is none; others stay
    for given, read in (([0.5, odd], [0.5, _number(odd)]), (odd, [0.0, 0.0])):
        one, other = Watched(), Watched()
        one.fit([rows[0], given, rows[2]], labels, users)
        other.fit([rows[0], read, rows[2]], labels, users)
        assert one.model.coef_.tolist() == other.model.coef_.tolist()


def test_a_label_of_the_only_row_may_be_odd() -> None:
    for odd in ODD:
        watched = Watched()
        watched.fit([[1.0, 0.0]], [odd], ["a"])
        assert watched.model.coef_.tolist() == [0.0, 0.0]
