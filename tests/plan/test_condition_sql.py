"""The SQL of a condition fails on no row, and is of each row alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ameles.core.exceptions import PlanError
from ameles.plan.condition import check_condition
from tests.engine.condition_rows import COLUMNS, NOON, chosen, fill, shared

# What a bare TRY would miss: the planted way, and the way it is.


def test_one_try_around_a_condition_is_not_enough() -> None:
    fill([{"region": "12"}, {"region": "canary-4711"}])
    bare = 'TRY(CAST("region" AS BIGINT) > {}) IS TRUE'
    with pytest.raises(duckdb.ConversionException, match="canary-4711"):
        shared().execute(f"SELECT {bare.format(1)}, {bare.format(20)} FROM rows").fetchall()
    conditions = [f"CAST(region AS BIGINT) > {n}" for n in (1, 20)]
    assert chosen(*conditions) == [(True, False), (False, False)]


def test_what_overflows_is_null_wherever_it_stands() -> None:
    fill([{"age": 2**63 - 1, "n": 1, "fever": True}, {"age": 1, "n": 1, "fever": False}])
    conditions = [
        "fever OR age + n > 0",
        "age + n > 0 OR fever",
        "age + n > 0",
        "age + n IS NULL",
        "age * age > 5 AND age + n > 2",
        "-(-age - 1) - 1 > 0",
        "abs(-age - 1) > 0",
    ]
    assert chosen(*conditions)[0] == (True, True, False, True, False, False, False)


# Any typed row, any condition from the grammar: no error, and the same alone as among others.

INTEGERS = st.one_of(
    st.integers(-5, 5), st.sampled_from([-(2**63), 2**63 - 1]), st.integers(-(2**63), 2**63 - 1)
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "integer": INTEGERS,
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "text": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
    | st.sampled_from(["12", "-3.0", "2026-01-01", "true", "%_a"]),
    "boolean": st.booleans(),
    "timestamp": st.integers(-(10**8), 10**8).map(lambda hours: NOON + timedelta(hours=hours / 1e4))
    | st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)).map(
        lambda time: time.replace(tzinfo=UTC)
    ),
}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | VALUES[kind] for name, kind in COLUMNS.items()}),
    min_size=1,
    max_size=6,
)


def compared(
    made: Callable[..., st.SearchStrategy[str]], sign: str, kind: str
) -> st.SearchStrategy[str]:
    return made(f"({{}} {sign} {{}})", kind, kind)


@cache  # else each of very many parts would have strategies of its own
def expressions(kind: str, depth: int) -> st.SearchStrategy[str]:
    """Conditions of a kind, from the grammar."""
    columns = [f'"{name}"' for name, of in COLUMNS.items() if of == kind]
    leaves = {
        "integer": INTEGERS.map(lambda n: f"({n})"),
        "number": st.floats(allow_nan=False, allow_infinity=False).map(lambda x: f"({x!r})"),
        "text": VALUES["text"].map(lambda text: "'" + text.replace("'", "''") + "'"),
        "boolean": st.sampled_from(["true", "false"]),
        "timestamp": st.sampled_from(["TIMESTAMP '2026-01-15'", "DATE '1999-12-31'"]),
    }
    leaf = st.sampled_from(columns) | leaves[kind] | st.sampled_from(columns)
    if not depth:
        return leaf

    def inner(of: str) -> st.SearchStrategy[str]:
        return st.deferred(lambda: expressions(of, depth - 1))

    def made(shape: str, *kinds: str) -> st.SearchStrategy[str]:
        return st.tuples(*map(inner, kinds)).map(lambda parts: shape.format(*parts))

    same = st.sampled_from(["integer", "number", "text", "boolean", "timestamp"])
    shapes: dict[str, list[st.SearchStrategy[str]]] = {
        "integer": [
            *(made(f"({{}} {sign} {{}})", "integer", "integer") for sign in ("+", "-", "*", "%")),
            made("({} // {})", "integer", "integer"),
            made("(-{})", "integer"),
            made("abs({})", "integer"),
            made("length({})", "text"),
            made("CAST({} AS BIGINT)", "text"),
            made("CAST({} AS BIGINT)", "number"),
            made("hour({})", "timestamp"),
            made("EXTRACT(week FROM {})", "timestamp"),
            made("position('a' IN {})", "text"),
        ],
        "number": [
            made("({} / {})", "integer", "number"),
            made("({} * {})", "number", "number"),
            made("({} % {})", "number", "integer"),
            made("round({})", "number"),
            made("CAST({} AS DOUBLE)", "text"),
        ],
        "text": [
            made("lower({})", "text"),
            made("substring({}, {}, {})", "text", "integer", "integer"),
            made("left({}, {})", "text", "integer"),
            made("right({}, {})", "text", "integer"),
            made("CAST({} AS VARCHAR)", "timestamp"),
            made("CAST({} AS VARCHAR)", "number"),
            made("trim({})", "text"),
        ],
        "timestamp": [
            made("date_trunc('week', {})", "timestamp"),
            made("CAST({} AS TIMESTAMPTZ)", "text"),
            made("CAST({} AS DATE)", "timestamp"),
        ],
        "boolean": [
            *(
                same.flatmap(partial(compared, made, sign))
                for sign in ("=", "<", ">=", "<>", "IS DISTINCT FROM")
            ),
            made("({} AND {})", "boolean", "boolean"),
            made("({} OR {})", "boolean", "boolean"),
            made("(NOT {})", "boolean"),
            same.flatmap(lambda of: made("({} BETWEEN {} AND {})", of, of, of)),
            same.flatmap(lambda of: made("({} IN ({}, {}))", of, of, of)),
            same.flatmap(lambda of: made("({} IS NULL)", of)),
            made("({} LIKE 'a%_')", "text"),
            made("regexp_matches({}, '[0-9]+')", "text"),
            made("CAST({} AS BOOLEAN)", "text"),
            made("CAST({} AS BOOLEAN)", "integer"),
        ],
    }
    both = [
        made("coalesce({}, {})", kind, kind),
        made("CASE WHEN {} THEN {} ELSE {} END", "boolean", kind, kind),
        made("greatest({}, {})", kind, kind),
    ]
    return st.one_of(leaf, *shapes[kind], *both)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=ROWS, conditions=st.lists(expressions("boolean", 3), min_size=1, max_size=3))
def test_a_condition_fails_on_no_row_and_is_of_each_row_alone(
    rows: list[dict[str, Any]], conditions: list[str]
) -> None:
    sound = []
    for condition in conditions:
        try:
            check_condition(condition, COLUMNS)
        except PlanError:
            continue  # such as a text that is compared with a time and is none
        sound.append(condition)
    if not sound:
        return
    fill(rows)
    together = chosen(*sound)
    alone = [[answer for (answer,) in chosen(condition)] for condition in sound]
    assert together == [*zip(*alone, strict=True)], "whatever else is asked"
    kept = [
        {
            place
            for (place,) in shared()
            .execute(
                f"SELECT place FROM rows WHERE TRY(({check_condition(condition, COLUMNS)})) IS TRUE"
            )
            .fetchall()
        }
        for condition in sound
    ]
    assert kept == [{p for p, answer in enumerate(column) if answer} for column in alone]
    fill(rows[:1])
    assert chosen(*sound) == together[:1], "whatever other rows there are"
