"""Columns of a plan as SQL: every value is cast on its own, and what does not fit is NULL.

A cast is a function of one value: no detection, no error, no rounding.

    text        as it is
    integer     BIGINT: digits with or without a sign; "3.0" is 3, "3.7" is no integer
    number      DOUBLE: NaN and the infinities are no numbers
    boolean     BOOLEAN: true, false, t, f, yes, no, 1, 0
    timestamp   TIMESTAMPTZ: ISO 8601, or as the plan's time_format says; without an offset, a
                time in the session's zone

Two columns have kinds that no plan names, but their place in it:

    text id, integer id   the column that tells users apart, in one canonical form (user_ids.py)
    weight                an integer, clamped to what a line may stand for, however large it is
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.iso_times import iso_time
from ameles.connectors.time_format import (
    EPOCHS,
    epoch_cast,
    epoch_finished,
    pattern_cast,
    pattern_finished,
)
from ameles.connectors.user_ids import WHOLE_TYPES, sound_id
from ameles.core.exceptions import PlanError
from ameles.core.rules import ISO
from ameles.measures.fields import identifier, literal

KINDS = ("text", "integer", "number", "boolean", "timestamp")
IDS = {"text": "text id", "integer": "integer id"}
WEIGHT = "weight"
# A line stands for up to so many events; one that claims more counts as so many.
HEAVIEST = 1 << 40

_WHOLE = "'[ \\t]*[+-]?[0-9]+(\\.0*)?[ \\t]*'"
_FRACTIONAL = ("FLOAT", "DOUBLE", "DECIMAL")
_TIMES = ("TIMESTAMP", "DATE")
_WALL_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")


def check_kinds(columns: Mapping[str, str]) -> None:
    """Refuse columns that are of no known kind, or that SQL could not tell apart."""
    for name, kind in columns.items():
        if kind not in (*KINDS, *IDS.values(), WEIGHT):
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
    written: str = ""  # the SQL of what was there at first, if that is something else


def given_name(column: str) -> str:
    """What ``typed`` calls the text of a column as it was given; no column is called so."""
    return f"{column}\ngiven"


def typed(
    columns: Iterable[Typed], relation: str, form: Format = DEFAULT, *, raw: bool = False
) -> str:
    """SQL: a relation with these columns, in their kinds.

    With ``raw`` it also has the text of each as it was given, under its ``given_name``: NULL if
    the value is missing; if there is a text and the column is NULL, that did not fit.
    """
    # In three layers, because DuckDB evaluates what is written twice in a CASE twice.
    given, cast, finished = [], [], []
    for place, declared in enumerate(columns):
        column = declared
        if column.kind == IDS["integer"]:
            column = replace(column, kind="integer")
        was, value = f"given_{place}", f"value_{place}"
        given.append(f"{column.given} AS {was}")
        cast += [was, f"{_cast(column, was, form)} AS {value}"]
        finished.append(f"{_finished(column, was, value, form)} AS {identifier(column.name)}")
        if raw:
            text = f"written_{place}"
            given.append(f"TRY_CAST({column.written or column.given} AS VARCHAR) AS {text}")
            cast.append(text)
            finished.append(f"{text} AS {identifier(given_name(column.name))}")
    rows = f"SELECT {', '.join(given)} FROM {relation}"
    values = f"SELECT {', '.join(cast)} FROM ({rows})"
    return f"(SELECT {', '.join(finished)} FROM ({values}))"


def _cast(column: Typed, given: str, form: Format) -> str:
    text = f"TRY_CAST({given} AS VARCHAR)"
    if column.kind in ("text", IDS["text"]):
        return text
    if column.kind == "timestamp":
        return _cast_time(column, given, text, form)
    target = {"integer": "BIGINT", WEIGHT: "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
    goal = target[column.kind]
    if _direct(column):
        return f"TRY_CAST({given} AS {goal})"
    # Numbers may have spaces around them as it is.
    text = f"trim({text})" if column.kind == "boolean" else _number(given, form)
    return f"TRY_CAST({text} AS {goal})"


def _cast_time(column: Typed, given: str, text: str, form: Format) -> str:
    if column.type_name in _WALL_TIMES:
        # In UTC a wall clock shows the instant, and needs no calendar; DuckDB picks the branch
        # when it plans the query.
        same = f"make_timestamptz(epoch_us(TRY_CAST({given} AS TIMESTAMP)))"
        utc = "current_setting('TimeZone') = 'UTC'"
        return f"CASE WHEN {utc} THEN {same} ELSE TRY_CAST({given} AS TIMESTAMPTZ) END"
    if _direct(column):
        return f"TRY_CAST({given} AS TIMESTAMPTZ)"
    if not form.time_format:
        return f"TRY_CAST(trim({text}) AS TIMESTAMPTZ)"
    if form.time_format[0] in EPOCHS:
        return epoch_cast(given)
    return pattern_cast(form.time_format, text)


def _finished(column: Typed, given: str, value: str, form: Format) -> str:
    if column.kind == "timestamp" and not _direct(column):
        return _finished_time(column, given, value, form)
    if column.kind in ("number", "timestamp"):
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if column.kind == IDS["text"]:
        return sound_id(value)
    if column.kind == WEIGHT:
        return _clamped(column, given, value, form)
    if column.kind == "integer" and column.type_name not in WHOLE_TYPES:
        return f"CASE WHEN {_whole(column, given, value, form)} THEN {value} END"
    return value


def _finished_time(column: Typed, given: str, value: str, form: Format) -> str:
    text = f"TRY_CAST({given} AS VARCHAR)"
    if not form.time_format:
        # What DuckDB casts by itself needs nothing else.
        rest = f" WHEN {value} IS NULL THEN {iso_time(text)}" if form.rules >= ISO else ""
        return f"CASE WHEN isfinite({value}) THEN {value}{rest} END"
    if form.time_format[0] in EPOCHS:
        return epoch_finished(form.time_format[0], given, value, column.type_name)
    return pattern_finished(value, text)


def _number(given: str, form: Format) -> str:
    """SQL: the text of a number, with a dot where the plan's numbers have another sign.

    What has a dot then is no number: it could be meant for thousands.
    """
    text = f"TRY_CAST({given} AS VARCHAR)"
    if form.decimal == ".":
        return text
    dotted = f"replace({text}, {literal(form.decimal)}, '.')"
    return f"CASE WHEN NOT contains({text}, '.') THEN {dotted} END"


def _whole(column: Typed, given: str, value: str, form: Format) -> str:
    """SQL: whether what there is, is an integer; ``value`` is it as BIGINT, if it has room."""
    if column.type_name in WHOLE_TYPES:
        return "true"
    if _direct(column):
        return f"{given} = trunc({given})"
    text = _number(given, form)
    # Integers as programs write them are seen without the regular expression.
    plain = f"CAST({value} AS VARCHAR) = {text}"
    return f"({plain} OR regexp_full_match({text}, {_WHOLE}))"


def _clamped(column: Typed, given: str, value: str, form: Format) -> str:
    """SQL: a weight within its bounds; one too large for its type is clamped like any other.

    Were it missing instead, adding one event to the line before it would remove all others.
    """
    number = given if _direct(column) else _number(given, form)
    near = f"TRY_CAST({number} AS DOUBLE)"  # exact where it decides
    large = f"WHEN {near} > {HEAVIEST} THEN {HEAVIEST} WHEN {near} < -{HEAVIEST} THEN -{HEAVIEST}"
    whole = _whole(column, given, value, form)
    if not _direct(column):
        # Programs write round numbers with an exponent: after 99999, some write 1e+05.
        whole = f"({whole} OR (isfinite({near}) AND {near} = trunc({near})))"
        value = f"TRY_CAST({near} AS BIGINT)"
    elif column.type_name.startswith(_FRACTIONAL):
        whole = f"isfinite({near}) AND {whole}"
    return f"CASE WHEN {whole} THEN CASE {large} ELSE {value} END END"


def _direct(column: Typed) -> bool:
    """Whether its type is cast to its kind as it is, and not as text."""
    fractional = column.type_name.startswith(_FRACTIONAL)
    match column.kind:
        case "integer" | "number" | "weight":
            return fractional or column.type_name in WHOLE_TYPES
        case "boolean":
            return column.type_name == "BOOLEAN"
        case _:
            return column.type_name.startswith(_TIMES)
