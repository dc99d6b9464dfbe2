"""The operators and functions of a condition, as SQL that cannot fail on any row.

Everything that might fail is inside a TRY of its own.  One TRY around a whole condition is not
enough.  DuckDB evaluates an expression that two conditions share outside of both, where a failure
ends the query.  It also reorders AND and OR at run time, so a failure of one side may or may not
occur.

No function here makes a text longer, or takes more than linear time in its length: a single long
event must not use up memory or time at the expense of others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache

from ameles.connectors.duck import connect, quiet
from ameles.core.exceptions import PlanError
from ameles.measures.fields import literal

TYPES = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
}
NULL = "null"
MEMORY = 64 << 20
_WHOLE = "'^[ \\t]*[+-]?[0-9]+(\\.0*)?[ \\t]*$'"
_PARTS = (
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "dayofweek",
    "isodow",
    "dayofyear",
)
_PART_NAMES = {**{part: part for part in _PARTS}, "dow": "dayofweek", "doy": "dayofyear"}


@dataclass(frozen=True, slots=True)
class SqlPart:
    """A part of a condition: its SQL, its kind, and its text if it is a text literal in the
    plan."""

    sql: str
    kind: str
    written: str | None = None


def wrong(what: str, *, why: str = "", tip: str = "") -> PlanError:
    """A condition that cannot be used."""
    return PlanError(what, why=why, tip=tip)


def an(kind: str) -> str:
    """A kind with its article."""
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def as_kind(part: SqlPart, kind: str, user: str) -> str:
    """The SQL of a part in this kind: unchanged, or converted without a change of meaning."""
    if part.kind == kind:
        return part.sql
    if part.kind == NULL:
        return f"CAST(NULL AS {TYPES[kind]})"
    if part.kind == "integer" and kind == "number":
        return f"CAST({part.sql} AS DOUBLE)"  # no integer is out of its range
    if part.written is not None:
        return _value(part.written, kind)
    raise wrong(
        f"It gives {user} {an(part.kind)} where {an(kind)} is needed.",
        tip=f"CAST(... AS {TYPES[kind]})",
    )


@lru_cache(maxsize=256)
def _value(written: str, kind: str) -> str:
    """The SQL of a text literal that stands for a value of another kind."""
    sql = f"TRY_CAST({literal(written)} AS {TYPES[kind]})"
    with closing(connect(zone="UTC", memory=MEMORY)) as duck, quiet("reading a condition"):
        ((value,),) = duck.execute(f"SELECT {sql} IS NOT NULL").fetchall()
    if not value:
        raise wrong(
            f"It has the text '{written[:80]}' where {an(kind)} is needed.",
            tip={"timestamp": "'2026-01-31 08:00'", "boolean": "true or false"}.get(kind, "18"),
        )
    return sql


def alike(parts: Sequence[SqlPart], user: str) -> tuple[str, list[str]]:
    """The kind that all parts can be compared in, and their SQL in that kind."""
    kinds = {part.kind for part in parts if part.kind != NULL and part.written is None}
    if not kinds:
        kinds = {part.kind for part in parts if part.kind != NULL} or {"text"}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    if len(kinds) > 1:
        first, second = sorted(kinds)[:2]
        raise wrong(
            f"It gives {user} {an(first)} and {an(second)}, which are not alike.",
            tip=f"CAST(... AS {TYPES[first]}), or another kind for the column",
        )
    kind = kinds.pop()
    return kind, [as_kind(part, kind, user) for part in parts]


def cast(part: SqlPart, target: str) -> SqlPart:
    """An explicit cast; what does not fit becomes NULL."""
    kind = _TARGETS.get(target.upper())
    if kind is None:
        raise wrong(
            f"It casts to the type {target!r}.",
            tip="VARCHAR, BIGINT, DOUBLE, BOOLEAN, TIMESTAMPTZ or DATE",
        )
    if part.written is not None or part.kind == NULL:
        part = SqlPart(as_kind(part, kind, "CAST"), kind)
    sql = part.sql
    if "timestamp" in (part.kind, kind) and {part.kind, kind} & {"integer", "number", "boolean"}:
        raise wrong(f"It casts {an(part.kind)} to {an(kind)}.", tip="hour(...), year(...), ...")
    if part.kind == "text" and kind == "integer":
        sql = f"regexp_extract({sql}, {_WHOLE})"  # "3.7" is no integer
    if part.kind != kind:
        sql = f"TRY_CAST({sql} AS {TYPES[kind]})"
    if target.upper() == "DATE":
        sql = f"TRY(date_trunc('day', {sql}))"
    return SqlPart(sql, kind)


_TARGETS = {
    **dict.fromkeys(("VARCHAR", "TEXT", "STRING"), "text"),
    **dict.fromkeys(("BIGINT", "INTEGER", "INT"), "integer"),
    **dict.fromkeys(("DOUBLE", "FLOAT8"), "number"),
    **dict.fromkeys(("BOOLEAN", "BOOL"), "boolean"),
    **dict.fromkeys(("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "DATE"), "timestamp"),
}


def _numeric(name: str, parts: Sequence[SqlPart]) -> tuple[str, list[str]]:
    kind, sqls = alike(parts, f"'{name}'")
    if kind not in ("integer", "number"):
        raise wrong(f"It gives '{name}' {an(kind)} where a number is needed.")
    return kind, sqls


def arithmetic(name: str, parts: Sequence[SqlPart]) -> SqlPart:
    """+, -, * and similar operators; an overflow becomes NULL."""
    kind, sqls = _numeric(name, parts)
    if name == "/":
        sqls = [as_kind(part, "number", "'/'") for part in parts]
        return SqlPart(f"({sqls[0]} / {sqls[1]})", "number")
    if name == "//" and kind != "integer":
        raise wrong("It divides numbers by //, which is for integers.", tip="floor(a / b)")
    if len(sqls) == 1:
        return SqlPart(f"TRY(-{sqls[0]})" if name == "-" else sqls[0], kind)
    return SqlPart(f"TRY({sqls[0]} {name} {sqls[1]})", kind)


def rounded(name: str, parts: Sequence[SqlPart]) -> SqlPart:
    """abs, floor and similar functions."""
    kind, (sql,) = _numeric(name, parts)
    if kind == "integer" and name not in ("abs", "sign"):
        return SqlPart(sql, kind)
    return SqlPart(f"TRY(CAST({name}({sql}) AS {TYPES[kind]}))", kind)


def extreme(name: str, parts: Sequence[SqlPart]) -> SqlPart:
    """greatest, least."""
    kind, sqls = alike(parts, f"'{name}'")
    return SqlPart(f"{name}({', '.join(sqls)})", kind)


def chosen(name: str, parts: Sequence[SqlPart]) -> SqlPart:
    """if(condition, a, b)."""
    kind, sqls = alike(parts[1:], f"'{name}'")
    asked = as_kind(parts[0], "boolean", f"'{name}'")
    return SqlPart(f"(CASE WHEN {asked} THEN {sqls[0]} ELSE {sqls[1]} END)", kind)


def _texts(result: str, *after: str) -> Callable[[str, Sequence[SqlPart]], SqlPart]:
    """A function of texts, followed by integers (``after``)."""

    def made(name: str, parts: Sequence[SqlPart]) -> SqlPart:
        kinds = ["text"] * (len(parts) - len(after)) + list(after)
        sqls = [as_kind(p, kind, f"'{name}'") for p, kind in zip(parts, kinds, strict=True)]
        called = f"{name}({', '.join(sqls)})"
        if result == "integer":
            called = f"CAST({called} AS BIGINT)"
        return SqlPart(f"TRY({called})" if after else called, result)

    return made


def substring(name: str, parts: Sequence[SqlPart]) -> SqlPart:
    """substring(text, from), substring(text, from, length)."""
    return _texts("text", *["integer"] * (len(parts) - 1))("substring", parts)


def found(name: str, parts: Sequence[SqlPart]) -> SqlPart:
    """contains and position: searching takes time in proportion to the product of the lengths."""
    _pattern(f"'{name}'", parts[1])
    if name == "contains":
        return _texts("boolean")(name, parts)
    return _texts("integer")("strpos", parts)


def matched(name: str, parts: Sequence[SqlPart]) -> SqlPart:
    """A regular expression that is written in the plan: RE2, which takes linear time."""
    pattern = _pattern(name, parts[1])
    text = as_kind(parts[0], "text", f"'{name}'")
    return SqlPart(f"{name}({text}, {literal(pattern)})", "boolean")


def like(name: str, parts: Sequence[SqlPart]) -> SqlPart:
    """LIKE and its variants, as regular expressions: DuckDB's LIKE may take exponential time."""
    negated, folded = name.startswith(("!", "not_")), name.endswith("*") or "ilike" in name
    escape = _pattern("ESCAPE", parts[2]) if len(parts) > 2 else ""
    if len(escape) > 1:
        raise wrong("It has more than one character after ESCAPE.", tip="ESCAPE '$'")
    text = as_kind(parts[0], "text", "LIKE")
    expression = literal(_expression(_pattern("LIKE", parts[1]), escape))
    found = f"regexp_full_match({text}, {expression}, '{'si' if folded else 's'}')"
    return SqlPart(f"(NOT {found})" if negated else found, "boolean")


