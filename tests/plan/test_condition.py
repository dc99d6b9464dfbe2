"""Conditions mean what they say, and what a condition may not is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.core.exceptions import PlanError
from ameles.plan.condition import LONGEST, check_condition
from ameles.plan.condition_functions import FUNCTIONS
from tests.engine.condition_rows import COLUMNS, NOON, chosen, fill, shared

ROW = {
    "age": 20,
    "n": 3,
    "x": 1.5,
    "region": "North",
    "other": "a%b",
    "fever": True,
    "at": NOON,
    "a b": "x",
}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("fever AND age >= 18", True),
        ("FEVER and Age >= 18", True),
        ("NOT fever OR age < 18", False),
        ("age > 19.5", True),
        ("age = '20'", True),
        ("age BETWEEN 20 AND 30", True),
        ("age NOT BETWEEN 20 AND 30", False),
        ("age IN (1, 20)", True),
        ("age NOT IN (1, 2.5)", True),
        ("region IN ('North', 'South')", True),
        ("region LIKE 'N%h'", True),
        ("region LIKE 'n%'", False),
        ("region ILIKE 'n_RTH'", True),
        ("region NOT LIKE '%ort%'", False),
        ("other LIKE 'a$%b' ESCAPE '$'", True),
        ("region NOT ILIKE 'x'", True),
        ("region SIMILAR TO 'No.*'", True),
        ("regexp_matches(region, 'ort')", True),
        ("contains(lower(region), 'nor')", True),
        ("starts_with(region, 'No') AND ends_with(region, 'th')", True),
        ("left(region, 2) = 'No' AND right(region, 2) = 'th'", True),
        ("substring(region, 2, 3) = 'ort'", True),
        ("position('r' IN region) = 3 AND length(region) = 5", True),
        ("trim(upper(region)) = 'NORTH'", True),
        ("\"a b\" = 'x'", True),
        ("\"at\" >= '2026-01-15' AND \"at\" < '2026-01-16'", True),
        ("\"at\" >= TIMESTAMP '2026-01-15 12:00:01'", False),
        ("CAST(\"at\" AS DATE) = '2026-01-15'", True),
        ("DATE '2026-01-15' < \"at\"", True),
        ('hour("at") = 12 AND isodow("at") = 4', True),
        ('EXTRACT(month FROM "at") = 1 AND date_part(\'dow\', "at") = 4', True),
        ("date_trunc('month', \"at\") = '2026-01-01'", True),
        ("age + n * 2 - 1 = 25 AND age // n = 6 AND age % n = 2", True),
        ("age / 8 = 2.5 AND -age = -20 AND abs(-n) = 3", True),
        ("round(x) = 2 AND floor(x) = 1 AND ceil(x) = 2 AND trunc(x) = 1", True),
        ("greatest(age, n, 30) = 30 AND least(age, n) = 3", True),
        ("CASE WHEN age > 18 THEN 'adult' ELSE 'child' END = 'adult'", True),
        ("CASE region WHEN 'North' THEN 1 WHEN 'South' THEN 2 END = 1", True),
        ("if(fever, age, n) = 20", True),
        ("coalesce(age, 0) = 20 AND ifnull(n, 1) = 3", True),
        ("CAST(age AS VARCHAR) = '20' AND CAST('7' AS BIGINT) = 7", True),
        ("TRY_CAST(region AS INTEGER) IS NULL", True),
        ("region::BIGINT IS NULL", True),
        ("fever IS TRUE AND fever IS NOT FALSE AND fever IS NOT NULL", True),
        ("fever = 'true' AND fever = true", True),
        ("age IS DISTINCT FROM n AND NOT age IS NOT DISTINCT FROM n", True),
        ("age > 18 -- grown up", True),
        ("age /* years */ > 18", True),
        ("NULL", False),
        ("true", True),
        ("age < 99999999999999999999", True),
        ("2000000000 + 2000000000 > age", True),
    ],
)
def test_conditions_mean_what_they_say(condition: str, holds: bool) -> None:
    fill([ROW])
    assert chosen(condition) == [(holds,)]


REFUSED = {
    "random() < 0.5": "the function 'random'",
    "uuid() = region": "the function 'uuid'",
    'now() > "at"': "the function 'now'",
    'current_timestamp > "at"': "the function 'current_timestamp'",
    'current_date > "at"': "the function 'current_date'",
    "nextval('s') = 1": "the function 'nextval'",
    "current_setting('TimeZone') = 'UTC'": "the function 'current_setting'",
    "getvariable('x') = 1": "the function 'getvariable'",
    "sum(age) > 1": "the function 'sum'",
    "count(*) > 1": "the function 'count_star'",
    "row_number() OVER () > 1": "a window",
    "lag(age) OVER (ORDER BY n) > 1": "a window",
    "(SELECT true)": "a query of its own",
    "age IN (SELECT 1)": "a query of its own",
    "age = ANY([1])": "a query of its own",
    "EXISTS (FROM rows)": "a query of its own",
    "FROM rows": "a query of its own",
    "*": "a star",
    "COLUMNS(*) > 1": "a star",
    "age = ?": "a parameter",
    "age = $1": "a parameter",
    "list_filter([1], x -> x > 0) = [1]": "",
    "region[1] = 'N'": "a form",
    "{'a': 1}.a = 1": "",
    "rows.age = 1": "'rows.age', which is not declared",
    "rowid = 1": "'rowid', which is not declared",
    "#1 = 1": "a form",
    "agee = 1": "'agee', which is not declared",
    "age; SELECT 1": "not SQL",
    "age) FROM rows WHERE (fever": "more than one expression",
    "fever) UNION ALL (SELECT true": "more than one expression",
    "fever), (true": "more than one expression",
    "fever, true": "more than one expression",
    "fever /*": "not SQL",
    "fever) --": "not SQL",
    "'": "not SQL",
    "fever AND": "not SQL",
    "at > '2026-01-01'": "not SQL",
    "": "empty",
    " -- nothing": "",
    "fever AS f": "not SQL",
    "age": "an integer, but a condition must be true or false",
    "region || other = 'x'": "the function '||'",
    "repeat(region, 1000000) = 'x'": "the function 'repeat'",
    "replace(region, 'a', other) = 'x'": "the function 'replace'",
    "lpad(region, 1000000000, 'x') = 'x'": "the function 'lpad'",
    "main.lower(region) = 'x'": "the function 'lower'",
    "lower(DISTINCT region) = 'x'": "the function 'lower'",
    "lower(region := other) = 'x'": "names an argument",
    "lower(region, other) = 'x'": "another number of arguments",
    "regexp_matches(region, other)": "a pattern that is not written out",
    "region LIKE other": "a pattern that is not written out",
    "contains(region, other)": "a pattern that is not written out",
    "regexp_matches(region, '(')": "cannot evaluate",
    "CASE WHEN fever THEN regexp_matches(region, '(') END": "cannot evaluate",
    "region = 3": "not alike",
    "fever = 1": "not alike",
    "age AND fever": "an integer where a boolean is needed",
    "lower(age) = 'x'": "an integer where a text is needed",
    "hour(region) = 1": "a text where a timestamp is needed",
    "\"at\" > 'yesterday'": "the text 'yesterday' where a timestamp is needed",
    "age = 'twenty'": "the text 'twenty' where an integer is needed",
    "CASE WHEN fever THEN CAST('x' AS BIGINT) END = 1": "the text 'x' where an integer",
    'CAST("at" AS BIGINT) = 1': "casts a timestamp to an integer",
    "CAST(age AS DECIMAL(3, 1)) = 1": "a type with parameters",
    "region::JSON IS NULL": "the type 'JSON'",
    "age::my_type IS NULL": "the type 'my_type'",
    "region COLLATE nocase = 'x'": "a collation",
    "'x' GLOB 'y'": "the function '~~~'",
    "INTERVAL 1 DAY IS NULL": "the function 'to_days'",
    "x = 1e999": "too large",
    "x = x'00'": "a value of a kind",
    "x // 2 = 1": "for integers",
    "(" * 150 + "fever" + ")" * 150: "parentheses",
    "NOT " * 200 + "fever": "deeper",
    "fever" + " OR fever" * LONGEST: "more than",
    "fever\0": "NUL",
}


@pytest.mark.parametrize(("condition", "said"), REFUSED.items(), ids=[k[:40] for k in REFUSED])
def test_what_a_condition_may_not_is_refused(condition: str, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        check_condition(condition, COLUMNS)
    assert said in caught.value.what
    assert caught.value.what.endswith(".")


@pytest.mark.parametrize("count", range(1, 10))
def test_the_greatest_is_of_two_to_eight(count: int) -> None:
    condition = f"greatest({', '.join(['age'] * count)}) > 1"
    if 2 <= count <= 8:
        check_condition(condition, COLUMNS)
        return
    with pytest.raises(PlanError, match="another number of arguments"):
        check_condition(condition, COLUMNS)


def test_a_column_that_is_not_there_is_told_the_nearest() -> None:
    with pytest.raises(PlanError) as caught:
        check_condition("regoin = 'x'", COLUMNS)
    assert caught.value.tip == "region"


def test_the_reason_is_given() -> None:
    with pytest.raises(PlanError) as caught:
        check_condition("random() < 0.5", COLUMNS)
    assert caught.value.what == "It uses the function 'random', which a condition may not."
    assert caught.value.why == "what happens to an event depends on that event alone"
    assert caught.value.exit_code == 2


def test_every_function_of_the_list_is_consistent_and_no_macro() -> None:
    """A macro may write its argument twice, and a volatile function is not of the row alone."""
    listed = ", ".join(f"'{name}'" for name in FUNCTIONS if name.isidentifier())
    functions = shared().execute(
        "SELECT DISTINCT function_name, function_type, stability FROM duckdb_functions() "
        f"WHERE function_name IN ({listed})"
    )
    for name, kind, stability in functions.fetchall():
        assert (kind, stability) in {("scalar", "CONSISTENT"), ("scalar", None)} or (
            name in {"if"}  # which is written as a CASE
        ), (name, kind, stability)


# Any text at all: refused, or SQL that is made of what is allowed.

NODES = {"COLUMN_REF", "CONSTANT", "CONJUNCTION", "COMPARISON", "BETWEEN", "OPERATOR", "CASE"} | {
    "CAST",
    "FUNCTION",
    "TYPE",
}
CALLED = {*FUNCTIONS, "strpos", "regexp_extract", "~~"}


def nodes(tree: object) -> list[dict[str, Any]]:
    if isinstance(tree, list):
        return [node for part in tree for node in nodes(part)]
    if isinstance(tree, dict):
        inside = [node for part in tree.values() for node in nodes(part)]
        return [tree, *inside] if "class" in tree else inside
    return []


WORDS = """
age region fever "at" x rows * ( ) , ; ' " -- /* */ = <> < AND OR NOT IN BETWEEN LIKE IS NULL
SELECT FROM WHERE UNION VALUES EXISTS OVER ORDER BY random() now() sum( count(*) lower(
current_date CAST( AS BIGINT VARCHAR CASE WHEN THEN ELSE END [ ] { } : :: . $1 ? # @ || -> 1 2.5
'a' true TRY( COLUMNS( unnest( hash( getenv( read_csv( 'x' FILTER WITH RECURSIVE PIVOT COPY
ATTACH PRAGMA SET INTERVAL DATE lambda EXCLUDE
"""
TOKENS = st.sampled_from([*WORDS.split(), "\n"])


@settings(max_examples=150, deadline=None)
@given(text=st.lists(TOKENS, max_size=9).map(" ".join) | st.text(max_size=30))
def test_nothing_gets_past(text: str) -> None:
    try:
        sql = check_condition(text, COLUMNS)
    except PlanError:
        return
    written = shared().execute("SELECT json_serialize_sql(?)", [f"SELECT {sql}"]).fetchall()
    (statement,) = json.loads(written[0][0])["statements"]
    inner = nodes(statement)
    assert {node["class"] for node in inner} <= NODES
    assert {n["function_name"] for n in inner if n["class"] == "FUNCTION"} <= CALLED
    assert {n["column_names"][0] for n in inner if n["class"] == "COLUMN_REF"} <= set(COLUMNS)


def test_a_text_without_quotes_is_told_how_a_text_is_written() -> None:
    with pytest.raises(PlanError, match="'Zembla', which is not declared") as caught:
        check_condition("region = Zembla", COLUMNS)
    assert "single quotes" in caught.value.why
    assert caught.value.tip.startswith("'Zembla', if it is a text; or one of ")
