"""A small part of SQL, turned into queries: counts, sums, means, medians and quantiles, by keys.

    SELECT region, COUNT(*), AVG(age) FROM t WHERE fever GROUP BY region

DuckDB parses the text; this module reads the syntax tree and refuses what it does not know.
Each aggregate is one question, and all of them share epsilon equally.

>>> parsed = parse("SELECT region, COUNT(*) AS visits, AVG(age) FROM t WHERE fever GROUP BY region")
>>> parsed.table, parsed.keys, parsed.where
('t', ('region',), 'fever')
>>> [(one.end, one.label) for one in parsed.aggregates]
[('noisy_count', 'visits'), ('noisy_average', 'avg(age)')]
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Never

import duckdb

from ameles.connectors.duck import connect
from ameles.core.exceptions import BadInput

LONGEST = 10_000
_MEMORY = 64 << 20
_KNOWN = "COUNT(*), COUNT(DISTINCT user), SUM, AVG, MEDIAN or QUANTILE(column, 0.9)"
_ENDS = {"sum": "noisy_sum", "avg": "noisy_average"}
_QUANTILES = ("quantile", "quantile_cont")


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of a SELECT list."""

    end: str
    label: str
    expression: str | None = None  # what is aggregated, as text
    q: str | None = None  # of a quantile


