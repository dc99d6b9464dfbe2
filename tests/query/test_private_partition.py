"""Counts by keys of the data: the truth, the price, the loss on real neighbours, refusals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, USER
from ameles.core.loss import Approx, Pure
from ameles.measures.key_words import BY_DATA_ALONE, needs_more, published_once
from ameles.mechanisms.one_shot import KeyCounts
from ameles.noise import Tape, Zero
from ameles.query import Query, Table
from ameles.query.look import looking
from ameles.query.private_partition import PrivatePartition
from tests.query.tables import ledger, table

MANY = [(i // 2, 1, i, "north" if i % 3 else "south") for i in range(120)]
LOSS: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


def visits(rows: Any = MANY, **more: Any) -> Table:
    cap = Approx(10, "1e-3")
    unit = USER if "user" in more else EVENT
    return table(rows, account=ledger(unit, cap=cap, noise=Zero()), **more)


def test_keys_are_named_with_their_counts() -> None:
    counts = visits([*MANY, (9, 9, 9, "east"), (9, 9, 9, None)]).private_partition("region")
    answer = counts.noisy_count(**LOSS)
    assert [(row.key, row.value) for row in answer.rows] == [(("north",), 80), (("south",), 40)]
    assert (answer.key_names, answer.value_name, answer.asked) == (
        ("region",),
        "count",
        "noisy_count",
    )
    assert answer.paid == "epsilon 1, delta 1e-06"


def test_the_counts_of_other_kinds_of_keys() -> None:
    whole = visits().private_partition("household").noisy_count(**LOSS)
    assert [(row.key, row.value) for row in whole.rows] == [(("1",), 120)]
    old = visits().select("region", old="age >= 60").private_partition("old")
    assert [row.key for row in old.noisy_count(**LOSS).rows] == [("false",), ("true",)]


def test_other_questions_go_to_the_keys_that_were_named() -> None:
    asked = visits()
    counts = asked.private_partition("region").noisy_count(**LOSS)
    sums = asked.partition(region=counts).noisy_sum("age", lower=0, upper=200, epsilon=1)
    assert [row.key for row in sums.rows] == [("north",), ("south",)]


def test_intervals_are_those_of_the_mechanism() -> None:
    parts = visits().private_partition("region")
    row = parts.noisy_count(**LOSS)["north"]
    assert (row.low, row.high) == (77, 83)
    near = visits([(i, 1, 1, "north") for i in range(15)]).private_partition("region")
    only = near.noisy_count(**LOSS).rows[0]
    assert (only.low, only.value) == (1, 15)


def test_what_it_costs_is_said_before() -> None:
    parts = visits().private_partition("region")
    told = parts.explain("noisy_count", **LOSS)
    assert "mechanism    KeyCounts" in told
    assert f"keys         {published_once('about 15 rows', 'rows')}. {BY_DATA_ALONE}" in told
    assert "surely       a key of more than 16 rows is published, with 95%" in told
    assert parts.forecast("noisy_count", error=30, delta="1e-6") < Fraction(1, 8)
    assert isinstance(parts.recipe("noisy_count", **LOSS), KeyCounts)
    assert "private_by" in parts.paid_question("noisy_count", **LOSS).question


def test_all_rows_of_a_user_are_hidden() -> None:
    bounded = visits(user="id", max_rows=5, max_groups=2)
    recipe = bounded.private_partition("region").recipe("noisy_count", **LOSS)
    assert isinstance(recipe, KeyCounts)
    assert (recipe.max_rows, recipe.reach_of_key, recipe.unit) == (5, 5, "user")
    grouped = bounded.group_by("region", "household").private_partition("region")
    changed = grouped.recipe("noisy_count", **LOSS)
    assert isinstance(changed, KeyCounts)
    assert changed.max_rows == 10


def law_of_table(rows: Any) -> dict[Any, Fraction]:
    """The law of the whole question over every tape, in weights of 2**-|k| for e**-(|k| / scale).

    Which values can be given, and how often a shift costs a power, does not depend on the base.
    """
    account = ledger(USER, cap=Approx(10, "1/2"))
    parts = table(rows, account=account, user="id", max_rows=2)
    ask = {"epsilon": 2, "delta": "1/10"}
    question = parts.private_partition("region")
    recipe = question.recipe("noisy_count", **ask)
    assert isinstance(recipe, KeyCounts)
    ending, _ = question._ending("noisy_count", ask)
    law: dict[Any, Fraction] = {}
    with looking(parts.relation) as look:
        keys = len(look.rows_of_keys("region")[0])
        values = range(-recipe.within, recipe.within + 1)
        for script in product(values, repeat=keys):
            answer = ending.answer(look, recipe, recipe.start(Tape(script)))
            outcome = tuple((row.key, row.value) for row in answer)
            chance = Fraction(1)
            for k in script:
                chance *= Fraction(1, 2 ** abs(k))
            law[outcome] = law.get(outcome, Fraction(0)) + chance
    total = sum(law.values())
    return {outcome: chance / total for outcome, chance in law.items()}


def test_a_user_changes_the_law_by_no_more_than_the_shift_of_all_rows() -> None:
    others = [(2, 1, 1, "a"), (3, 1, 1, "a")]
    mine = [(1, 1, 1, "a"), (1, 1, 2, "b"), (1, 1, 3, "b")]
    less, full = law_of_table(others), law_of_table([*others, *mine])
    for one, other in ((less, full), (full, less)):
        shared = {o: (p, other[o]) for o, p in one.items() if o in other}
        assert max(p / q for p, q in shared.values()) <= 2**2  # two rows, a factor of 2 each


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda parts: parts.noisy_count(epsilon=1), "cannot be discovered with delta = 0"),
        (
            lambda parts: parts.noisy_sum("age", lower=0, upper=9, epsilon=1),
            "The keys of 'region' cannot be discovered for noisy_sum",
        ),
        (lambda parts: parts.explain("histogram", column="age", **LOSS), needs_more("histogram")),
        (lambda parts: parts.recipe("noisy_count", by={"region": ["a"]}, **LOSS), "has no 'by'"),
    ],
)
def test_what_private_keys_cannot_do_is_refused(
    ask: Callable[[PrivatePartition], Any], what: str
) -> None:
    with pytest.raises(BadInput, match=what):
        ask(visits().private_partition("region"))


@pytest.mark.parametrize(
    ("query", "column", "what"),
    [
        (lambda t: t, "nothing", "no column 'nothing'"),
        (lambda t: t.select(half="age / 2"), "half", "must be text, integer or boolean"),
    ],
)
def test_columns_that_have_no_keys_are_refused(
    query: Callable[[Query], Query], column: str, what: str
) -> None:
    with pytest.raises(BadInput, match=what):
        query(visits()).private_partition(column).noisy_count(**LOSS)


def test_a_pure_cap_does_not_pay() -> None:
    pure = table(MANY, account=ledger(cap=Pure(10)))
    with pytest.raises(BadInput, match="delta"):
        pure.private_partition("region").noisy_count(**LOSS)
    assert pure.account.left == Pure(10)
    assert repr(pure.private_partition("region")).startswith("<private parts of <query")
