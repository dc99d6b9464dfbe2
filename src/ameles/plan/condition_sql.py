"""Parts of a condition and their kinds, as SQL that cannot fail on any row.

Everything that might fail is inside a TRY of its own.  One TRY around a whole condition is not
enough.  DuckDB evaluates an expression that two conditions share outside of both, where a failure
ends the query.  It also reorders AND and OR at run time, so a failure of one side may or may not
occur.
"""

from __future__ import annotations

from collections.abc import Sequence
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
