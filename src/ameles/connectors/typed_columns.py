"""Columns of a plan as SQL: every value is cast by itself, and one that does not fit is NULL.

A cast is a function of one value: no detection, no error, no rounding.

    text        as it is
    integer     BIGINT: digits with or without a sign; "3.0" is 3, "3.7" is not an integer
    number      DOUBLE: NaN and the infinities are not numbers
    boolean     BOOLEAN: true, false, t, f, yes, no, 1, 0
    timestamp   TIMESTAMPTZ: ISO 8601, or as the plan's time_format says; without an offset, a
                time in the session's zone

Some columns have kinds that no plan declares; the key of the plan that names the column decides:

    text id, integer id   the column that tells users apart, in one canonical form (user_ids.py)
    text key              a text whose values are keys; one with broken characters is NULL, because
                          different texts look alike once these are replaced
    weight                an integer, clamped to the largest weight of a line, however large it is
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ameles.connectors.format import DEFAULT, Format
from ameles.connectors.text.iso_times import iso_time
from ameles.connectors.text.time_format import (
    EPOCHS,
    epoch_cast,
    epoch_finished,
    pattern_cast,
    pattern_finished,
)
from ameles.connectors.user_ids import WHOLE_TYPES, sound_id, sound_text
from ameles.core.exceptions import PlanError
from ameles.core.rules import ISO
from ameles.measures.fields import identifier, literal

KINDS = ("text", "integer", "number", "boolean", "timestamp")
IDS = {"text": "text id", "integer": "integer id"}
KEY = "text key"
WEIGHT = "weight"
# The largest weight of a line; a larger one counts as this.
HEAVIEST = 1 << 40

_WHOLE = "'[ \\t]*[+-]?[0-9]+(\\.0*)?[ \\t]*'"
_FRACTIONAL = ("FLOAT", "DOUBLE", "DECIMAL")
_TIMES = ("TIMESTAMP", "DATE")
# DuckDB's first TIMESTAMP, in microseconds: in 290309 BC.
_FIRST_TIME = -9_223_372_022_400_000_000
_DAY = 86_400_000_000
_WALL_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")


def check_kinds(columns: Mapping[str, str]) -> None:
    """Refuse columns of unknown kinds, and names that SQL could not tell apart."""
    for name, kind in columns.items():
        if kind not in (*KINDS, *IDS.values(), KEY, WEIGHT):
            raise PlanError(
                f"The column {name!r} is declared as {kind!r}.", tip=f"one of {', '.join(KINDS)}"
            )
    folded: dict[str, str] = {}
    for name in columns:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise PlanError(
                f"The columns {other!r} and {name!r} differ only in capital letters.",
                why="SQL ignores capitals in names",
                tip="only one of them, or other names in the source",
            )


@dataclass(frozen=True, slots=True)
class Typed:
    """A column to read: its name and kind, and the SQL of the value in the source."""

    name: str
    kind: str
    given: str
    type_name: str = "VARCHAR"  # DuckDB's type of that value
    written: str = ""  # the SQL of the value as the source wrote it, if that differs


def given_name(column: str) -> str:
    """The name that ``typed`` gives to the text of a column; no column has such a name."""
    return f"{column}\ngiven"


def typed(
    columns: Iterable[Typed],
    relation: str,
    form: Format = DEFAULT,
    *,
    raw: bool = False,
    usual: bool = False,
) -> str:
    """SQL: a relation with these columns, in their kinds.

    With ``raw`` it also has the text of each value under its ``given_name``.  The text is NULL if
    the value is missing.  If there is a text and the column is NULL, the value did not fit.  With
    ``usual``, DuckDB's own cast reads all times (``usual_times.py``).
    """
    # In three layers, because DuckDB evaluates an expression twice if a CASE has it twice.
    given, cast, finished = [], [], []
    for place, declared in enumerate(columns):
        column = declared
        if column.kind == IDS["integer"]:
            column = replace(column, kind="integer")
        was, value = f"given_{place}", f"value_{place}"
        given.append(f"{_within(column.given, column.type_name)} AS {was}")
        cast += [was, f"{_cast(column, was, form)} AS {value}"]
        whole = _finished(column, was, value, form, usual=usual)
        finished.append(f"{whole} AS {identifier(column.name)}")
        if raw:
            text = f"written_{place}"
            written = _within(column.written or column.given, column.type_name)
            given.append(f"TRY_CAST({written} AS VARCHAR) AS {text}")
            cast.append(text)
            finished.append(f"{text} AS {identifier(given_name(column.name))}")
    rows = f"SELECT {', '.join(given)} FROM {relation}"
    values = f"SELECT {', '.join(cast)} FROM ({rows})"
    return f"(SELECT {', '.join(finished)} FROM ({values}))"


def _within(given: str, type_name: str) -> str:
    """SQL: a value as it was given, or another that DuckDB can cast without an error.

    Integers before DuckDB's first time fit into a TIMESTAMP, but ``TRY_CAST`` fails on them, even
    in the branch of a CASE that is not taken.  They become the first time, which then is missing.
    """
    if type_name != "TIMESTAMP":
        return given
    number = f"epoch_us({given})"
    first = f"{_FIRST_TIME} + 0 * {number}"  # NULL if the value is
    return f"make_timestamp(greatest({number}, {first}))"


def _cast(column: Typed, given: str, form: Format) -> str:
    text = f"TRY_CAST({given} AS VARCHAR)"
    if column.kind in ("text", IDS["text"], KEY):
        if column.type_name == "TIMESTAMP":
            return f"CASE WHEN {given} > make_timestamp({_FIRST_TIME}) THEN {text} END"
        return text
    if column.kind == "timestamp":
        return _cast_time(column, given, text, form)
    target = {"integer": "BIGINT", WEIGHT: "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
    goal = target[column.kind]
    if _direct(column):
        return f"TRY_CAST({given} AS {goal})"
    # The casts to numbers allow spaces around them.
    text = f"trim({text})" if column.kind == "boolean" else _number(given, form)
    return f"TRY_CAST({text} AS {goal})"


def _cast_time(column: Typed, given: str, text: str, form: Format) -> str:
    if column.type_name in _WALL_TIMES:
        # In UTC the wall clock is the instant, and needs no calendar; DuckDB chooses the branch
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


def _finished(column: Typed, given: str, value: str, form: Format, *, usual: bool) -> str:
    if column.kind == "timestamp" and not _direct(column) and not usual:
        return _finished_time(column, given, value, form)
    if column.kind in ("number", "timestamp"):
        time = column.kind == "timestamp" and column.type_name == "TIMESTAMP"
        first = f" AND {value} > make_timestamptz({_FIRST_TIME + 2 * _DAY})" if time else ""
        return f"CASE WHEN isfinite({value}){first} THEN {value} END"
    if column.kind == IDS["text"]:
        return sound_id(value)
    if column.kind == KEY:
        return sound_text(value)
    if column.kind == WEIGHT:
        return _clamped(column, given, value, form)
    if column.kind == "integer" and column.type_name not in WHOLE_TYPES:
        return f"CASE WHEN {_whole(column, given, value, form)} THEN {value} END"
    return value


def _finished_time(column: Typed, given: str, value: str, form: Format) -> str:
    text = f"TRY_CAST({given} AS VARCHAR)"
    if not form.time_format:
        # A value that DuckDB can cast needs nothing else.
        rest = f" WHEN {value} IS NULL THEN {iso_time(text)}" if form.rules >= ISO else ""
        return f"CASE WHEN isfinite({value}) THEN {value}{rest} END"
    if form.time_format[0] in EPOCHS:
        return epoch_finished(form.time_format[0], given, value, column.type_name)
    return pattern_finished(value, text)


def _number(given: str, form: Format) -> str:
    """SQL: the text of a number, with a dot instead of the plan's decimal separator.

    If the separator is not a dot, a text with a dot is not a number: the dot may separate
    thousands.
    """
    text = f"TRY_CAST({given} AS VARCHAR)"
    if form.decimal == ".":
        return text
    dotted = f"replace({text}, {literal(form.decimal)}, '.')"
    return f"CASE WHEN NOT contains({text}, '.') THEN {dotted} END"


def _whole(column: Typed, given: str, value: str, form: Format) -> str:
    """SQL: whether the value is an integer; ``value`` is its BIGINT, if it fits into one."""
    if column.type_name in WHOLE_TYPES:
        return "true"
    if _direct(column):
        return f"{given} = trunc({given})"
    text = _number(given, form)
    # Integers in the usual form are recognised without the regular expression.
    plain = f"CAST({value} AS VARCHAR) = {text}"
    return f"({plain} OR regexp_full_match({text}, {_WHOLE}))"


def _clamped(column: Typed, given: str, value: str, form: Format) -> str:
    """SQL: a weight within its bounds; one that is too large for its type is clamped like any
    other.

    If it became NULL instead, adding one event to a line at the limit would remove the whole line.
    """
    number = given if _direct(column) else _number(given, form)
    near = f"TRY_CAST({number} AS DOUBLE)"  # exact near the limit
    large = f"WHEN {near} > {HEAVIEST} THEN {HEAVIEST} WHEN {near} < -{HEAVIEST} THEN -{HEAVIEST}"
    whole = _whole(column, given, value, form)
    if not _direct(column):
        # Some programs write round numbers with an exponent: 1e+05 after 99999.
        whole = f"({whole} OR (isfinite({near}) AND {near} = trunc({near})))"
        value = f"TRY_CAST({near} AS BIGINT)"
    elif column.type_name.startswith(_FRACTIONAL):
        whole = f"isfinite({near}) AND {whole}"
    return f"CASE WHEN {whole} THEN CASE {large} ELSE {value} END END"


def _direct(column: Typed) -> bool:
    """Whether its type is cast to its kind directly, and not through text."""
    fractional = column.type_name.startswith(_FRACTIONAL)
    match column.kind:
        case "integer" | "number" | "weight":
            return fractional or column.type_name in WHOLE_TYPES
        case "boolean":
            return column.type_name == "BOOLEAN"
        case _:
            return column.type_name.startswith(_TIMES)
