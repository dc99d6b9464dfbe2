"""Launching a plan: all of its runs or none, under one exact check."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from ameles.core.exceptions import BadInput, BudgetExceeded
from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.core.noise import Noise
from ameles.ledger import Entry, Ledger
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.noise import Zero
from tests.ledger.populations import Promise, costing, population, promise

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def visitors(cap: Loss) -> Ledger:
    return Ledger(
        "visitors",
        cap=cap,
        unit=EVENT,
        neighbours=Neighbours.ADD_REMOVE,
        noise=Zero(),
        clock=lambda: MARCH,
    )


@dataclass(frozen=True)
class Startled(Promise):
    """A recipe that must not be started."""

    def start(self, noise: Noise) -> CounterRun:
        raise AssertionError("it was started")


def startled(epsilon: str) -> Startled:
    return Startled(promise(Pure(epsilon)))


def test_every_release_has_a_run_and_an_entry_of_its_own() -> None:
    ledger = visitors(Pure(1))
    recipes = {
        "fever": SimpleOneCounter(epsilon=0.3, horizon=5),
        "cough": SimpleOneCounter(epsilon="1/5", horizon=5),
    }
    assert ledger.prices(recipes) == {"fever": Pure("0.3"), "cough": Pure("0.2")}
    ledger.start(costing("0.1"), on="before", why="w")
    runs = ledger.launch(recipes, on="flu", why="dashboard")
    assert list(runs) == ["fever", "cough"]
    assert runs["fever"].step(2) == 2
    told = [(entry.number, entry.on, entry.paid, entry.run) for entry in ledger.entries[1:]]
    assert told == [
        (2, "flu/fever", Pure("0.3"), runs["fever"].id),
        (3, "flu/cough", Pure("0.2"), runs["cough"].id),
    ]
    assert {entry.stream for entry in ledger.entries} == {"before", "flu"}
    assert ledger.spent == Pure("0.6")
    assert ledger.resume(recipes["fever"], runs["fever"].snapshot()).t == 1


@pytest.mark.parametrize("n", [1, 7, 49, 365, 997])
def test_a_plan_fits_to_the_last_bit_and_nothing_after_it(n: int) -> None:
    ledger = population(Pure(1))
    ledger.launch({str(i): costing(Fraction(1, n)) for i in range(n)}, on="x", why="y")
    assert ledger.left == Pure(0)
    assert [entry.number for entry in ledger.entries] == list(range(1, n + 1))
    with pytest.raises(BudgetExceeded, match="try: a renewal by the owner"):
        ledger.launch({"one": startled("1e-9")}, on="x", why="y")


def test_a_plan_that_does_not_fit_starts_nothing_and_is_told_why() -> None:
    ledger = visitors(Pure(1))
    ledger.launch({"fever": costing("1/2"), "cough": costing("0.3")}, on="flu", why="dashboard")
    with pytest.raises(BudgetExceeded) as caught:
        # either would fit alone
        ledger.launch({"a": startled("0.15"), "b": startled("0.15")}, on="cold", why="dashboard")
    assert str(caught.value).splitlines() == [
        "error[budget]: this plan needs epsilon 0.3; population 'visitors' has 0.2 left of 1",
        "  why: 'flu' was started with epsilon 0.8 on 2026-03-01 (dashboard)",
        "  try: epsilon = 0.2 in the plan, or a renewal by the owner of population 'visitors'",
    ]
    assert caught.value.asked == Pure("0.3")
    assert len(ledger.entries) == 2
    assert ledger.spent == Pure("0.8")


def test_starting_one_by_one_would_have_left_half_a_plan() -> None:
    # what launch is for: the same plan, bought release by release
    ledger = visitors(Pure(1))
    ledger.start(costing("0.8"), on="flu", why="dashboard")
    ledger.start(costing("0.15"), on="cold/a", why="dashboard")
    with pytest.raises(BudgetExceeded, match="after 1 other"):
        ledger.start(costing("0.15"), on="cold/b", why="dashboard")
    assert ledger.spent == Pure("0.95")


def test_all_amounts_of_a_cap_are_named() -> None:
    ledger = visitors(Approx(1, "1e-6"))
    with pytest.raises(BudgetExceeded) as caught:
        ledger.launch(
            {str(i): Promise(promise(Approx("1/2", "1e-6"))) for i in range(2)}, on="x", why="y"
        )
    text = str(caught.value)
    assert "has epsilon 1, delta 1e-06 left of epsilon 1, delta 1e-06" in text
    assert "try: epsilon = 1, delta = 1e-06 in the plan, or" in text


def test_an_amount_that_cannot_be_written_is_no_advice() -> None:
    ledger = visitors(Pure(1))
    ledger.start(costing(Fraction(10**30, 10**30 + 7)), on="x", why="y")
    with pytest.raises(BudgetExceeded) as caught:
        ledger.launch({"a": costing("1/2")}, on="x", why="y")
    assert caught.value.tip == "a renewal by the owner of population 'visitors'"


def test_pure_losses_are_converted_before_they_are_added() -> None:
    ledger = visitors(Concentrated("1/4"))
    ledger.launch({"a": costing("1/2"), "b": costing("1/2")}, on="x", why="y")
    assert ledger.left == Concentrated(0)


def test_a_plan_without_releases_is_refused() -> None:
    with pytest.raises(BadInput, match="something to release"):
        population(Pure(1)).launch({}, on="x", why="y")


def test_a_recipe_that_cannot_start_costs_nothing() -> None:
    ledger = population(Pure(2))
    with pytest.raises(BadInput, match="It cannot start"):
        ledger.launch({"a": costing(1), "b": Unstartable(promise(Pure(1)))}, on="x", why="y")
    assert ledger.spent == Pure(0)
    assert ledger.entries == ()


@dataclass(frozen=True)
class Unstartable(Promise):
    """A recipe whose start is refused."""

    def start(self, noise: Noise) -> CounterRun:
        raise BadInput("It cannot start.")


class Forgetful(Ledger):
    """A ledger whose store fails at its second entry."""

    def _record(self, entry: Entry) -> None:
        if entry.number == 2:
            raise ConnectionError


def test_what_could_not_be_recorded_was_not_spent() -> None:
    ledger = Forgetful("visitors", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE)
    with pytest.raises(ConnectionError):
        ledger.launch({"a": costing("0.1"), "b": costing("0.1")}, on="x", why="y")
    assert (ledger.spent, ledger.entries) == (Pure(0), ())
    ledger.start(costing("0.1"), on="x", why="y")
    with pytest.raises(ConnectionError):
        ledger.start(costing("0.1"), on="x", why="y")
    assert (ledger.spent, len(ledger.entries)) == (Pure("0.1"), 1)
