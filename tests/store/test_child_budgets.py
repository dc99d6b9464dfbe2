"""Named budgets in a store: their caps hold across openings and processes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ameles.core.exceptions import BadInput, BudgetExceeded, StoreRefused
from ameles.core.guarantee import EVENT
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.store import Store
from tests.ledger.populations import costing
from tests.store.places import Place
from tests.store.stores import MARCH, new_store, open_visitors, visitors
from tests.warm_processes import start

ROOT = Path(__file__).parents[2]


def test_budgets_are_the_same_after_they_were_kept(store: Store) -> None:
    with store.writing() as transaction:
        first = transaction.open_budget("visitors", "research", cap=None)
        visitors(transaction).budget("research").child("study", cap=Pure("1/2"))
        second = transaction.open_budget("visitors", "mine", cap=Pure("1/3"), parent="study")
        ledger = visitors(transaction)
        ledger.budget("mine").start(costing("1/4"), on="x", why="y")
        ledger.budget("study").scaled(2).start(costing("1/16"), on="x", why="y")
        ledger.budget("study").launch({"a": costing("1/16")}, on="flu", why="y")
    with store.reading() as transaction:
        records = transaction.budget_records("visitors")
        again = visitors(transaction)
        assert transaction.budget_records("others") == ()
    assert [(r.name, r.parent, r.cap) for r in records] == [
        ("research", None, None),
        ("study", "research", Pure("1/2")),
        ("mine", "study", Pure("1/3")),
    ]
    assert records[1].opened == MARCH
    assert (records[0], records[2]) == (first, second)
    assert [entry.by for entry in again.entries] == ["mine", "study", "study"]
    assert [(one.name, one.cap, one.spent) for one in again.children] == [
        ("research", None, Pure("7/16")),
        ("study", Pure("1/2"), Pure("7/16")),
        ("mine", Pure("1/3"), Pure("1/4")),
    ]


def test_a_renewed_budget_is_the_same_after_it_was_kept(store: Store) -> None:
    with store.writing() as transaction:
        transaction.open_budget("visitors", "study", cap=Pure("1/8"))
        ledger = visitors(transaction)
        ledger.renew_budget("study", Pure("1/8"), why="a second wave")
        ledger.renew_budget("study", Pure("1/4"), why="a third")
        ledger.budget("study").start(costing("1/2"), on="x", why="y")
    with store.reading() as transaction:
        again = visitors(transaction)
        (record,) = transaction.budget_records("visitors")
    (study,) = again.children
    assert (study.cap, study.left) == (Pure("1/2"), Pure(0))
    assert [(one.why, one.added, one.at) for one in study.renewals] == [
        ("a second wave", Pure("1/8"), MARCH),
        ("a third", Pure("1/4"), MARCH),
    ]
    assert (record.cap, record.renewals) == (Pure("1/8"), study.renewals)
    assert again.renewals == ()  # the population's own cap is the same
    for change in ("UPDATE budget_renewal SET why = 'no'", "DELETE FROM budget_renewal"):
        with pytest.raises(StoreRefused), store.writing() as transaction:
            transaction._session.write(change)


def test_a_childs_cap_holds_across_transactions(store: Store) -> None:
    with store.writing() as transaction:
        transaction.open_budget("visitors", "study", cap=Pure("1/2"))
        transaction.open_budget("visitors", "mine", cap=None, parent="study")
    for name in ("study", "mine"):
        with store.writing() as transaction:
            visitors(transaction).budget(name).start(costing("1/4"), on=name, why="y")
    with store.writing() as transaction:
        ledger = visitors(transaction)
        for name in ("study", "mine"):
            with pytest.raises(BudgetExceeded, match="budget 'study' has 0 left") as caught:
                ledger.budget(name).start(costing("1/100"), on="x", why="y")
            assert "after 1 other" in caught.value.why
        ledger.start(costing("1/2"), on="x", why="y")


@pytest.mark.parametrize(
    ("cap", "given", "kept"),
    [
        (Approx(1, "1e-6"), Pure("1/3"), Approx("1/3", 0)),
        (Concentrated(1), Pure(1), Concentrated("1/2")),
        (Pure(1), Approx("1/3", 0), Pure("1/3")),
    ],
)
def test_a_cap_is_kept_in_the_currency_of_its_population(
    place: Place, cap: Loss, given: Loss, kept: Loss
) -> None:
    with new_store(place) as store:
        with store.writing() as transaction:
            open_visitors(transaction, cap)
            assert transaction.open_budget("visitors", "study", cap=given).cap == kept
        with store.reading() as transaction:
            assert visitors(transaction).budget("study").cap == kept


def test_what_cannot_be_opened_is_refused(store: Store) -> None:
    with store.writing() as transaction:
        transaction.open_budget("visitors", "study", cap=Pure("1/2"))
        for name in ("study", "visitors", ""):
            with pytest.raises(BadInput, match="name"):
                transaction.open_budget("visitors", name, cap=None)
        with pytest.raises(BadInput, match="no budget 'others'"):
            transaction.open_budget("visitors", "mine", cap=None, parent="others")
        with pytest.raises(StoreRefused, match="no population 'others'"):
            transaction.open_budget("others", "mine", cap=None)
        with pytest.raises(BadInput, match="no place under a cap"):
            transaction.open_budget("visitors", "mine", cap=Approx(1, "1e-6"))
        ledger = visitors(transaction)
        for parent in (ledger.scaled(2), ledger.partition("a", of=EVENT)["a"]):
            with pytest.raises(BadInput, match="keeps no budget below") as caught:
                parent.child("mine")
            assert caught.value.tip == "a child of the population, or of another child"
        assert [one.name for one in transaction.budget_records("visitors")] == ["study"]
    with store.reading() as transaction, pytest.raises(StoreRefused, match="only reads"):
        transaction.open_budget("visitors", "mine", cap=None)


def open_twice(store: Store) -> None:
    with store.writing() as transaction:
        first, second = visitors(transaction), visitors(transaction)
        first.child("study", cap=Pure("1/2"))
        second.child("other", cap=Pure(1))


def test_two_ledgers_in_one_transaction_open_one_tree(store: Store) -> None:
    with pytest.raises(StoreRefused, match="opened elsewhere in this transaction"):
        open_twice(store)
    with store.reading() as transaction:
        assert transaction.budget_records("visitors") == ()


RACE = """
import sys
from ameles.core.exceptions import BudgetExceeded
from ameles.store import open_store
from tests.ledger.populations import costing
won, blocked = 0, set()
with open_store(sys.argv[1], patience=600) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in range(8):
        name = "study" if turn % 2 else sys.argv[2]
        try:
            with store.writing() as transaction:
                ledger = transaction.ledger("visitors")
                ledger.budget(name).start(costing("1/20"), on="x", why="y")
            won += 1
        except BudgetExceeded as refused:
            blocked.add(refused.blocked_by)