def _pattern(name: str, part: SqlPart) -> str:
    if part.written is None:
        raise wrong(
            f"It gives {name} a pattern that is not written out.",
            why="a pattern from an event might fail, or take very long",
            tip="a text in single quotes",
        )
    return part.written


def _expression(pattern: str, escape: str) -> str:
    expression, characters = "", iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None:
                raise wrong("Its pattern ends with the character after ESCAPE.")
            expression += re.escape(following)
        else:
            expression += {"%": ".*", "_": "."}.get(character) or re.escape(character)
    return expression


def time_part(name: str, parts: Sequence[SqlPart]) -> SqlPart:
    """year(t), hour(t), date_part('hour', t), EXTRACT(hour FROM t): in the plan's zone."""
    part = name
    if name == "date_part":
        part = _PART_NAMES.get(_pattern("date_part", parts[0]).lower(), "")
        if not part:
            raise wrong("It asks for an unknown part of a time.", tip=f"one of {', '.join(_PARTS)}")
    time = as_kind(parts[-1], "timestamp", f"'{name}'")
    return SqlPart(f"TRY(CAST(date_part('{part}', {time}) AS BIGINT))", "integer")


def time_start(name: str, parts: Sequence[SqlPart]) -> SqlPart:
    """date_trunc('day', t): in the plan's zone."""
    part = _pattern("date_trunc", parts[0]).lower()
    if part not in _PARTS[:8]:
        raise wrong("It cuts a time to an unknown part.", tip=f"one of {', '.join(_PARTS[:8])}")
    time = as_kind(parts[1], "timestamp", "'date_trunc'")
    return SqlPart(f"TRY(date_trunc('{part}', {time}))", "timestamp")


