"""Named budgets below a cap: each name once, added up again from the entries."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from ameles.core.exceptions import BadInput, BudgetExceeded, StoreRefused
from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.ledger import BudgetRecord, Ledger, Renewal
from ameles.ledger.amounts import as_plan_keys
from tests.ledger.populations import Promise, costing, population, promise
from tests.ledger.test_launch import startled

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def record(name: str, parent: str | None = None, cap: Loss | None = None) -> BudgetRecord:
    return BudgetRecord(name=name, parent=parent, cap=cap, opened=MARCH)


def restored(ledger: Ledger, *budgets: BudgetRecord) -> Ledger:
    return Ledger(
        ledger.name,
        cap=ledger.cap,
        unit=EVENT,
        neighbours=Neighbours.ADD_REMOVE,
        entries=ledger.entries,
        budgets=budgets,
    )


def test_budgets_are_found_by_name() -> None:
    root = population(Pure(1))
    research = root.child("research")
    study = research.child("study", cap=Pure("1/2"))
    assert root.budget("study") is study
    assert root.budget("research") is research
    assert root.budget("visitors") is root
    assert root.children == (research, study)
    assert (study.parent, research.parent, root.parent) == (research, root, None)


def test_an_unknown_budget_is_refused_with_those_that_there_are() -> None:
    root = population(Pure(1))
    with pytest.raises(BadInput, match="'visitors' has no budget 'study'") as caught:
        root.budget("study")
    assert caught.value.why == "no budget below it was opened"
    root.child("research")
    root.child("teaching")
    with pytest.raises(BadInput) as caught:
        root.budget("study")
    assert caught.value.why == "its budgets are 'research', 'teaching'"
    assert caught.value.tip.startswith('child("study"')


def test_a_name_is_used_once() -> None:
    root = population(Pure(1))
    root.child("research").child("study")
    for name in ("research", "study", "visitors"):
        for parent in (root, root.budget("research")):
            with pytest.raises(BadInput, match=f"'{name}' was used for a budget"):
                parent.child(name)
    with pytest.raises(BadInput, match="must have a name"):
        root.child("")
    assert [child.name for child in root.children] == ["research", "study"]


def test_a_name_in_the_entries_is_not_used_again() -> None:
    # an earlier program wrote the names of parts of a partition into entries
    root = population(Pure(1))
    root.child("north").start(costing("1/4"), on="x", why="y")
    old = restored(root)
    assert old.children == ()
    with pytest.raises(BadInput, match="'north' was used"):
        old.child("north")


def test_a_child_that_cannot_be_made_uses_no_name() -> None:
    root = population(Pure(1))
    with pytest.raises(BadInput):
        root.child("study", cap=Approx(1, "1e-6"))
    root.child("study", cap=Pure("1/2"))


def test_entries_name_the_child_that_was_asked() -> None:
    root = population(Pure(1))
    study = root.child("study")
    study.start(costing("1/8"), on="x", why="y")
    study.scaled(2).start(costing("1/8"), on="x", why="y")
    for part in study.partition("ab", of=EVENT).values():
        part.scaled(2).start(costing("1/16"), on="x", why="y")
    root.scaled(2).start(costing("1/16"), on="x", why="y")
    assert [entry.by for entry in root.entries] == ["study"] * 4 + ["visitors"]
    paid = [entry.paid for entry in root.entries]
    assert paid == [Pure("1/8"), Pure("1/4"), Pure("1/8"), Pure(0), Pure("1/8")]
    assert (study.spent, root.spent) == (Pure("1/2"), Pure("5/8"))
    again = restored(root, record("study"))
    assert (again.budget("study").spent, again.spent) == (Pure("1/2"), Pure("5/8"))


def test_a_grandchilds_spends_count_at_every_budget_above() -> None:
    root = population(Pure(1))
    research = root.child("research", cap=Pure("3/4"))
    study, other = research.child("study"), research.child("other", cap=Pure("1/4"))
    study.launch({"a": costing("1/8"), "b": costing("1/8")}, on="flu", why="y")
    other.start(costing("1/4"), on="x", why="y")
    root.start(costing("1/8"), on="x", why="y")
    again = restored(
        root,
        record("research", cap=Pure("3/4")),
        record("study", "research"),
        record("other", "research", Pure("1/4")),
    )
    for ledger in (root, again):
        totals = {child.name: child.spent for child in ledger.children}
        assert totals == {"research": Pure("1/2"), "study": Pure("1/4"), "other": Pure("1/4")}
        with pytest.raises(BudgetExceeded, match="budget 'other' has 0 left"):
            ledger.budget("other").start(costing("1/100"), on="x", why="y")
        with pytest.raises(BudgetExceeded, match=r"budget 'research' has 0\.25 left of 0\.75"):
            ledger.budget("study").start(costing("0.3"), on="x", why="y")
        ledger.budget("study").start(costing("1/4"), on="x", why="y")
        assert ledger.budget("research").left == Pure(0)


@pytest.mark.parametrize(
    ("budgets", "why"),
    [
        ([record("study", "research")], "not a tree"),
        ([record("study", "study")], "not a tree"),
        ([record("study", "visitors")], "not a tree"),
        ([record("study"), record("study")], "not a tree"),
        ([record("visitors")], "not a tree"),
        ([record("study", cap=Concentrated(1))], "another currency"),
        ([record("study", cap=Pure("1/5"))], "more was spent than the cap of a budget"),
        ([record("above", cap=Pure("1/5")), record("study", "above")], "more was spent than"),
    ],
)
def test_an_impossible_past_is_refused(budgets: list[BudgetRecord], why: str) -> None:
    root = population(Pure(1))
    root.child("study").start(costing("1/4"), on="x", why="y")
    with pytest.raises(StoreRefused) as caught:
        restored(root, *budgets)
    assert why in caught.value.why


class TestAPlanPaidByAChild:
    def test_every_entry_names_the_child(self) -> None:
        root = population(Pure(1))
        study = root.child("study", cap=Pure("1/2"))
        runs = study.launch({"a": costing("1/8"), "b": costing("1/4")}, on="flu", why="y")
        assert list(runs) == ["a", "b"]
        told = [(e.number, e.by, e.on, e.asked, e.paid) for e in root.entries]
        assert told == [
            (1, "study", "flu/a", Pure("1/8"), Pure("1/8")),
            (2, "study", "flu/b", Pure("1/4"), Pure("1/4")),
        ]
        assert (study.spent, root.spent) == (Pure("3/8"), Pure("3/8"))

    def test_the_child_that_blocks_is_named(self) -> None:
        root = population(Pure(1))
        study = root.child("study", cap=Pure("1/2"))
        study.child("mine").start(costing("0.3"), on="x", why="y")
        plan = {"a": startled("0.15"), "b": startled("0.15")}
        for refused in (study.launch, lambda plan, **_: study.check_fits(plan)):
            with pytest.raises(BudgetExceeded) as caught:
                refused(plan, on="flu", why="y")
            assert caught.value.what == (
                "this plan needs epsilon 0.3; budget 'study' has 0.2 left of 0.5"
            )
            assert caught.value.blocked_by == "budget 'study', by its epsilon"
            assert "'x' was started with epsilon 0.3" in caught.value.why
            assert caught.value.tip == (
                "epsilon = 0.2 in the plan, or a larger cap (ameles budget renew study --epsilon "
                "NUMBER --why TEXT), or another budget of population 'visitors'"
            )
        assert len(root.entries) == 1
        root.check_fits(plan)

    def test_a_renewal_is_advised_only_if_it_helps(self) -> None:
        root = population(Pure(1))
        study = root.child("a study", cap=Pure("1/2"))
        study.start(costing("0.4"), on="x", why="y")
        with pytest.raises(BudgetExceeded) as caught:
            study.launch({"a": startled("0.6")}, on="flu", why="y")
        assert "ameles budget renew 'a study' --epsilon" in caught.value.tip
        with pytest.raises(BudgetExceeded) as caught:
            study.launch({"a": startled("0.7")}, on="flu", why="y")
        assert caught.value.what.endswith("budget 'a study' has 0.1 left of 0.5")
        assert "renew" not in caught.value.tip

    def test_the_population_that_blocks_is_named(self) -> None:
        root = population(Pure(1))
        root.start(costing("0.9"), on="x", why="y")
        study = root.child("study", cap=Pure("1/2"))
        with pytest.raises(BudgetExceeded, match=r"population 'visitors' has 0\.1 left of 1"):
            study.launch({"a": startled("0.2")}, on="flu", why="y")
        assert study.spent == Pure(0)

    def test_scaled_each_part_has_its_share(self) -> None:
        root = population(Approx(1, "1e-4"))
        parts = {str(i): Promise(promise(Approx("1/10", "1e-6"))) for i in range(2)}
        root.scaled(2).launch(parts, on="flu", why="y")
        first, second = (entry.paid for entry in root.entries)
        alone = population(Approx(1, "1e-4"))
        alone.scaled(2).start(Promise(promise(Approx("1/5", "2e-6"))), on="flu", why="y")
        assert root.spent == alone.spent
        assert isinstance(first, Approx)
        assert isinstance(second, Approx)
        assert first.delta + second.delta == vars(root.spent)["delta"]
        assert first.epsilon == second.epsilon == Pure("1/5").epsilon


def test_what_is_left_as_the_keys_of_a_plan() -> None:
    assert as_plan_keys(Approx("1/2", "1e-6")) == "epsilon = 0.5, delta = 1e-06 in the plan"
    assert as_plan_keys(Pure(Fraction(7, 10**30 + 7))) == "", "a rounded amount is no advice"


def test_a_renewal_raises_the_cap_of_a_budget_and_no_other() -> None:
    ledger = population(Pure(1))
    study = ledger.child("study", cap=Pure("1/4"))
    free = ledger.child("free")
    ledger.renew_budget("study", Pure("1/2"), why="a second wave")
    assert (study.cap, ledger.cap, ledger.renewals) == (Pure("3/4"), Pure(1), ())
    (renewal,) = ledger.children[0].renewals
    assert (renewal.why, renewal.added) == ("a second wave", Pure("1/2"))
    ledger.renew_budget("study", Pure(5), why="more than the population has")
    with pytest.raises(BudgetExceeded, match="population"):
        study.start(costing(2), on="x", why="y")
    with pytest.raises(BadInput, match="no cap of its own"):
        ledger.children[1].raise_cap(renewal)
    for name, what in ((free.name, "no cap of its own"), (ledger.name, "is the population itself")):
        with pytest.raises(BadInput, match=what):
            ledger.renew_budget(name, Pure(1), why="y")
    with pytest.raises(BadInput, match="no budget 'other'"):
        ledger.renew_budget("other", Pure(1), why="y")
    with pytest.raises(BadInput, match="must add something"):
        ledger.renew_budget("study", Pure(0), why="y")


def test_renewals_of_budgets_that_cannot_be_are_refused() -> None:
    added = Renewal(at=MARCH, why="y", added=Pure(1))
    for cap, renewal in ((None, added), (Pure(1), replace(added, added=Concentrated(1)))):
        with pytest.raises(StoreRefused):
            restored(population(Pure(1)), replace(record("a", cap=cap), renewals=(renewal,)))