print(won, *sorted(blocked), sep="|")
"""


def race(place: Place, other: str) -> tuple[list[int], set[str]]:
    """Eight processes, each with eight tries in turns at 'other' and at 'study'."""
    racing = [
        start(
            *("-c", RACE, place.url, other),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        for _ in range(8)
    ]
    for process in racing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in racing:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate()[0].strip().split("|") for process in racing]
    assert [process.returncode for process in racing] == [0] * 8
    return [int(won) for won, *_ in told], {name for _, *names in told for name in names}


def test_eight_processes_on_the_last_bit_of_a_child(place: Place, store: Store) -> None:
    # 64 tries for 10 places; half of them ask a grandchild
    with store.writing() as transaction:
        transaction.open_budget("visitors", "study", cap=Pure("1/2"))
        transaction.open_budget("visitors", "mine", cap=None, parent="study")
    won, blocked = race(place, "mine")
    assert sum(won) == 10
    assert blocked == {"budget 'study', by its epsilon"}
    with store.reading() as transaction:
        ledger = visitors(transaction)
        assert (ledger.spent, ledger.budget("study").left) == (Pure("1/2"), Pure(0))


def test_eight_processes_on_the_last_bit_of_a_population(place: Place, store: Store) -> None:
    # 64 tries for 20 places: the two children could spend more than there is
    with store.writing() as transaction:
        transaction.open_budget("visitors", "study", cap=Pure(1))
        transaction.open_budget("visitors", "other", cap=Pure(1))
    won, blocked = race(place, "other")
    assert sum(won) == 20
    assert "population 'visitors', by its epsilon" in blocked
    with store.reading() as transaction:
        ledger = visitors(transaction)
        assert ledger.left == Pure(0)
        children = [ledger.budget(name).spent for name in ("study", "other")]
        assert sum(vars(spent)["epsilon"] for spent in children) == 1