@dataclass(frozen=True, slots=True)
class Joined:
    """A second table, joined by columns of the same name."""

    table: str
    on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A SELECT that can be asked."""

    table: str
    joined: Joined | None
    where: str | None
    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    columns: tuple[str, ...]  # all that it reads
    numbers: tuple[str, ...]  # those whose values it adds up or orders


def parse(text: str) -> Parsed:
    """What a SELECT asks; everything that is not in the documented part of SQL is refused."""
    if len(text) > LONGEST or "\0" in text:
        raise BadInput(f"The SQL has more than {LONGEST} characters, or a NUL.")
    with closing(connect(zone="UTC", memory=_MEMORY)) as duck:
        return _Reader(duck).read(text)


class _Reader:
    """Reads the tree of one statement."""

    def __init__(self, duck: duckdb.DuckDBPyConnection) -> None:
        self._duck = duck
        self._columns: dict[str, None] = {}
        self._numbers: dict[str, None] = {}

    def read(self, text: str) -> Parsed:
        node = self._node(text)
        for part, word in _ABSENT.items():
            if node.get(part):
                _refuse(f"It has {word}, which is not supported.")
        if node["cte_map"]["map"]:
            _refuse("It has WITH, which is not supported.")
        if node["aggregate_handling"] != "STANDARD_HANDLING":
            _refuse("It has GROUP BY ALL.", tip="GROUP BY with the names of the columns")
        table, joined = self._tables(node["from_table"])
        where = None if node["where_clause"] is None else self._text(node["where_clause"])
        if len(node["group_sets"]) > 1:
            _refuse("It has several grouping sets, which are not supported.")
        keys = tuple(self._column(one, "GROUP BY") for one in node["group_expressions"])
        aggregates = [
            self._aggregate(one) for one in node["select_list"] if not self._is_key(one, keys)
        ]
        if not aggregates:
            _refuse("It selects no aggregate.", tip=_KNOWN)
        labels = [one.label for one in aggregates]
        if len(set(labels)) < len(labels):
            _refuse("Two of its aggregates have the same name.", tip="AS with another name")
        columns, numbers = tuple(self._columns), tuple(self._numbers)
        return Parsed(table, joined, where, keys, tuple(aggregates), columns, numbers)

    def _node(self, text: str) -> dict[str, Any]:
        try:
            written = self._duck.execute("SELECT json_serialize_sql(?)", [text]).fetchall()[0][0]
            document = json.loads(written)
        except (duckdb.Error, ValueError, RecursionError):
            document = {"error": True}
        if document.get("error"):
            _refuse(
                "It is not a SELECT that DuckDB can read.",
                tip="SELECT region, COUNT(*) FROM t WHERE fever GROUP BY region",
            )
        statements = document["statements"]
        node: dict[str, Any] = statements[0]["node"] if len(statements) == 1 else {}
        if node.get("type") != "SELECT_NODE":
            _refuse("It must be one plain SELECT.")
        return node

    def _tables(self, node: dict[str, Any]) -> tuple[str, Joined | None]:
        if node["type"] == "BASE_TABLE":
            return self._table(node), None
        plain = (
            node["type"] == "JOIN"
            and node["join_type"] == "INNER"
            and node["ref_type"] == "REGULAR"
            and node["condition"] is None
            and node["using_columns"]
        )
        if not plain or any(node[side]["type"] != "BASE_TABLE" for side in ("left", "right")):
            _refuse(
                "It reads from something other than one table, or two tables joined by USING.",
                tip="FROM t JOIN u USING (id)",
            )
        on = tuple(node["using_columns"])
        self._columns.update(dict.fromkeys(on))
        return self._table(node["left"]), Joined(self._table(node["right"]), on)

    def _table(self, node: dict[str, Any]) -> str:
        if node["schema_name"] or node["catalog_name"] or node["sample"] or node["at_clause"]:
            _refuse("The name of a table must be a plain word.", tip="FROM t")
        return str(node["table_name"])

    def _is_key(self, node: dict[str, Any], keys: tuple[str, ...]) -> bool:
        if node["class"] != "COLUMN_REF":
            return False
        column = self._column(node, "SELECT")
        if column not in keys:
            _refuse(
                f"It selects the column '{column}', which is not in GROUP BY.",
                why="a single row would be published",
                tip=f"GROUP BY {column}",
            )
        return True

    def _aggregate(self, node: dict[str, Any]) -> Aggregate:
        if node["class"] != "FUNCTION":
            _refuse("It selects an expression that is not an aggregate.", tip=_KNOWN)
        name, given = node["function_name"], [one["expression"] for one in node["arguments"]]
        if node["filter"] or node["order_bys"]["orders"] or node["schema"]:
            word = name.removesuffix("_star").upper()
            _refuse(f"Its {word} has a FILTER, an order or a schema.", tip="WHERE ...")
        label = node["alias"] or self._text(node)
        if name == "count_star":
            return Aggregate("noisy_count", node["alias"] or "count")
        if name == "count" and node["distinct"] and len(given) == 1:
            return Aggregate("distinct_users", label, self._column(given[0], "COUNT DISTINCT"))
        if node["distinct"]:
            _refuse(f"Its {name.upper()} has DISTINCT.", tip="COUNT(DISTINCT user)")
        if name in _ENDS and len(given) == 1:
            return Aggregate(_ENDS[name], label, self._value(given[0]))
        if name == "median" and len(given) == 1:
            return Aggregate("quantile", label, self._value(given[0]), "0.5")
        if name in _QUANTILES and len(given) == 2:
            share = given[1]
            if share["class"] != "CONSTANT" or share["literal"]["kind"] not in _NUMBERS:
                _refuse("The share of a QUANTILE must be a number.", tip="QUANTILE(age, 0.9)")
            return Aggregate("quantile", label, self._value(given[0]), share["literal"]["text"])
        return _refuse(f"It uses {name.upper()} in a way that is not supported.", tip=_KNOWN)

    def _column(self, node: dict[str, Any], where: str) -> str:
        if node["class"] != "COLUMN_REF" or len(node["column_names"]) != 1:
            _refuse(f"{where} must have plain columns.", tip="a column of the table")
        column = str(node["column_names"][0])
        self._columns[column] = None
        return column

    def _value(self, node: dict[str, Any]) -> str:
        """The SQL of an expression whose values are numbers."""
        _note_columns(node, self._numbers)
        return self._text(node)

    def _text(self, node: dict[str, Any]) -> str:
        """The SQL of an expression, written from its tree."""
        _note_columns(node, self._columns)
        plain = {**node, "alias": ""}
        try:
            whole = self._tree(plain)
            text: str = self._duck.execute(
                "SELECT json_deserialize_sql(CAST(? AS JSON))", [json.dumps(whole)]
            ).fetchall()[0][0]
        except duckdb.Error:
            _refuse("It has an expression that cannot be read.")
        return text.removeprefix("SELECT ").strip()

    def _tree(self, expression: dict[str, Any]) -> dict[str, Any]:
        written = self._duck.execute("SELECT json_serialize_sql('SELECT 1')").fetchall()[0][0]
        document: dict[str, Any] = json.loads(written)
        document["statements"][0]["node"]["select_list"] = [expression]
        return document


def _note_columns(node: object, noted: dict[str, None]) -> None:
    if isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            noted.update(dict.fromkeys(node["column_names"][-1:]))
        for value in node.values():
            _note_columns(value, noted)
    elif isinstance(node, list):
        for value in node:
            _note_columns(value, noted)


_NUMBERS = ("INTEGER", "NUMERIC")
_ABSENT = {
    "modifiers": "ORDER BY, LIMIT or DISTINCT",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "sample": "a sample",
}


def _refuse(what: str, *, why: str = "", tip: str = "") -> Never:
    raise BadInput(what, why=why, tip=tip)
