"""Endings that choose: the truth without noise, the loss on real neighbours, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput, BudgetExceeded
from ameles.core.guarantee import USER
from ameles.core.loss import Approx, Pure
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot.key_selection import KeySelection
from ameles.mechanisms.one_shot.permute_and_flip import PermuteAndFlip
from ameles.query import Query
from ameles.query.look import looking
from tests.query.tables import ledger, table, truthful

MANY = [(i, 1, 30 + i % 7, "north" if i % 3 else "south") for i in range(120)]


def test_the_median_is_a_value_of_the_grid() -> None:
    visits = table()
    ages = [7, 34, 35, 36, 61, 62, 90]
    assert visits.noisy_median("age", lower=0, upper=120, epsilon=1).value == ages[3]
    half = visits.noisy_median("age", lower=0, upper=120, granularity="0.5", epsilon=1)
    assert half.value == 36
    assert visits.noisy_median("age", lower=40, upper=50, epsilon=1).value == 40


def test_the_most_common_key_is_named_and_not_counted() -> None:
    answer = table().most_common("region", keys=["west", "south", "north"], epsilon=1)
    assert answer.value in ("south", "north")
    assert answer.interval == (0, 2)  # rows by which another may have more
    assert answer.value_name == "region"


def test_synthetic_rows_have_the_marginals() -> None:
    keys = {"region": ["north", "south"], "household": ["1", "2"]}
    rows = [(i, 1 + i % 2, 30, "north" if i % 4 else "south") for i in range(400)]
    made = table(rows).synthetic(keys, rows=400, rounds=30, epsilon=1)
    north = sum(float(str(row.value)) for row in made.rows if row.key[0] == "north")
    assert north == pytest.approx(300, abs=40)
    assert sum(float(str(row.value)) for row in made.rows) == pytest.approx(400, abs=1)
    assert made.key_names == ("region", "household")


def test_keys_that_enough_units_have_are_named() -> None:
    account = ledger(cap=Approx(10, "1e-3"))
    visits = table(MANY, account=account)
    keys = visits.private_keys("region", epsilon=2, delta="1e-4")
    assert [row.key for row in keys.rows] == [("north",), ("south",)]
    parts = visits.partition(region=keys)
    assert list(parts) == ["north", "south"]
    assert len(parts.noisy_count(epsilon=1)) == 2
    assert account.spent == Approx(3, "1e-4")


def test_a_key_of_one_person_is_hardly_ever_named() -> None:
    account = ledger(cap=Approx(10, "1e-3"))
    keys = table(account=account).private_keys("region", epsilon="0.1", delta="1e-9")
    assert not keys.rows
    with pytest.raises(BadInput, match="There are no parts: no key of 'region' is published"):
        table(account=account).partition(region=keys)


def test_a_user_counts_once_for_a_key_and_for_few_keys() -> None:
    first = [(1, 1, 30, key) for key in ("north", "north", "south", "east")]
    people = [*first, (2, 1, 31, "north")]
    visits = table(people, account=truthful(USER), user="id", max_rows=4, max_groups=2)
    with looking(visits.relation) as look:
        keys, units = look.units_of_keys("region")
    counted = dict(zip(keys, units.tolist(), strict=True))
    assert sum(counted.values()) == 3  # two keys of the first user, one of the second
    assert max(counted.values()) <= 2


def test_keys_need_a_delta_and_a_cap_that_allows_it() -> None:
    with pytest.raises(BadInput, match="cannot be discovered with delta = 0"):
        table().private_keys("region", epsilon=1, delta=0)
    pure = table(account=ledger(cap=Pure(10)))
    with pytest.raises((BadInput, BudgetExceeded)):
        pure.private_keys("region", epsilon=1, delta="1e-6")
    assert pure.account.left == Pure(10)


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda t: t.private_keys("nothing", epsilon=1, delta="1e-6"), "no column 'nothing'"),
        (
            lambda t: t.select_many("n", ["age", "age + 1"]).private_keys(
                "region", epsilon=1, delta="1e-6"
            ),
            "no longer show which unit",
        ),
        (
            lambda t: t.select(half="age / 2").private_keys("half", epsilon=1, delta="1e-6"),
            "must be text, integer or boolean",
        ),
        (lambda t: t.partition(region=t.noisy_count(epsilon=1)), "does not have keys of"),
        (lambda t: t.noisy_median("age", lower=0, upper=3 * 10**6, epsilon=1), "has 3000001"),
        (lambda t: t.most_common("region", keys=[], epsilon=1), "no declared keys"),
        (lambda t: t.synthetic({}, rows=8, epsilon=1), "needs columns"),
        (lambda t: t.synthetic({"region": ["a"]}, rows=8, ways=2, epsilon=1), "ways"),
        (
            lambda t: t.union(t).synthetic({"region": ["a"]}, rows=8, ways=1, epsilon=1),
            "one row for each unit",
        ),
        (
            lambda t: t.synthetic(
                {"region": [str(i) for i in range(300)], "age": [str(i) for i in range(300)]},
                rows=8,
                epsilon=1,
            ),
            "up to 65536 combinations",
        ),
        (
            lambda t: t.synthetic(
                {"region": [str(i) for i in range(200)], "age": [str(i) for i in range(200)]},
                rows=8,
                epsilon=1,
            ),
            "marginals",
        ),
    ],
)
def test_what_cannot_be_chosen_is_refused(ask: Callable[[Query], Any], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        ask(table(account=ledger(cap=Approx(10, "1e-3"))))


# The loss, on real neighbours: the scores that a query gives to its mechanism, and the exact law of
# what is chosen.


def chosen_by(query: Query, ending: str, epsilon: int, **given: Any) -> Callable[[Noise], Any]:
    recipe = query.recipe(ending, epsilon=epsilon, **given)
    made, _ = query._ending(ending, {"epsilon": epsilon, **given})

    def program(noise: Noise) -> Any:
        with looking(query.relation) as look:
            (row,) = made.answer(look, recipe, recipe.start(noise))
        return row.value

    return program


NEIGHBOURS = [
    ([(1, 1, 2, "north"), (2, 1, 3, "south")], [(1, 1, 2, "north")]),
    ([(1, 1, 1, "north"), (2, 1, 1, "north")], [(1, 1, 1, "north")]),
    ([(1, 1, 3, "south")], []),
    ([(1, 1, 3, "south")], [(1, 1, 3, "south"), (2, 1, 2, "south")]),
]


@pytest.mark.parametrize(("one", "other"), NEIGHBOURS)
def test_a_median_loses_what_it_claims(one: Any, other: Any) -> None:
    # a whole exponent for the enumeration: epsilon 2 is rate 1 for a score that changes by one
    given = {"column": "age", "lower": 1, "upper": 3}
    laws = [chosen_by(table(rows), "noisy_median", 2, **given) for rows in (one, other)]
    finding = enumerated_loss(laws[0], laws[1], epsilon=2, modulus=3)
    assert finding.verdict is Verdict.CERTIFIED


def test_a_median_with_half_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PermuteAndFlip, "spread", property(lambda self: self.sensitivity))
    given = {"column": "age", "lower": 1, "upper": 3}
    worst = max(
        enumerated_loss(
            *(chosen_by(table(rows), "noisy_median", 2, **given) for rows in pair),
            epsilon=2,
            modulus=3,
        ).ratio
        for pair in NEIGHBOURS
    )
    assert worst > 2**2


def test_the_most_common_key_may_use_that_counts_are_monotone() -> None:
    visits = table(account=ledger())
    plain = visits.recipe("most_common", column="region", keys=["a"], epsilon=1)
    groups = visits.group_by("region").recipe("most_common", column="region", keys=["a"], epsilon=1)
    assert isinstance(plain, PermuteAndFlip)
    assert isinstance(groups, PermuteAndFlip)
    assert (plain.monotone, plain.sensitivity) == (True, 1)
    assert (groups.monotone, groups.sensitivity) == (False, 2)


def test_keys_of_users_are_paid_for_all_their_groups() -> None:
    visits = table(account=ledger(USER, cap=Approx(1, "0.5")), user="id", max_rows=5, max_groups=3)
    recipe = visits.recipe("private_keys", column="region", epsilon=1, delta="1e-6")
    assert isinstance(recipe, KeySelection)
    assert (recipe.max_groups, recipe.touched) == (3, 3)
