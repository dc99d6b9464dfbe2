"""How many rows one unit may change: every transformation on real neighbours, and wrong claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import USER
from ameles.query import Query
from ameles.query.pairs import Join
from ameles.query.row_set import BoundedRows
from ameles.query.steps import GroupBy
from tests.query.tables import rows_of, table, truthful

SALT = "5a"  # the same for both neighbours: which rows of a user count is not what is tested
CHAINS: dict[str, Callable[[Query], Query]] = {
    "plain": lambda t: t,
    "where": lambda t: t.where("age > 30 OR region = 'north'"),
    "select": lambda t: t.select("household", older="age + 1"),
    "select_many": lambda t: t.select_many("number", ["age", "household", "age + 1"]),
    "distinct": lambda t: t.select("household", "region").distinct(),
    "group_by": lambda t: t.group_by("household", people="count", oldest="max age"),
    "group_by twice": lambda t: t.group_by("household", n="count").group_by("n", m="count"),
    "union": lambda t: t.union(t.where("age > 30")),
    "intersect": lambda t: t.select("region").intersect(t.where("age > 30").select("region")),
    "except": lambda t: t.select("region").except_(t.where("age > 30").select("region")),
    "join": lambda t: t.join(t.select("household", x="age"), on="household", at_most=(2, 1)),
}
USER_CHAINS: dict[str, Callable[[Query], Query]] = {
    **CHAINS,
    "group_by user": lambda t: t.group_by("id", n="count"),
    "group_by user and more": lambda t: t.group_by("id", "region", n="count"),
    "join on user": lambda t: t.join(t.select("id", x="age"), on="id"),
}

row = st.tuples(
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(29, 32),
    st.sampled_from(["north", "south"]),
)
rows = st.lists(row, max_size=7)


def salted(query: Any) -> Query:
    source = query.relation
    assert isinstance(source, BoundedRows)
    return Query(replace(source, salt=SALT), query.account)


def changed(chain: Callable[[Query], Query], one: Any, other: Any, **unit: Any) -> tuple[int, int]:
    """How many rows differ between two tables, and how many may."""
    account = truthful(USER) if unit else truthful()
    left = chain(salted(table(one, account=account, **unit)))
    right = chain(salted(table(other, account=account, **unit)))
    a, b = Counter(rows_of(left)), Counter(rows_of(right))
    return ((a - b) + (b - a)).total(), left.relation.stability


@pytest.mark.parametrize("name", CHAINS)
@settings(max_examples=8, deadline=None)
@given(before=rows, more=row)
def test_one_row_changes_no_more_rows_than_said(name: str, before: Any, more: Any) -> None:
    moved, most = changed(CHAINS[name], before, [*before, more])
    assert moved <= most


@pytest.mark.parametrize("name", USER_CHAINS)
@settings(max_examples=8, deadline=None)
@given(before=rows, who=st.integers(1, 3))
def test_one_user_changes_no_more_rows_than_said(name: str, before: Any, who: int) -> None:
    without = [one for one in before if one[0] != who]
    moved, most = changed(USER_CHAINS[name], before, without, user="id", max_rows=2)
    assert moved <= most


# For each rule neighbours that need it: with a smaller number somebody would be noticed.
TIGHT: dict[str, tuple[Any, Any, int]] = {
    "plain": ([], [(1, 1, 31, "north")], 1),
    "select_many": ([], [(1, 1, 31, "north")], 3),
    "distinct": ([], [(1, 1, 31, "north")], 1),
    "group_by": ([(1, 1, 31, "north")], [(1, 1, 31, "north"), (2, 1, 32, "north")], 2),
    "union": ([], [(1, 1, 31, "north")], 2),
}


@pytest.mark.parametrize("name", TIGHT)
def test_the_stability_is_reached(name: str) -> None:
    before, after, most = TIGHT[name]
    assert changed(CHAINS[name], before, after) == (most, most)


def test_a_row_that_takes_the_place_of_another_in_a_join_changes_two_pairs() -> None:
    # one row of a household is kept: the one that comes takes its place, or changes nothing
    before = [(1, 1, 31, "north"), (2, 1, 32, "north")]

    def pairs(t: Query) -> Query:
        return t.join(t.select("household", x="age"), on="household", at_most=(1, 1))

    moves: Counter[int] = Counter()
    for age in range(24):
        moved, most = changed(pairs, before, [*before, (3, 1, age, "north")])
        assert moved <= most == 4
        moves[moved] += 1
    assert moves.keys() == {0, 2}
    # without a row on the other side there is no pair
    alone = lambda t: pairs(t.where("id < 0"))
    assert changed(alone, before, [*before, (3, 1, 33, "north")])[0] == 0


def test_a_users_rows_are_bounded_before_anything_else() -> None:
    many = [(1, 1, age, "north") for age in range(20, 40)]
    query = table(many, user="id", max_rows=3).where("age >= 20")
    assert len(rows_of(query)) == 3
    few = table(many, user="id", max_rows=3).where("age = 25")
    assert len(rows_of(few)) <= 1


def test_rows_without_a_user_count_nowhere() -> None:
    query = table([(None, 1, 30, "north"), (2, 1, 31, "north")], user="id", max_rows=3)
    assert [one[0] for one in rows_of(query)] == [2]


def test_a_group_of_a_user_is_that_users_alone() -> None:
    query = table(user="id", max_rows=3)
    assert query.group_by("id", n="count").relation.stability == 1
    assert query.group_by("id", "region").relation.stability == 3
    assert query.group_by("household").relation.stability == 6
    # a computed column of that name is not the user
    renamed = query.select("age", id="CAST(household AS VARCHAR)")
    assert renamed.relation.user is None
    assert renamed.group_by("id").relation.stability == 6


def test_pairs_of_a_user_belong_to_that_user() -> None:
    query = table(user="id", max_rows=3)
    pairs = query.join(query.select("id", x="age"), on="id")
    assert pairs.relation.user == "id"
    assert pairs.distinct_users(epsilon=1).value == query.distinct_users(epsilon=1).value
    others = query.join(query.select("household", x="age"), on="household", at_most=(1, 1))
    assert others.relation.user is None


def test_stabilities_multiply_and_end() -> None:
    query: Query = table()
    for _ in range(18):
        query = query.select_many("n", ["age", "household", "age + 1"])
    with pytest.raises(BadInput, match="One unit could change"):
        query.select_many("n", ["age", "household", "age + 1"])


def test_only_rows_that_come_and_go_are_monotone() -> None:
    plain = table()
    assert plain.where("age > 3").union(plain).relation.monotone
    assert not plain.group_by("household").relation.monotone
    assert not plain.except_(plain.where("age > 3")).relation.monotone
    assert not plain.join(
        plain.select("household", x="age"), on="household", at_most=(1, 1)
    ).relation.monotone
    users = table(user="id", max_rows=2)
    assert users.group_by("id", n="count").relation.monotone


class HalfGroups(GroupBy):
    """Takes a group that changes for one row."""

    @property
    def stability(self) -> int:
        return self.below.stability


class LonelyPairs(Join):
    """Forgets that a row may let another one in."""

    @property
    def stability(self) -> int:
        return self.left.stability + self.right.stability


def test_wrong_stabilities_are_noticed() -> None:
    before, after = [(1, 1, 31, "north")], [(1, 1, 31, "north"), (2, 1, 32, "north")]

    def half(query: Query) -> Query:
        return Query(
            HalfGroups(query.relation, ("household",), {"n": ("count", None)}), query.account
        )

    moved, most = changed(half, before, after)
    assert moved > most

    def lonely(query: Query) -> Query:
        right = query.select("household", x="age").relation
        return Query(LonelyPairs(query.relation, right, ("household",), (3, 3)), query.account)

    moved, most = changed(
        lonely, [*before, (4, 1, 33, "south")], [*before, (4, 1, 33, "south"), (2, 1, 32, "north")]
    )
    assert moved > most
