"""A ledger from its past: the same sums, and no past that cannot have been."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ameles.core.exceptions import BadInput, BudgetExceeded, StoreRefused
from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Approx, Pure
from ameles.ledger import Entry, Ledger, Renewal
from ameles.ledger.replay import replayed, told
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from tests.ledger.populations import costing, population


def past() -> tuple[list[Entry], list[Renewal]]:
    ledger = population(Pure(1))
    for _ in range(3):
        ledger.start(costing("1/3"), on="x", why="y")
    ledger.renew(Pure("1/2"), why="a new consent form")
    ledger.start(costing("1/4"), on="x", why="y")
    return list(ledger.entries), list(ledger.renewals)


def restored(entries: list[Entry], renewals: list[Renewal], **more: dict[str, int]) -> Ledger:
    return Ledger(
        "visitors",
        cap=Pure(1),
        unit=EVENT,
        neighbours=Neighbours.ADD_REMOVE,
        entries=entries,
        renewals=renewals,
        reached=more.get("reached"),
    )


def test_a_restored_ledger_goes_on_where_it_was() -> None:
    entries, renewals = past()
    ledger = restored(entries, renewals)
    assert (ledger.cap, ledger.spent, ledger.left) == (Pure("3/2"), Pure("5/4"), Pure("1/4"))
    with pytest.raises(BudgetExceeded):
        ledger.start(costing("0.26"), on="x", why="y")
    ledger.start(costing("1/4"), on="x", why="y")
    assert ledger.left == Pure(0)
    assert [entry.number for entry in ledger.entries] == [1, 2, 3, 4, 5]
    assert len(entries) == 4, "the past that was given is not changed"


def test_a_past_beyond_the_cap_is_refused() -> None:
    entries, renewals = past()
    with pytest.raises(StoreRefused, match="more was spent than its cap allows"):
        restored(entries, [])
    assert replayed(Pure(1), entries[:3], []).spent == Pure(1)
    assert replayed(Pure(1), entries, renewals).cap == Pure("3/2")


def test_a_past_with_gaps_or_in_another_currency_is_refused() -> None:
    entries, renewals = past()
    for wrong in (
        entries[1:],
        entries[::-1],
        [*entries[:3], entries[3], entries[3]],
        [replace(entries[0], paid=Approx(0, 0)), *entries[1:]],
    ):
        with pytest.raises(StoreRefused, match="not the past of a ledger"):
            replayed(Pure(1), wrong, renewals)


def test_a_snapshot_from_before_what_was_reached_is_refused() -> None:
    ledger = population(Pure(1))
    recipe = SimpleOneCounter(epsilon=1, horizon=10)
    run = ledger.start(recipe, on="x", why="y")
    run.step(1)
    first = run.snapshot()
    run.step(1)
    second = run.snapshot()
    later = restored(list(ledger.entries), [], reached={run.id: 2})
    with pytest.raises(StoreRefused, match="of step 1; the run has gone on to step 2"):
        later.resume(recipe, first)
    # the same snapshot again, after a crash: nothing was released since
    assert later.resume(recipe, second).t == 2
    with pytest.raises(StoreRefused, match="resumed from step 2"):
        later.resume(recipe, second)


def test_a_renewal_adds_something() -> None:
    with pytest.raises(BadInput, match="must add something"):
        population(Pure(1)).renew(Pure(0), why="no")


def test_history_is_told_in_one_line() -> None:
    entries, _ = past()
    march = datetime(2026, 3, 1, tzinfo=UTC)
    one, two, three = (replace(entry, at=march) for entry in entries[:3])
    assert told([]) == ""
    assert told([replace(one, on="a")]) == "'a' was started with epsilon 1/3 on 2026-03-01 (y)"
    both = [replace(one, on="b"), replace(two, on="flu/a"), replace(three, on="flu/b")]
    assert told(both) == "'flu' was started with epsilon 2/3 on 2026-03-01 (y), after 1 other"
    assert told([*both, replace(one, on="c")]).endswith("after 3 others")


def test_a_budget_tells_what_was_spent_on_itself() -> None:
    ledger = population(Pure(1))
    child = ledger.child("mine")
    child.start(costing("1/4"), on="a", why="x")
    ledger.start(costing("1/4"), on="b", why="y")
    assert "'b' was started" in ledger.history(ledger)
    assert "after 1 other" in ledger.history(ledger)
    assert "'a' was started" in ledger.history(child)
    assert "after" not in ledger.history(child)
