"""Tables whose names or values are awkward: the bounds hold, and nothing fails after it is paid."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import duckdb
import pytest

from ameles.core.exceptions import BadInput, PlanError
from ameles.core.guarantee import EVENT, USER
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.query import Table, row_set
from ameles.query.look import looking
from tests.query.tables import rows_of, truthful

ONE_ROW: dict[str, Any] = {"user": "id", "max_rows": 1}
INTERNAL = [
    "who",
    "step",
    "place",
    "crowd",
    "key",
    "cell",
    "column_0",
    "column_1",
    "amount_0",
]


def made(columns: str, rows: list[tuple[Any, ...]], **unit: Any) -> Table:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t ({columns})")
    marks = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    account = truthful(USER if unit else EVENT)
    return Table.from_duckdb(
        connection, "t", account=account, unit="user" if unit else "row", **unit
    )


@pytest.mark.parametrize("name", INTERNAL)
def test_a_user_is_bounded_whatever_the_columns_are_called(name: str) -> None:
    rows = [(place, "one person") for place in range(9)]
    people = made(f'"{name}" INTEGER, id VARCHAR', rows, user="id", max_rows=2)
    assert people.noisy_count(epsilon=1).value == 2
    kept = rows_of(people)
    assert len(kept) == 2
    assert set(kept) <= set(rows)


def test_keys_are_found_in_a_table_that_has_a_column_called_key() -> None:
    people = made("key INTEGER, region VARCHAR", [(place, "north") for place in range(4)])
    with_key = people.select("key", "region")
    assert rows_of(with_key.group_by("region", n="count")) == [("north", 4)]
    with looking(people.relation) as look:
        keys, units = look.units_of_keys("region")
    assert (keys, units.tolist()) == (["north"], [4])


COMPARED = ["distinct", "group_by", "intersect", "except_", "union distinct"]


@pytest.mark.parametrize("after", COMPARED)
def test_zeros_with_and_without_a_sign_are_one_value(after: str) -> None:
    # otherwise the presence of one row would decide how the other row looks
    people = made("x DOUBLE", [(-0.0,), (0.0,)])
    both = {
        "distinct": people.distinct(),
        "group_by": people.group_by("x"),
        "intersect": people.intersect(people.select(x="-x")),
        "except_": people.except_(people.where("x > 1")),
        "union distinct": people.union(people).distinct(),
    }[after]
    texts = both.select(text="CAST(x AS VARCHAR)")
    assert rows_of(texts) == [("0.0",)]


def test_the_order_in_which_rows_of_a_user_count_ignores_the_sign_of_zero() -> None:
    rows = [(1, -0.0), (1, -0.0), (2, -0.0), (3, 5.0)]
    people = made("id INTEGER, x DOUBLE", rows, user="id", max_rows=1)
    assert sorted(rows_of(people.select(text="CAST(x AS VARCHAR)"))) == [("0.0",)] * 2 + [("5.0",)]


def test_the_rows_of_a_join_ignore_the_sign_of_zero() -> None:
    people = made("h INTEGER, x DOUBLE", [(1, -0.0), (2, 5.0)])
    pairs = people.join(people.select("h", y="x"), on="h", at_most=(1, 1))
    texts = pairs.select(x="CAST(x AS VARCHAR)", y="CAST(y AS VARCHAR)")
    assert sorted(rows_of(texts)) == [("0.0", "0.0"), ("5.0", "5.0")]


def test_what_is_not_a_number_has_no_value_where_rows_are_compared() -> None:
    people = made("x DOUBLE", [(1e308,), (-1e308,)])
    odd = people.select(x="x * 10 - x * 10").distinct()
    assert rows_of(odd) == [(None,)]


def test_rows_that_come_while_a_table_is_read_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 'one person' AS id")
    people = Table.from_duckdb(
        connection, "t", account=truthful(USER), unit="user", user="id", max_rows=1
    )
    create = TemporaryTables.create

    def then_insert(tables: TemporaryTables, what: str, query: str) -> str:
        name = create(tables, what, query)
        connection.execute("INSERT INTO t SELECT 'one person' FROM range(9)")
        return name

    monkeypatch.setattr(TemporaryTables, "create", then_insert)
    assert people.noisy_count(epsilon=1).value == 1


@pytest.mark.parametrize("odd", ["Bob Smith", 10**30, [1], None])
def test_one_value_in_a_column_of_objects_changes_no_type_and_no_error(odd: Any) -> None:
    pandas: Any = import_module("pandas")
    frame = pandas.DataFrame({"x": pandas.Series([1, 2, odd, None], dtype=object)})
    people = Table.from_dataframe(frame, account=truthful(), unit="row", name="t")
    assert people.columns == {"x": "text"}
    declared = Table.from_dataframe(
        frame, account=truthful(), unit="row", name="t", columns={"x": "integer"}
    )
    assert declared.where("x < 9").noisy_count(epsilon=1).value == 2


def test_keys_of_one_column_may_have_slashes_and_be_empty() -> None:
    people = made("p VARCHAR, n INTEGER", [("a/b", 1), ("a", 1), ("", 1), ("a", 1)])
    keys = ["a", "a/b", ""]
    parts = people.partition(p=keys)
    assert parts.noisy_count(epsilon=1).columns()["p"] == keys
    assert parts.noisy_variance("n", lower=0, upper=2, epsilon=1).columns()["p"] == keys
    made_up = people.synthetic({"p": keys}, rows=4, ways=1, epsilon=1)
    assert made_up.columns()["p"] == keys
    assert [part.noisy_count(epsilon=1).value for part in parts.values()] == [2, 1, 1]


def test_keys_of_two_columns_have_no_slashes() -> None:
    people = made("p VARCHAR, q VARCHAR", [("a/b", "c"), ("a", "b/c")])
    with pytest.raises(BadInput, match="has a slash"):
        people.partition(p=["a", "a/b"], q=["c", "b/c"])


def test_columns_do_not_differ_in_capitals_only() -> None:
    people = made("p VARCHAR, q VARCHAR", [("a", "b")])
    with pytest.raises(PlanError, match="differ only in capital letters"):
        people.select("p", P="'x'")
    with pytest.raises(PlanError, match="differ only in capital letters"):
        people.join(people.select("p", Q="q"), on="p", at_most=(1, 1))


def test_names_of_columns_are_in_one_line() -> None:
    with pytest.raises(BadInput, match="must be in one line"):
        made('"crowd\n" INTEGER, id VARCHAR', [(1, "a")], user="id", max_rows=1)


def test_a_column_may_be_called_self() -> None:
    odd = made("self INTEGER, region VARCHAR", [(1, "north"), (2, "south")])
    assert odd.partition(self=["1"]).noisy_count(epsilon=1)["1"].value == 1
    assert rows_of(odd.select(self="self + 1")) == [(2,), (3,)]
    assert odd.group_by("region", self="count").columns == {"region": "text", "self": "integer"}


def test_the_only_column_can_be_replaced_by_several_values() -> None:
    single = made("x INTEGER", [(1,), (2,)])
    assert sorted(rows_of(single.select_many("x", ["x", "x + 10"]))) == [(1,), (2,), (11,), (12,)]


def test_a_column_with_a_quote_in_its_name_can_be_selected() -> None:
    odd = made('"a""b" INTEGER', [(1,)])
    assert rows_of(odd.select('a"b')) == [(1,)]


def test_a_name_is_not_selected_twice() -> None:
    with pytest.raises(BadInput, match="'x' is the name of a column and of a computed one"):
        made("x INTEGER", [(1,)]).select("x", x="x + 1")


def test_rows_with_the_same_hash_are_kept_whatever_their_order_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_set, "secret_place", lambda *_: "7")
    alike = [(12345, 678), (54321, 876)]
    kept, joined = set(), set()
    for rows in (alike, alike[::-1]):
        people = made("x BIGINT, y BIGINT, id INTEGER", [(*one, 1) for one in rows], **ONE_ROW)
        kept.add(tuple(rows_of(people)))
        plain = made("x BIGINT, y BIGINT, id INTEGER", [(*one, 1) for one in rows])
        pairs = plain.join(plain.select("id", z="id"), on="id", at_most=(1, 1))
        joined.add(tuple(rows_of(pairs)))
    assert len(kept) == len(joined) == 1


def test_bounds_around_a_rounding_of_floats_stop_no_clusters() -> None:
    # as floating-point numbers they are 4 apart, and half of their distance is 1e-20
    ends = ["18014398509481985.99999999999999999999", "18014398509481986.00000000000000000001"]
    rows = [(0.0,), (2.0**54 + 4,), (1e300,)]
    answer = made("x DOUBLE", rows).k_means({"x": ends}, clusters=1, rounds=1, epsilon=1)
    assert answer["1", "rows"].value == 3
