"""Conditions: which events a release counts; turns a person's text into safe SQL for DuckDB.

DuckDB parses a condition.  Its syntax tree is checked against an allow-list, and new SQL is written
from the tree, so no part of the original text is executed.  The result is row-wise, deterministic
and total, so what happens to an event depends on that event alone.

>>> check_condition("fever AND age >= 18", {"fever": "boolean", "age": "integer"})
'("fever" AND ("age" >= CAST(18 AS BIGINT)))'
>>> from ameles.core.exceptions import PlanError
>>> try:
...     check_condition("random() < 0.5", {})
... except PlanError as refusal:
...     print(refusal.what)
It uses the function 'random', which a condition may not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from functools import lru_cache
from typing import Any

import duckdb

from ameles.connectors.duck import connect
from ameles.measures.fields import identifier
from ameles.plan.condition_sql import MEMORY, NULL, TYPES, an, wrong
from ameles.plan.condition_tree import ALONE, ConditionWalk

LONGEST = 4000  # characters
NESTED = 100  # most parentheses; with thousands of unclosed ones DuckDB parses very slowly

_EXAMPLE = "a condition as after WHERE, such as: fever AND age >= 18"


def check_condition(text: str, columns: Mapping[str, str]) -> str:
    """The SQL of a condition, for use in ``TRY((...)) IS TRUE``; or raises a PlanError.

    ``columns`` are the plan's columns with their kinds.
    """
    sql, kind = check_expression(text, columns)
    if kind not in ("boolean", NULL):
        raise wrong(
            f"It is {an(kind)}, but a condition must be true or false.",
            tip="a comparison, such as age >= 18",
        )
    return sql


def check_expression(text: str, columns: Mapping[str, str]) -> tuple[str, str]:
    """The SQL of a row-wise expression and its kind; or raises a PlanError."""
    sql, kind, _ = _checked(text, tuple(columns.items()))
    return sql, kind


def used_columns(text: str, columns: Mapping[str, str]) -> frozenset[str]:
    """The columns that a condition reads, as the plan declares them; or raises a PlanError.

    >>> sorted(used_columns('"Age" >= 18 AND NOT fever', {"fever": "boolean", "age": "integer"}))
    ['age', 'fever']
    """
    return _checked(text, tuple(columns.items()))[2]


@lru_cache(maxsize=256)
def _checked(text: str, columns: tuple[tuple[str, str], ...]) -> tuple[str, str, frozenset[str]]:
    if len(text) > LONGEST or text.count("(") > NESTED or "\0" in text:
        raise wrong(
            f"It has more than {LONGEST} characters or {NESTED} parentheses, or a NUL.",
            tip="a shorter condition, or a column that holds its answer",
        )
    if not text.strip():
        raise wrong("It is empty.", tip=_EXAMPLE)
    with closing(connect(zone="UTC", memory=MEMORY)) as duck:
        walk = ConditionWalk(dict(columns))
        part = walk.part(_parsed(duck, text), 0)
        _evaluated(duck, part.sql, columns)
    return part.sql, part.kind, frozenset(walk.used)


def _parsed(duck: duckdb.DuckDBPyConnection, text: str) -> dict[str, Any]:
    """The syntax tree of one expression."""
    # On lines of its own, so that a comment in it cannot hide the closing parenthesis.
    query = f"SELECT (\n{text}\n)"
    try:
        written = duck.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0]
        document = json.loads(written)
    except (duckdb.Error, ValueError, RecursionError):
        document = {"error": True}
    if document.get("error"):
        raise wrong(
            "It is not SQL that DuckDB can read.",
            why='a column whose name is also a word of SQL needs double quotes, such as "at"',
            tip=_EXAMPLE,
        )
    empty: dict[str, Any] = {
        "modifiers": [],
        "cte_map": {"map": []},
        "where_clause": None,
        "group_expressions": [],
        "group_sets": [],
        "aggregate_handling": "STANDARD_HANDLING",
        "having": None,
        "sample": None,
        "qualify": None,
    }
    statements = document["statements"]
    node = statements[0]["node"] if len(statements) == 1 else {}
    alone = node.get("type") == "SELECT_NODE" and len(node["select_list"]) == 1
    known = {"type", "select_list", "from_table", *empty}
    plain = alone and node["from_table"].get("type") == "EMPTY" and node.keys() <= known
    if not plain or any(node.get(key, value) != value for key, value in empty.items()):
        raise wrong(
            "It is more than one expression.",
            why=ALONE,
            tip=_EXAMPLE,
        )
    expression: dict[str, Any] = node["select_list"][0]
    return expression


def _evaluated(
    duck: duckdb.DuckDBPyConnection, sql: str, columns: tuple[tuple[str, str], ...]
) -> None:
    """Refuse what DuckDB cannot run, such as a text that is not a time, or a broken pattern."""
    row = ", ".join(f"CAST(NULL AS {TYPES[kind]}) AS {identifier(n)}" for n, kind in columns)
    try:
        duck.execute(f"SELECT {sql} FROM (SELECT {row or 'NULL'})").fetchall()
    except duckdb.Error:
        failed = True
    else:
        failed = False
    if failed:
        raise wrong(
            "DuckDB cannot evaluate it.",
            why="a text in it does not fit the kind that it is compared with, or is not a pattern",
            tip="times such as '2026-01-31', and regular expressions in the syntax of RE2",
        )
