"""The part of SQL that is understood, and refusals of the rest."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import duckdb
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, USER
from ameles.core.loss import Pure
from ameles.query import Query, Table
from ameles.query.sql import parse
from ameles.query.sql_questions import ColumnBounds, questions, shares
from tests.query.tables import ledger, table, truthful

AGE = ColumnBounds(Fraction(0), Fraction(100))
KEYS = {"region": ["north", "south"]}


def asked(sql: str, visits: Query, **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"bounds": {"age": AGE, "age * 2": AGE}, "keys": KEYS, **more}
    every = questions(parse(sql), {"t": visits, "u": visits.select("id", x="age")}, **given)
    return {one.label: one.ask(1) for one in every}


def test_a_select_is_asked() -> None:
    sql = "SELECT region, COUNT(*), AVG(age) AS mean FROM t WHERE age > 34 GROUP BY region"
    answers = asked(sql, table())
    assert [row.value for row in answers["count"].rows] == [1, 3]
    assert answers["mean"]["south"].value == pytest.approx((35 + 61 + 62) / 3)


def test_every_aggregate() -> None:
    sql = (
        "SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS who, SUM(age) AS s, SUM(age * 2) AS d, "
        "AVG(age) AS a, MEDIAN(age) AS m, QUANTILE(age, 0.9) AS q FROM T"
    )
    visits = table(account=truthful(USER), user="id", max_rows=3)
    answers = asked(sql, visits)
    assert answers["n"].value == 8
    assert answers["who"].value == 5
    assert answers["s"].value == 34 + 35 + 36 + 7 + 61 + 62 + 90
    assert answers["d"].value == 68 + 70 + 72 + 14 + 100 + 100 + 100
    assert 35 <= answers["m"].value <= 37
    assert 62 <= answers["q"].value <= 91


def test_a_join_on_the_user() -> None:
    visits = table(account=truthful(USER), user="id", max_rows=3)
    answers = asked("SELECT COUNT(*) FROM t JOIN u USING (id)", visits)
    assert answers["count"].value == 9 + 1 + 4 + 1 + 1


def test_a_join_on_something_else_is_refused() -> None:
    with pytest.raises(BadInput, match="how many rows of one key"):
        asked("SELECT COUNT(*) FROM t JOIN u USING (id)", table())


def test_all_aggregates_share_epsilon() -> None:
    people = ledger()
    every = questions(
        parse("SELECT COUNT(*) AS a, COUNT(*) AS b, SUM(age) FROM t"),
        {"t": table(account=people)},
        bounds={"age": AGE},
        keys={},
    )
    each = shares("0.3", len(every))
    for one in every:
        assert "epsilon 0.1" in one.explain(each)
        one.ask(each)
    assert people.spent == Pure("0.3")


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELECT * FROM t", "not an aggregate"),
        ("SELECT age FROM t", "not in GROUP BY"),
        ("SELECT region FROM t GROUP BY region", "selects no aggregate"),
        ("SELECT COUNT(*) FROM t ORDER BY 1", "ORDER BY"),
        ("SELECT COUNT(*) FROM t LIMIT 1", "LIMIT"),
        ("SELECT DISTINCT COUNT(*) FROM t", "DISTINCT"),
        ("SELECT COUNT(*) FROM t GROUP BY region HAVING COUNT(*) > 1", "HAVING"),
        ("SELECT COUNT(*) FROM t QUALIFY true", "QUALIFY"),
        ("SELECT COUNT(*) FROM t USING SAMPLE 1", "a sample"),
        ("WITH a AS (SELECT 1) SELECT COUNT(*) FROM a", "WITH"),
        ("SELECT COUNT(*) FROM t GROUP BY ALL", "GROUP BY ALL"),
        ("SELECT COUNT(*) FROM t GROUP BY CUBE (age, id)", "grouping sets"),
        ("SELECT COUNT(*) FROM t GROUP BY age + 1", "GROUP BY must have plain columns"),
        ("SELECT COUNT(*) FROM t GROUP BY t.age", "GROUP BY must have plain columns"),
        ("SELECT MAX(age) FROM t", "MAX"),
        ("SELECT COUNT(age) FROM t", "COUNT"),
        ("SELECT COUNT(*) + 1 FROM t", "in a way that is not supported"),
        ("SELECT SUM(DISTINCT age) FROM t", "has DISTINCT"),
        ("SELECT SUM(age) FILTER (age > 3) FROM t", "has a FILTER"),
        ("SELECT COUNT(*) FILTER (age > 3) FROM t", "Its COUNT has a FILTER"),
        ("SELECT SUM(age) OVER () FROM t", "not an aggregate"),
        ("SELECT QUANTILE(age, age) FROM t", "must be a number"),
        ("SELECT COUNT(*) FROM t, u", "something other than one table"),
        ("SELECT COUNT(*) FROM t LEFT JOIN u USING (id)", "something other than one table"),
        ("SELECT COUNT(*) FROM t JOIN u ON t.id = u.id", "something other than one table"),
        ("SELECT COUNT(*) FROM (SELECT 1)", "something other than one table"),
        ("SELECT COUNT(*) FROM a.t", "a plain word"),
        ("SELECT COUNT(*) FROM x", "no table 'x'"),
        ("SELECT COUNT(*), COUNT(*) FROM t", "the same name"),
        ("SELECT COUNT(*) FROM t; SELECT 1", "one plain SELECT"),
        ("SELECT COUNT(*) FROM t UNION SELECT 1", "one plain SELECT"),
        ("DROP TABLE t", "not a SELECT"),
        ("SELEC", "not a SELECT"),
        ("SELECT COUNT(*) FROM t" + " " * 10_000, "more than 10000 characters"),
        ("SELECT SUM(household) FROM t", "bounds of household must be declared"),
        ("SELECT household, COUNT(*) FROM t GROUP BY household", "keys of 'household'"),
        ("SELECT COUNT(DISTINCT region) FROM t", "does not count users"),
        ("SELECT COUNT(*) FROM t WHERE random() < 0.5", "the function 'random'"),
        ("SELECT COUNT(*) FROM t WHERE age > (SELECT 1)", "a query of its own"),
        ("SELECT SUM(random() * age) AS s FROM t", "the function 'random'"),
    ],
)
def test_the_rest_is_refused_before_it_costs(sql: str, what: str) -> None:
    people = ledger()
    with pytest.raises(BadInput, match=what):
        asked(sql, table(account=people))
    assert people.spent == Pure(0)


@pytest.mark.parametrize("name", ["value", "VALUE"])
def test_a_key_or_a_user_may_be_called_value(name: str) -> None:
    connection = duckdb.connect()
    connection.execute(
        f'CREATE TABLE t AS SELECT range % 2 AS "{name}", range AS age FROM range(6)'
    )
    bounds = {"(age + 1)": AGE}
    given = {"user": name, "max_rows": 3}
    for unit in ({"unit": "row"}, {"unit": "user", **given}):
        people = Table.from_duckdb(
            connection, "t", account=truthful(USER if "user" in unit else EVENT), **unit
        )
        keys = {name: ["0", "1"]}
        by_key = parse(f'SELECT "{name}", SUM(age + 1) FROM t GROUP BY "{name}"')
        [one] = questions(by_key, {"t": people}, bounds=bounds, keys=keys)
        assert [row.value for row in one.ask(1).rows] == [9, 12]
        [all_rows] = questions(
            parse("SELECT SUM(age + 1) FROM t"), {"t": people}, bounds=bounds, keys={}
        )
        assert all_rows.ask(1).value == 21


def test_edges_of_quantiles_are_few() -> None:
    assert AGE.edges == tuple(Fraction(edge) for edge in range(101))
    fine = ColumnBounds(Fraction(0), Fraction(1), Fraction(1, 10**6)).edges
    assert len(fine) == 1025
    assert fine[-1] == 1
