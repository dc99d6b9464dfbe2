"""What restarts mean for users, what they cost, and what a plan says about them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ameles.core.exceptions import PlanError, StoreRefused
from ameles.core.loss import Pure
from ameles.engine.sealed import restart
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.distinct import NoisyDistinct
from ameles.mechanisms.continual.renewed import Renewed
from ameles.plan.forecast import in_words
from ameles.store import open_store
from tests.engine.lost_states import TOTAL, feed, lose_key, reserving
from tests.engine.people import ROOMY, USER, WINDOW, People, who
from tests.engine.test_sealed import Sealed
from tests.engine.worlds import World
from tests.mechanisms.continual.seizing import worst


def test_users_are_counted_anew_and_it_says_so(tmp_path: Path) -> None:
    world = reserving(People(tmp_path, ROOMY), 1)
    feed(world, who("ada", "bob"), [])
    lose_key(world)
    feed(world, who("ada", "cyn", "dan"), restart="a theft")
    people: Any = world
    assert people.ones() == [2, 2, 3]
    assert [release.label for release in world.releases()] == ["", "", "restarted"]


def test_a_window_that_begins_after_the_restart_is_whole(tmp_path: Path) -> None:
    world = reserving(People(tmp_path, ROOMY, WINDOW, None), 1)
    feed(world, who("ada"))
    lose_key(world)
    feed(world, who("bob"), [], who("cyn", "ada"), restart="a theft")
    people: Any = world
    assert people.ones() == [1, 1, 1, 2]
    assert [r.label for r in world.releases()] == ["", "restarted", "restarted", ""]


def test_users_pay_for_every_epoch_at_launch(tmp_path: Path) -> None:
    world = reserving(People(tmp_path, ROOMY), 2)
    feed(world, [])
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        ledger = transaction.ledger("people")
    assert ledger is not None
    assert [(entry.on, entry.paid) for entry in ledger.entries] == [
        ("s/people", Pure("1/3")),
        ("s/people (restart 1)", Pure("1/3")),
        ("s/people (restart 2)", Pure("1/3")),
    ]
    assert ledger.spent == Pure(1)


def test_events_pay_once(tmp_path: Path) -> None:
    world = reserving(Sealed(tmp_path, TOTAL))
    feed(world, [])
    with (
        closing(open_store(str(world.folder / "s.db"))) as store,
        store.reading() as transaction,
    ):
        ledger = transaction.ledger("people")
    assert ledger is not None
    assert [(entry.on, entry.paid) for entry in ledger.entries] == [("s/visits", Pure(1))]


def test_a_user_in_two_epochs_loses_more_than_the_price_of_one() -> None:
    # An epoch is a fresh table, like a window: a user in both loses up to twice as much, which
    # is why users pay for each; an event is in one of them.
    table = NoisyDistinct(users=1, epsilon=1, neighbours="user-presence")
    two = Renewed(inner=Afresh(algorithm=table, epsilon=1, horizon=1, sensitivity=1), horizon=2)
    one_epoch: Any = ([[[0]], [[]]], [[[]], [[]]])
    both: Any = ([[[0]], [[0]]], [[[]], [[]]])
    alone = worst(two, [one_epoch], modulus=5)
    assert alone < worst(two, [both], modulus=5) <= 2 * 2


def problems(world: World) -> str:
    with pytest.raises(PlanError) as refused:
        _ = world.plan
    return str(refused.value)


def test_it_is_said_how_many_restarts_there_were() -> None:
    assert [restart._used_up(count) for count in range(3)] == [
        "it has no restarts.",
        "its one restart is used up.",
        "its 2 restarts are used up.",
    ]


def test_restarts_are_for_states_that_may_be_seized(tmp_path: Path) -> None:
    told = problems(World(tmp_path, unit='unit = "event"\nrestarts = 1'))
    assert "privacy.restarts" in told


def test_the_plan_says_what_a_restart_costs(tmp_path: Path) -> None:
    events = " ".join(in_words(reserving(Sealed(tmp_path, TOTAL), 1).plan))
    assert "begin anew once: this costs nothing more" in events
    users = " ".join(in_words(reserving(People(tmp_path, ROOMY, USER), 2).plan))
    assert "begin anew 2 times: epsilon is divided among the 3 parts" in users


def test_a_ledger_without_the_reserved_entry_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = reserving(People(tmp_path, ROOMY), 1)
    feed(world, [])
    lose_key(world)
    monkeypatch.setattr(restart, "reserved_name", lambda release, number: "another")
    with pytest.raises(StoreRefused, match="no entry that paid for restart 1"):
        feed(world, [], restart="a theft")
