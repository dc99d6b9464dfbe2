"""Columns of a plan as SQL: every value is cast on its own, and what does not fit is NULL.

A cast is a function of one value: no detection, no error, no rounding.

    text        as it is
    integer     BIGINT: digits with or without a sign; "3.0" is 3, "3.7" is no integer
    number      DOUBLE: NaN and the infinities are no numbers
    boolean     BOOLEAN: true, false, t, f, yes, no, 1, 0
    timestamp   TIMESTAMPTZ: ISO 8601; without an offset, a time in the session's zone
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ameles.core.exceptions import PlanError
from ameles.measures.fields import identifier

KINDS = ("text", "integer", "number", "boolean", "timestamp")

_WHOLE = "'[ \\t]*[+-]?[0-9]+(\\.0*)?[ \\t]*'"
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_WHOLE_TYPES = {*_INTEGERS, *(f"U{name}" for name in _INTEGERS)}
_FRACTIONAL = ("FLOAT", "DOUBLE", "DECIMAL")
_TIMES = ("TIMESTAMP", "DATE")
_WALL_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")


def check_kinds(columns: Mapping[str, str]) -> None:
    """Refuse columns that are of no known kind, or that SQL could not tell apart."""
    for name, kind in columns.items():
        if kind not in KINDS:
            raise PlanError(
                f"The column {name!r} is declared as {kind!r}.", tip=f"one of {', '.join(KINDS)}"
            )
    folded: dict[str, str] = {}
    for name in columns:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise PlanError(
                f"The columns {other!r} and {name!r} differ only in capital letters.",
                why="names are the same in SQL however they are capitalised",
                tip="one of them, or other names in the source",
            )


@dataclass(frozen=True, slots=True)
class Typed:
    """A column as it is to be: its name and kind, and the SQL of what there is."""

    name: str
    kind: str
    given: str
    type_name: str = "VARCHAR"  # DuckDB's type of what there is


def typed(columns: Iterable[Typed], relation: str) -> str:
    """SQL: a relation with these columns, in their kinds."""
    # In three layers, because DuckDB evaluates what is written twice in a CASE twice.
    given, cast, finished = [], [], []
    for place, column in enumerate(columns):
        was, value = f"given_{place}", f"value_{place}"
        given.append(f"{column.given} AS {was}")
        cast += [was, f"{_cast(column, was)} AS {value}"]
        finished.append(f"{_finished(column, was, value)} AS {identifier(column.name)}")
    rows = f"SELECT {', '.join(given)} FROM {relation}"
    values = f"SELECT {', '.join(cast)} FROM ({rows})"
    return f"(SELECT {', '.join(finished)} FROM ({values}))"


def _cast(column: Typed, given: str) -> str:
    text = f"TRY_CAST({given} AS VARCHAR)"
    if column.kind == "text":
        return text
    target = {"integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
    goal = target.get(column.kind, "TIMESTAMPTZ")
    if column.kind == "timestamp" and column.type_name in _WALL_TIMES:
        # In UTC a wall clock shows the instant, and needs no calendar; DuckDB picks the branch
        # when it plans the query.
        same = f"make_timestamptz(epoch_us(TRY_CAST({given} AS TIMESTAMP)))"
        utc = "current_setting('TimeZone') = 'UTC'"
        return f"CASE WHEN {utc} THEN {same} ELSE TRY_CAST({given} AS {goal}) END"
    if _direct(column):
        return f"TRY_CAST({given} AS {goal})"
    if column.kind in ("boolean", "timestamp"):
        text = f"trim({text})"  # numbers may have spaces around them as it is
    return f"TRY_CAST({text} AS {goal})"


def _finished(column: Typed, given: str, value: str) -> str:
    if column.kind in ("number", "timestamp"):
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if column.kind == "integer" and column.type_name not in _WHOLE_TYPES:
        whole = f"{given} = trunc({given})"
        if not _direct(column):
            text = f"TRY_CAST({given} AS VARCHAR)"
            # Integers as programs write them are seen without the regular expression.
            plain = f"CAST({value} AS VARCHAR) = {text}"
            whole = f"({plain} OR regexp_full_match({text}, {_WHOLE}))"
        return f"CASE WHEN {whole} THEN {value} END"
    return value


def _direct(column: Typed) -> bool:
    """Whether its type is cast to its kind as it is, and not as text."""
    fractional = column.type_name.startswith(_FRACTIONAL)
    match column.kind:
        case "integer" | "number":
            return fractional or column.type_name in _WHOLE_TYPES
        case "boolean":
            return column.type_name == "BOOLEAN"
        case _:
            return column.type_name.startswith(_TIMES)
