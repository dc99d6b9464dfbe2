"""Child budgets: sum, maximum over parts, times k; and nothing changes on a refusal."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput, BudgetExceeded
from ameles.core.guarantee import EVENT, USER, Intrusions, Neighbours
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.ledger import Budget, Ledger
from tests.ledger.populations import Promise, costing, population, promise


def spend(budget: Budget, epsilon: Fraction | int | str) -> None:
    budget.start(costing(epsilon), on="a table", why="a test")


def test_a_childs_spends_are_its_parents() -> None:
    root = population(Pure(1))
    child = root.child("research").child("one study")
    spend(child, "1/4")
    spend(root, "1/4")
    assert root.spent == Pure("1/2")
    assert child.spent == Pure("1/4")


def test_a_childs_own_cap_holds_first() -> None:
    root = population(Pure(1))
    child = root.child("research", cap=Pure("1/4"))
    with pytest.raises(BudgetExceeded, match=r"budget 'research' has 0\.25 left") as refusal:
        spend(child, "1/2")
    assert refusal.value.blocked_by == "budget 'research', by its epsilon"
    assert child.left == Pure("1/4")
    assert root.spent == child.spent == Pure(0)


def test_the_parents_cap_holds_where_the_child_has_room() -> None:
    root = population(Pure(1))
    child = root.child("research", cap=Pure(5))
    with pytest.raises(BudgetExceeded, match="population 'visitors'"):
        spend(child, 2)
    assert root.spent == child.spent == Pure(0)


def test_scaled_by_stability() -> None:
    root = population(Pure(1))
    grouped = root.scaled(2)  # PINQ's GroupBy: one row changes two groups
    spend(grouped, "1/8")
    assert root.spent == Pure("1/4")
    spend(grouped.scaled(3), "1/8")
    assert root.spent == Pure(1)
    with pytest.raises(BudgetExceeded):
        spend(grouped, "1/1000")


def test_scaling_squares_in_rho() -> None:
    root = population(Concentrated(1))
    root.scaled(2).start(_quiet(Concentrated("0.25")), on="x", why="y")
    assert root.spent == Concentrated(1)


def _quiet(loss: Loss) -> Promise:
    return Promise(promise(loss, intrusions=Intrusions.EVERY))


def test_parts_of_the_units_cost_the_largest() -> None:
    root = population(Pure(1))
    parts = root.partition(["north", "south"], of=EVENT)
    spend(parts["north"], "1/2")
    spend(parts["south"], "1/2")
    assert root.spent == Pure("1/2")
    spend(parts["south"], "1/4")
    assert root.spent == Pure("3/4")
    spend(parts["north"], "1/4")
    assert root.spent == Pure("3/4")
    # the entry says what was asked of the part and what the population paid
    assert root.entries[-1].asked == Pure("1/4")
    assert root.entries[-1].paid == Pure(0)


def test_under_replacement_two_parts_move() -> None:
    root = population(Pure(1), neighbours=Neighbours.REPLACE)
    parts = root.partition("abc", of=EVENT)
    for part in parts.values():
        part.start(
            Promise(
                promise(Pure("1/4"), neighbours=Neighbours.REPLACE, intrusions=Intrusions.EVERY)
            ),
            on="x",
            why="y",
        )
    assert root.spent == Pure("1/2")


def test_under_substitution_two_parts_of_users_move() -> None:
    # Some of a user's events become another's, who may be in another part.
    substituted = Neighbours.USER_SUBSTITUTION
    root = Ledger("people", cap=Pure(2), unit=USER, neighbours=substituted)
    parts = root.partition("abc", of=USER)
    costs = {"a": "1/4", "b": "1/2", "c": "1/8"}
    for name, cost in costs.items():
        asked = promise(Pure(cost), unit=USER, neighbours=substituted, intrusions=Intrusions.EVERY)
        parts[name].start(Promise(asked), on=name, why="y")
    assert root.spent == Pure("3/4"), "the two costliest"


def test_parts_of_events_are_no_parts_of_users() -> None:
    users = Ledger("people", cap=Pure(1), unit=USER, neighbours=Neighbours.USER_PRESENCE)
    with pytest.raises(BadInput, match="must partition the protected unit, one user"):
        users.partition(["north", "south"], of=EVENT)


@pytest.mark.parametrize("parts", [[], ["a", "a"]])
def test_parts_have_names_of_their_own(parts: list[str]) -> None:
    with pytest.raises(BadInput, match="named"):
        population(Pure(1)).partition(parts, of=EVENT)


def test_deltas_take_the_maximum_for_themselves() -> None:
    root = population(Approx(1, "1e-5"))
    parts = root.partition("ab", of=EVENT)
    parts["a"].start(_quiet(Approx("1/2", "1e-6")), on="x", why="y")
    parts["b"].start(_quiet(Approx("1/4", "1e-5")), on="x", why="y")
    assert root.spent == Approx("1/2", "1e-5")


def test_pinq_example_of_the_slides_raises_at_the_third_count() -> None:
    # catalogue 44: .01 + .10 + 1.00 = 1.11 > 1.0
    root = population(Pure("1.0"))
    spend(root, "0.01")
    spend(root, "0.10")
    with pytest.raises(BudgetExceeded):
        spend(root, "1.00")
    assert root.left == Pure("0.89")


@given(
    st.lists(
        st.tuples(st.sampled_from(["root", "child", "x2", "a", "b", "b/x3"]), st.integers(1, 12)),
        max_size=25,
    )
)
def test_the_root_always_equals_a_recomputation(spends: list[tuple[str, int]]) -> None:
    root = population(Pure(3))
    parts = root.partition("ab", of=EVENT)
    budgets = {
        "root": root,
        "child": root.child("c"),
        "x2": root.scaled(2),
        "a": parts["a"],
        "b": parts["b"],
        "b/x3": parts["b"].scaled(3),
    }
    total = {name: Fraction(0) for name in budgets}

    def owed() -> Fraction:
        b = total["b"] + 3 * total["b/x3"]
        return total["root"] + total["child"] + 2 * total["x2"] + max(total["a"], b)

    for name, twelfths in spends:
        amount = Fraction(twelfths, 12)
        before = root.spent
        total[name] += amount
        if owed() <= 3:
            spend(budgets[name], amount)
        else:
            total[name] -= amount
            with pytest.raises(BudgetExceeded):
                spend(budgets[name], amount)
            assert root.spent == before
        assert root.spent == Pure(owed())
    assert (
        sum(entry.paid.epsilon for entry in root.entries if isinstance(entry.paid, Pure)) == owed()
    )


def test_one_row_becomes_at_most_so_many() -> None:
    ledger = population(Pure(1))
    assert ledger.scaled(1 << 40).name.endswith(f"x {1 << 40}")
    with pytest.raises(BadInput, match="factor"):
        ledger.scaled((1 << 40) + 1)
