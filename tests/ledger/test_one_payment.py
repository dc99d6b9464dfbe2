"""One payment, one run: resumed, it is spent; a ledger is never two."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from ameles.core.exceptions import BudgetExceeded, NoCopy, RunSpent, StoreRefused
from ameles.core.loss import Pure
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from tests.ledger.populations import costing, population

RECIPE = SimpleTwoCounter(epsilon=1)


def test_after_it_was_resumed_the_old_run_is_spent() -> None:
    ledger = population(Pure(1))
    run = ledger.start(RECIPE, on="x", why="y")
    run.step(1)
    resumed = ledger.resume(RECIPE, run.snapshot())
    for call in (lambda: run.step(1), lambda: run.feed([1]), run.snapshot):
        with pytest.raises(RunSpent, match="is spent"):
            call()
    resumed.step(1)
    again = ledger.resume(RECIPE, resumed.snapshot())
    with pytest.raises(RunSpent):
        resumed.step(1)
    again.step(1)


def test_a_refused_resumption_spends_nothing() -> None:
    ledger = population(Pure(1))
    run = ledger.start(RECIPE, on="x", why="y")
    snapshot = run.snapshot()
    damaged = snapshot[:-1] + bytes([snapshot[-1] ^ 1])
    with pytest.raises(StoreRefused):
        ledger.resume(RECIPE, damaged)
    with pytest.raises(StoreRefused):
        ledger.resume(SimpleTwoCounter(epsilon=2), snapshot)
    run.step(1)


def test_other_runs_of_the_recipe_go_on() -> None:
    ledger = population(Pure(2))
    run, other = (ledger.start(RECIPE, on=name, why="y") for name in "xz")
    ledger.resume(RECIPE, run.snapshot())
    other.step(1)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_no_budget_is_copied(way: Callable[[Any], Any]) -> None:
    # A copy would spend the same cap again: what it sold would not be in the other's sum.
    ledger = population(Pure(1))
    parts = ledger.partition(["north", "south"], of=ledger.unit)
    for budget in (ledger, ledger.child("research"), ledger.scaled(2), parts["north"]):
        with pytest.raises(NoCopy, match="This budget cannot be copied"):
            way(budget)


def test_a_forked_child_cannot_spend_or_resume() -> None:
    ledger = population(Pure(2))
    run = ledger.start(RECIPE, on="x", why="y")
    snapshot = run.snapshot()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for call in (
                lambda: ledger.start(RECIPE, on="z", why="y"),
                lambda: ledger.child("c").start(RECIPE, on="z", why="y"),
                lambda: ledger.launch({"z": RECIPE}, on="z", why="y"),
                lambda: ledger.resume(RECIPE, snapshot),
                lambda: ledger.renew(Pure(1), why="y"),
                lambda: ledger.renew_budget("c", Pure(1), why="y"),
            ):
                with pytest.raises(RunSpent, match="forked"):
                    call()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    ledger.resume(RECIPE, snapshot).step(1)


def test_a_cap_holds_after_the_attempt_to_copy_it() -> None:
    ledger = population(Pure(1))
    ledger.start(costing(1), on="x", why="y")
    with pytest.raises(NoCopy):
        copy.copy(ledger)
    with pytest.raises(BudgetExceeded):
        ledger.start(costing(1), on="x", why="y")
