"""Answers without noise are the truth; with noise they are what was paid for."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ameles.core.exceptions import BadInput, BudgetExceeded, MissingExtra
from ameles.core.guarantee import USER, Neighbours
from ameles.core.loss import Approx, Concentrated, Pure
from ameles.query import Answer, Table
from tests.query.tables import ledger, table, truthful

SIX = [6 * i for i in range(20)]


def test_counts() -> None:
    visits = table()
    assert visits.noisy_count(epsilon=1).value == 8
    assert visits.where("age >= 34 AND region <> 'south'").noisy_count(epsilon=1).value == 2
    assert visits.partition(region=["north", "south"]).noisy_count(epsilon=1)["north"].value == 3


def test_sums_and_averages_are_clamped_and_rounded() -> None:
    visits = table()
    assert visits.noisy_sum("age", lower=0, upper=60, epsilon=1).value == 34 + 35 + 36 + 7 + 180
    mean = visits.noisy_average("age", lower=0, upper=100, epsilon=1).value
    assert mean == pytest.approx((34 + 35 + 36 + 7 + 61 + 62 + 90) / 7)


def test_variance() -> None:
    ages = [34, 35, 36, 7, 61, 62, 90]
    mean = sum(ages) / 7
    truth = sum((age - mean) ** 2 for age in ages) / 7
    answer = table().noisy_variance("age", lower=0, upper=101, epsilon=1)
    assert answer.value == pytest.approx(truth)


def test_histograms_and_quantiles() -> None:
    visits = table()
    ages = visits.histogram("age", edges=[0, 18, 65, 120], epsilon=1)
    assert [row.value for row in ages.rows] == [1, 5, 1]
    assert ages.key_names == ("age",)
    regions = visits.histogram("region", categories=["north", "south"], other=True, epsilon=1)
    assert {row.key[0]: row.value for row in regions.rows} == {"north": 3, "south": 3, "other": 2}
    median = visits.quantile("age", "0.5", edges=SIX, epsilon=1)
    assert 34 <= float(str(median.value)) <= 40


def test_top() -> None:
    answer = table().top_k(1, by={"region": ["east", "south", "north"]}, epsilon=1)
    assert answer.rows[0].key == ("1", "south")


def test_users_count_once() -> None:
    visits = table(user="id", max_rows=2)
    assert visits.distinct_users(epsilon=1).value == 5
    assert visits.noisy_count(epsilon=1).value == 7
    by = visits.partition(region=["north", "south", "east"]).distinct_users(epsilon=1)
    assert sum(int(str(row.value)) for row in by.rows) == 4


def test_above_threshold_halts() -> None:
    asked = ["age > 80", "age > 8", "household = 1", "age > 1"]
    answer = table().above_threshold(asked, threshold=4, aboves=2, epsilon=1)
    assert [row.value for row in answer.rows] == ["below", "above", "above", "halted"]


def test_k_means_finds_two_groups() -> None:
    people = [(i, 1, age, "north") for i, age in enumerate([9, 10, 11] * 10 + [79, 80, 81] * 20)]
    answer = table(people).k_means({"age": (0, 100)}, clusters=2, rounds=3, epsilon=1)
    assert [answer[place, "rows"].value for place in "12"] == [30, 60]
    assert answer["1", "age"].value == pytest.approx(10)
    assert answer["2", "age"].value == pytest.approx(80)
    published = {type(one) for row in answer.rows for one in (row.value, row.low, row.high)}
    assert published == {int, float}


@pytest.mark.parametrize(
    ("end", "arguments"),
    [
        ("noisy_count", {}),
        ("noisy_sum", {"column": "age", "lower": 0, "upper": 100}),
        ("noisy_average", {"column": "age", "lower": 0, "upper": 100}),
        ("noisy_variance", {"column": "age", "lower": 0, "upper": 100}),
        ("histogram", {"column": "age", "edges": [0, 50, 100]}),
        ("quantile", {"column": "age", "q": 0.5, "edges": SIX}),
        ("top_k", {"k": 1, "by": {"region": ["north"]}}),
        ("distinct_users", {}),
        ("above_threshold", {"conditions": ["age > 3"], "threshold": 3}),
        ("k_means", {"bounds": {"age": (0, 100)}, "clusters": 2}),
    ],
)
@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_epsilon_that_is_asked_is_the_one_that_is_charged(
    end: str, arguments: dict[str, Any], max_rows: int
) -> None:
    people = ledger(USER)
    visits = table(account=people, user="id", max_rows=max_rows)
    answer = getattr(visits, end)(epsilon="0.3", **arguments)
    assert people.spent == Pure("0.3")
    assert (answer.paid, answer.entry, people.entries[0].on) == ("epsilon 0.3", 1, "visits")
    assert "epsilon 0.3" in visits.explain(end, epsilon="0.3", **arguments)
    assert people.spent == Pure("0.3")


def test_stability_scales_the_noise() -> None:
    widths = [
        table(account=ledger(USER), user="id", max_rows=rows).explain("noisy_count", epsilon=1)
        for rows in (1, 10)
    ]
    assert "give or take 3," in widths[0]
    assert "give or take 30," in widths[1]


def test_where_rows_are_replaced_the_charge_is_still_what_was_asked() -> None:
    people = ledger(neighbours=Neighbours.REPLACE)
    visits = table(account=people)
    assert "give or take 6," in visits.explain("noisy_count", epsilon=1)
    visits.noisy_count(epsilon=1)
    assert people.spent == Pure(1)
    with pytest.raises(BadInput, match="only a pure epsilon"):
        visits.noisy_count(epsilon=1, delta="1e-6")


def test_other_currencies() -> None:
    approximate = table(account=ledger(cap=Approx(1, "1e-6")))
    approximate.noisy_count(epsilon="0.5", delta="1e-7")
    # for one count Laplace noise is smaller, and needs no delta
    assert approximate.account.left == Approx("0.5", "1e-6")
    approximate.noisy_count(epsilon="0.4")
    assert approximate.account.left == Approx("0.1", "1e-6")
    rho = table(account=ledger(cap=Concentrated(1)))
    rho.noisy_count(epsilon=1)
    assert rho.account.left == Concentrated("0.5")


def test_the_slides_third_query_is_refused() -> None:
    visits = table(account=ledger(cap=Pure(1)))
    visits.noisy_count(epsilon="0.01")
    visits.noisy_count(epsilon="0.10")
    with pytest.raises(
        BudgetExceeded, match=r"needs epsilon 1; population 'people' has 0\.89 left"
    ):
        visits.noisy_count(epsilon="1.00")


def test_the_same_version_is_answered_again_at_no_cost() -> None:
    people = ledger()
    visits = table(account=people, version="2026-01")
    first = visits.where("age > 3").noisy_count(epsilon="0.1")
    again = visits.where("age > 3").noisy_count(epsilon="0.1")
    assert (again.value, again.repeated, first.repeated) == (first.value, True, False)
    assert people.spent == Pure("0.1")
    assert "stored before, at no cost" in str(again)
    visits.where("age > 4").noisy_count(epsilon="0.1")  # another question
    visits.where("age > 3").noisy_count(epsilon="0.2")  # another epsilon
    assert people.spent == Pure("0.4")


def test_without_a_version_each_question_is_paid_for() -> None:
    people = ledger()
    visits = table(account=people)
    for _ in range(2):
        visits.noisy_count(epsilon="0.1")
    assert people.spent == Pure("0.2")


def test_forecast() -> None:
    visits = table(account=ledger(USER), user="id", max_rows=5)
    epsilon = visits.forecast("noisy_count", error=20)
    assert "give or take 20," in visits.explain("noisy_count", epsilon=epsilon)
    assert "give or take 21," in visits.explain("noisy_count", epsilon=epsilon * Fraction(97, 100))
    with pytest.raises(BadInput, match="No epsilon up to 1000"):
        visits.forecast("noisy_sum", column="age", lower=0, upper=10**5, error="0.001")
    assert visits.account.left == Pure(100)


def test_an_answer_is_shown_and_converted() -> None:
    answer = table().partition(region=["north", "<b>"]).noisy_count(epsilon=1)
    assert str(answer).splitlines()[1].split() == ["north", "3", "0", "to", "6"]
    assert "&lt;b&gt;" in answer._repr_html_()
    assert "<b>" not in answer._repr_html_()
    assert answer.columns() == {
        "region": ["north", "<b>"],
        "count": [3, 0],
        "low": [0, -3],
        "high": [6, 3],
    }
    assert Answer.from_json(answer.to_json(), repeated=False) == answer
    assert json.loads(answer.to_json())["entry"] == 1
    assert len(answer) == 2
    with pytest.raises(BadInput, match="This answer has 2 rows"):
        _ = answer.value
    with pytest.raises(KeyError):
        _ = answer["west"]


def test_an_answer_draws_itself(tmp_path: Path) -> None:
    answer = table().partition(region=["north", "south"]).noisy_count(epsilon=1)
    answer.plot(tmp_path / "picture.svg")
    drawn = (tmp_path / "picture.svg").read_text()
    assert "north" in drawn
    assert "count, with its 95% interval" in drawn
    replies = table().above_threshold(["age > 3"], threshold=3, epsilon=1)
    with pytest.raises(BadInput, match="no numbers with intervals"):
        replies.plot(tmp_path / "nothing.svg")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_an_answer_becomes_a_data_frame(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = table().partition(region=["north"]).noisy_count(epsilon=1)
    convert = getattr(answer, f"to_{library.removeprefix('py')}")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=f"needs {library}"):
        convert()
    given = SimpleNamespace(DataFrame=dict, table=dict)
    monkeypatch.setitem(sys.modules, library, given)
    assert convert() == {"region": ["north"], "count": [3], "low": [0], "high": [6]}


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda t: t.where("random() < 0.5"), "It uses the function 'random'"),
        (lambda t: t.where("(SELECT 1) = 1"), "It has a query of its own"),
        (lambda t: t.where("nobody > 3"), "the column 'nobody'"),
        (lambda t: t.select(), "must have columns"),
        (lambda t: t.select("nobody"), "no column 'nobody'"),
        (lambda t: t.select(x="NULL"), "always NULL"),
        (lambda t: t.select_many("x", "age"), "a list such as"),
        (lambda t: t.select_many("x", ["age", "region"]), "of the same kind"),
        (lambda t: t.group_by(), "must have keys"),
        (lambda t: t.group_by("age", x="median age"), "The fact 'x' must be"),
        (lambda t: t.group_by("age", x="count age"), "The fact 'x' must be"),
        (lambda t: t.group_by("age", x="sum region"), "must be of integers"),
        (lambda t: t.group_by("age", age="count"), "a key and of a fact"),
        (lambda t: t.union(t.select("age")), "must have the same columns"),
        (lambda t: t.union(3), "of another query"),
        (lambda t: t.union(table()), "of the same population and budget"),
        (lambda t: t.join(t.select("household", x="age"), on="household"), "how many rows"),
        (lambda t: t.join(t, on="household", at_most=(1, 1)), "have a column"),
        (lambda t: t.partition(), "needs keys"),
        (lambda t: t.partition(region="north"), "must be a list"),
        (lambda t: t.partition(region=["north", "north"]), "each key once"),
        (lambda t: t.partition(nothing=["a"]), "no column 'nothing'"),
        (lambda t: t.noisy_count(epsilon=0), "epsilon"),
        (lambda t: t.noisy_sum("region", lower=0, upper=1, epsilon=1), "is declared as text"),
        (lambda t: t.noisy_sum("age", lower=1, upper=0, epsilon=1), "lower"),
        (lambda t: t.histogram("age", epsilon=1), "exactly one of edges and categories"),
        (lambda t: t.distinct_users(epsilon=1), "It needs a unit that is a user"),
        (lambda t: t.top_k(3, by={"region": ["north"]}, epsilon=1), "3 of 1 declared keys"),
        (lambda t: t.above_threshold([], threshold=1, epsilon=1), "a list of 1 to"),
        (lambda t: t.above_threshold([len], threshold=1, epsilon=1), "must be SQL, as text"),
        (lambda t: t.above_threshold(["age > f()"], threshold=1, epsilon=1), "the function 'f'"),
        (lambda t: t.k_means({}, clusters=2, epsilon=1), "needs bounds"),
        (lambda t: t.k_means({"age": (3, 3)}, clusters=2, epsilon=1), "a lower and an upper"),
        (lambda t: t.k_means({"region": (3, 4)}, clusters=2, epsilon=1), "integer or number"),
        (lambda t: t.explain("nothing", epsilon=1), "no end 'nothing'"),
        (lambda t: t.explain("noisy_count"), "needs an epsilon"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_it_costs(ask: Any, what: str) -> None:
    people = ledger()
    visits = table(account=people)
    with pytest.raises(BadInput, match=what):
        ask(visits)
    assert people.spent == Pure(0)


def test_a_table_says_who_it_protects() -> None:
    with pytest.raises(BadInput, match="protects one event, and the table one user"):
        table(account=ledger(), user="id", max_rows=3)
    with pytest.raises(BadInput, match="protects one user, and the table one event"):
        table(account=ledger(USER))
    with pytest.raises(BadInput, match="needs the column that names the user, and max_rows"):
        table(account=ledger(USER), user="id")
    with pytest.raises(BadInput, match="must be a column of texts or integers"):
        table(account=ledger(USER), user="nobody", max_rows=1)


def test_nothing_tells_a_value() -> None:
    visits = table([(8675309, 1, 34, "north")], account=truthful(USER), user="id", max_rows=2)
    for shown in (repr(visits), repr(visits.partition(region=["north"])), repr(visits.account)):
        assert "8675309" not in shown
    assert isinstance(visits, Table)


def test_a_part_is_paid_for_by_the_most_expensive_parts() -> None:
    people = ledger()
    parts = table(account=people).partition(region=["north", "south", "east"])
    assert list(parts) == ["north", "south", "east"]
    for name, epsilon in (("north", "0.3"), ("south", "0.2"), ("south", "0.2"), ("east", "0.1")):
        parts[name].noisy_count(epsilon=epsilon)
    assert people.spent == Pure("0.4")  # of the south
    with pytest.raises(KeyError):
        _ = parts["west"]


def test_the_account_of_a_part_pays_for_no_other_table() -> None:
    people = ledger()
    whole = table(account=people)
    parts = whole.partition(region=["north", "south"])
    within = parts["south"].partition(age=[34])
    for part in (*parts.values(), *within.values()):
        with pytest.raises(BadInput, match="pays for that part alone") as refused:
            table(account=part.account)
        assert "join first and partition then" in refused.value.tip
    with pytest.raises(BadInput, match="of the same population and budget") as refused:
        parts["north"].join(whole, on="region", at_most=(1, 1))
    assert refused.value.tip == "join first, and partition then"
    assert people.spent == Pure(0)
    assert table(account=whole.account).account is whole.account  # of a whole table it may


def test_a_part_says_what_other_parts_have_paid() -> None:
    parts = table(account=ledger()).partition(region=["north", "south"])
    first = parts["north"].noisy_count(epsilon="0.3")
    assert "noisy_count of people: epsilon 0.3, entry 1 of the ledger" in str(first)
    assert "price" not in first.to_json()
    told = parts["south"].explain("noisy_count", epsilon="0.4")
    assert "  charged      epsilon 0.1\n  price        epsilon 0.4, shared with other parts" in told
    second = parts["south"].noisy_count(epsilon="0.3")
    assert (second.paid, second.price) == ("epsilon 0", "epsilon 0.3")
    assert "epsilon 0 for a price of epsilon 0.3, shared with other parts, entry 2" in str(second)
    alone = table(account=ledger()).explain("noisy_count", epsilon="0.4")
    assert "price" not in alone
    poor = table(account=ledger(cap=Pure("0.1"))).explain("noisy_count", epsilon="0.4")
    assert "charged      epsilon 0.4, of epsilon 0.1 left" in poor  # refused, but explained


def test_users_pay_for_as_many_parts_as_they_may_be_in() -> None:
    for max_groups, paid in ((1, "0.3"), (2, "0.5"), (3, "0.6")):
        people = ledger(USER)
        visits = table(account=people, user="id", max_rows=3, max_groups=max_groups)
        parts = visits.partition(region=["north", "south", "east"])
        for name, epsilon in (("north", "0.3"), ("south", "0.2"), ("east", "0.1")):
            parts[name].noisy_count(epsilon=epsilon)
        assert people.spent == Pure(paid)


def test_a_user_is_in_no_more_parts_than_declared() -> None:
    rows = [(1, 1, 30, region) for region in ("north", "south", "east")]
    visits = table(rows, user="id", max_rows=3, max_groups=2)
    parts = visits.partition(region=["north", "south", "east"])
    counts = [parts[name].noisy_count(epsilon=1).value for name in parts]
    assert sorted(map(str, counts)) == ["0", "1", "1"]
    # asked as a whole, all rows count: together they are no more than max_rows
    assert sum(int(str(row.value)) for row in parts.noisy_count(epsilon=1).rows) == 3
