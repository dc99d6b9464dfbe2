"""The operators and functions of a condition, each as SQL that cannot fail on any row.

No function here makes a text longer, or takes more than linear time in its length: a single long
event must not use up memory or time at the expense of others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ameles.measures.fields import literal
from ameles.plan.condition_sql import TYPES, SqlPart, alike, an, as_kind, wrong

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


def searched(name: str, parts: Sequence[SqlPart]) -> SqlPart:
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
    match = f"regexp_full_match({text}, {expression}, '{'si' if folded else 's'}')"
    return SqlPart(f"(NOT {match})" if negated else match, "boolean")


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
    **dict.fromkeys(("contains", "position", "strpos", "instr"), ((2,), searched)),
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
