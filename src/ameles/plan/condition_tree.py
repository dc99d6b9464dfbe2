"""Checks the syntax tree of a condition against an allow-list, and writes new SQL from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from ameles.core.exceptions import PlanError
from ameles.measures.fields import identifier, literal
from ameles.plan.condition_functions import FUNCTIONS
from ameles.plan.condition_sql import NULL, SqlPart, alike, as_kind, cast, wrong

DEEPEST = 60  # levels of the syntax tree

ALONE = "what happens to an event depends on that event alone"
_WORDS = (
    "comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, CASE, arithmetic, or a function of "
    + ", ".join(sorted(name for name in FUNCTIONS if name.isidentifier() and "escape" not in name))
)
# DuckDB parses these words, without parentheses, as columns.
_CLOCKS = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")

_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_DISTINCT_FROM": "IS DISTINCT FROM",
    "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}
_COMMON = {"class", "type", "alias", "query_location", "query_location_length"}
_CALLED = {"function_name", "schema", "catalog", "filter", "order_bys", "distinct"} | {
    "is_operator",
    "export_state",
    "arguments",
    "qualified_name",
}
# The fields that a node of each class may have; a node with other fields has an unknown meaning.
_KEYS = {
    "COLUMN_REF": {"column_names"},
    "CONSTANT": {"literal"},
    "CONJUNCTION": {"children"},
    "COMPARISON": {"left", "right"},
    "BETWEEN": {"input", "lower", "upper"},
    "OPERATOR": {"children"},
    "CASE": {"case_checks", "else_expr"},
    "CAST": {"child", "try_cast", "type_expr"},
    "FUNCTION": _CALLED,
}
_NAMES = {
    "SUBQUERY": "a query of its own",
    "WINDOW": "a window over other events",
    "STAR": "a star",
    "PARAMETER": "a parameter",
    "LAMBDA": "a lambda",
    "COLLATE": "a collation",
}


class ConditionWalk:
    """Reads a syntax tree and writes new SQL from it."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns = columns
        self._folded = {name.casefold(): name for name in columns}
        self.used: set[str] = set()  # the columns that were met so far

    def part(self, node: dict[str, Any], depth: int) -> SqlPart:
        """The SQL of a node and its children."""
        kind = node.get("class", "")
        if depth > DEEPEST:
            raise wrong(f"It is nested deeper than {DEEPEST} levels.")
        if kind in _NAMES:
            raise wrong(f"It has {_NAMES[kind]}, which a condition may not.", why=ALONE, tip=_WORDS)
        if kind not in _KEYS or not node.keys() <= _COMMON | _KEYS[kind] or node.get("alias"):
            raise wrong("It has a form that a condition may not.", why=ALONE, tip=_WORDS)
        part: SqlPart = getattr(self, f"_{kind.lower()}")(node, depth + 1)
        return part

    def _parts(self, nodes: list[dict[str, Any]], depth: int) -> list[SqlPart]:
        return [self.part(node, depth) for node in nodes]

    def _column_ref(self, node: dict[str, Any], depth: int) -> SqlPart:
        names = node["column_names"]
        name = self._folded.get(names[0].casefold()) if len(names) == 1 else None
        if name is not None:
            self.used.add(name)
            return SqlPart(identifier(name), self._columns[name])
        shown = ".".join(names)[:80]
        if shown.lower() in _CLOCKS:
            raise _no_function(shown)
        near = get_close_matches(shown, self._columns, 1)
        raise wrong(
            f"It uses the column {shown!r}, which is not declared.",
            why="a text needs single quotes; without them, it is the name of a column",
            tip=near[0]
            if near
            else f"'{shown}', if it is a text; or one of {', '.join(self._columns)[:200]}",
        )

    def _constant(self, node: dict[str, Any], depth: int) -> SqlPart:
        kind, text = node["literal"]["kind"], node["literal"]["text"]
        match kind:
            case "STRING":
                return SqlPart(literal(text), "text", written=text)
            case "BOOLEAN" if text in ("true", "false"):
                return SqlPart(text, "boolean")
            case "NULL_LITERAL":
                return SqlPart("NULL", NULL)
            case "INTEGER" | "NUMERIC":
                return _number(text)
        raise wrong("It has a value of a kind that a condition may not.", tip="18, 1.5, 'text'")

    def _conjunction(self, node: dict[str, Any], depth: int) -> SqlPart:
        word = {"CONJUNCTION_AND": "AND", "CONJUNCTION_OR": "OR"}[node["type"]]
        parts = self._parts(node["children"], depth)
        sqls = [as_kind(part, "boolean", word) for part in parts]
        return SqlPart("(" + f" {word} ".join(sqls) + ")", "boolean")

    def _comparison(self, node: dict[str, Any], depth: int) -> SqlPart:
        word = _COMPARISONS.get(node["type"])
        if word is None:
            raise wrong("It compares in a way that a condition may not.", tip="=, <>, <, >, <=, >=")
        _, sqls = alike(self._parts([node["left"], node["right"]], depth), f"'{word}'")
        return SqlPart(f"({sqls[0]} {word} {sqls[1]})", "boolean")

    def _between(self, node: dict[str, Any], depth: int) -> SqlPart:
        nodes = [node["input"], node["lower"], node["upper"]]
        _, sqls = alike(self._parts(nodes, depth), "BETWEEN")
        return SqlPart(f"({sqls[0]} BETWEEN {sqls[1]} AND {sqls[2]})", "boolean")

    def _operator(self, node: dict[str, Any], depth: int) -> SqlPart:
        parts = self._parts(node["children"], depth)
        match node["type"]:
            case "OPERATOR_NOT":
                return SqlPart(f"(NOT {as_kind(parts[0], 'boolean', 'NOT')})", "boolean")
            case "OPERATOR_IS_NULL":
                return SqlPart(f"({parts[0].sql} IS NULL)", "boolean")
            case "OPERATOR_IS_NOT_NULL":
                return SqlPart(f"({parts[0].sql} IS NOT NULL)", "boolean")
            case "OPERATOR_TRY":
                return parts[0]  # TRY changes nothing: every part has its own
            case "COMPARE_IN" | "COMPARE_NOT_IN":
                _, sqls = alike(parts, "IN")
                word = "IN" if node["type"] == "COMPARE_IN" else "NOT IN"
                return SqlPart(f"({sqls[0]} {word} ({', '.join(sqls[1:])}))", "boolean")
            case "OPERATOR_COALESCE":
                kind, sqls = alike(parts, "coalesce")
                return SqlPart(f"coalesce({', '.join(sqls)})", kind)
        raise wrong("It has a form that a condition may not.", why=ALONE, tip=_WORDS)

    def _case(self, node: dict[str, Any], depth: int) -> SqlPart:
        checks = node["case_checks"]
        asked = self._parts([check["when_expr"] for check in checks], depth)
        nodes = [check["then_expr"] for check in checks] + [node["else_expr"]]
        kind, sqls = alike(self._parts(nodes, depth), "CASE")
        whens = "".join(
            f" WHEN {as_kind(when, 'boolean', 'CASE')} THEN {then}"
            for when, then in zip(asked, sqls, strict=False)
        )
        return SqlPart(f"(CASE{whens} ELSE {sqls[-1]} END)", kind)

    def _cast(self, node: dict[str, Any], depth: int) -> SqlPart:
        target = node["type_expr"]
        if target.get("children") or target.get("schema") or target.get("catalog"):
            raise wrong("It casts to a type with parameters.", tip="BIGINT or DOUBLE")
        return cast(self.part(node["child"], depth), str(target.get("type_name", "")))

    def _function(self, node: dict[str, Any], depth: int) -> SqlPart:
        name = node["function_name"]
        named = node["qualified_name"].get("path") != [name] or node["schema"] or node["catalog"]
        odd = node["filter"] or node["order_bys"]["orders"] or node["distinct"]
        if name not in FUNCTIONS or named or odd or node["export_state"]:
            raise _no_function(name)
        if any(argument["name"] for argument in node["arguments"]):
            raise wrong(f"It names an argument of '{name}'.", tip="arguments in their order")
        counts, maker = FUNCTIONS[name]
        if len(node["arguments"]) not in counts:
            many = " or ".join(map(str, counts))
            raise wrong(f"It gives '{name}' another number of arguments than {many}.")
        return maker(name, self._parts([a["expression"] for a in node["arguments"]], depth))


def _number(text: str) -> SqlPart:
    plain = text.replace("_", "")
    if plain.isascii() and plain.isdigit() and int(plain) < 1 << 63:
        return SqlPart(f"CAST({int(plain)} AS BIGINT)", "integer")
    try:
        number = float(plain)
    except ValueError:
        number = math.inf
    if not math.isfinite(number):
        raise wrong("It has a number that is too large.", tip="numbers below 1e308")
    return SqlPart(f"CAST('{number!r}' AS DOUBLE)", "number")


def _no_function(name: str) -> PlanError:
    if name == "row":
        return wrong("It is more than one expression.", why=ALONE, tip="a AND b, or a OR b")
    return wrong(
        f"It uses the function '{name[:80]}', which a condition may not.", why=ALONE, tip=_WORDS
    )