Maker = Callable[[str, Sequence[SqlPart]], SqlPart]

# Each function with the numbers of arguments that it takes.
FUNCTIONS: dict[str, tuple[tuple[int, ...], Maker]] = {
    **dict.fromkeys(("+", "-"), ((1, 2), arithmetic)),
    **dict.fromkeys(("*", "/", "//", "%"), ((2,), arithmetic)),
    **dict.fromkeys(("abs", "sign", "floor", "ceil", "round", "trunc"), ((1,), rounded)),
    **dict.fromkeys(("greatest", "least"), ((2, 3, 4, 5, 6, 7, 8), extreme)),
    **dict.fromkeys(("lower", "upper", "trim", "ltrim", "rtrim"), ((1,), _texts("text"))),
    "length": ((1,), _texts("integer")),
    **dict.fromkeys(("starts_with", "ends_with"), ((2,), _texts("boolean"))),
    **dict.fromkeys(("contains", "position", "strpos", "instr"), ((2,), found)),
    **dict.fromkeys(("left", "right"), ((2,), _texts("text", "integer"))),
    **dict.fromkeys(("substring", "substr"), ((2, 3), substring)),
    **dict.fromkeys(("regexp_matches", "regexp_full_match"), ((2,), matched)),
    **dict.fromkeys(("~~", "!~~", "~~*", "!~~*"), ((2,), like)),
    **dict.fromkeys(
        ("like_escape", "not_like_escape", "ilike_escape", "not_ilike_escape"), ((3,), like)
    ),
    **dict.fromkeys(_PARTS, ((1,), time_part)),
    "date_part": ((2,), time_part),
    "date_trunc": ((2,), time_start),
    "if": ((3,), chosen),
}
