"""SQL for ids of users in one canonical form: the same user has the same text in every format.

An id is text or an integer.  The number 7 is the user "7", whether it is written 7, 7.0 or "7", in
CSV, JSON or Parquet.  A value without such a form is not an id, and an event without an id is
dropped.  Not ids are: an empty text, a fraction, a boolean, an object, a text with broken
characters (they would all look alike after replacement), and a floating-point number so large that
it stands for several integers.
"""

from __future__ import annotations

from ameles.core.exceptions import PlanError

# Below these limits a float stands for one integer; the limit itself stands for several.
_EXACT = {"FLOAT": 1 << 24, "DOUBLE": 1 << 53}
_REPLACED = 0xFFFD  # the replacement of a broken character
_TEXTS = ("VARCHAR", "UUID")
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
WHOLE_TYPES = {*_INTEGERS, *(f"U{name}" for name in _INTEGERS)}


def sound_id(text: str) -> str:
    """SQL: a text if it can be an id."""
    return f"CASE WHEN {text} <> '' AND {sound(text)} THEN {text} END"


def sound_text(text: str) -> str:
    """SQL: a text if none of its characters is broken."""
    return f"CASE WHEN {sound(text)} THEN {text} END"


def sound(text: str) -> str:
    """SQL: whether no character of a text is broken."""
    return f"NOT contains({text}, chr({_REPLACED}))"


def json_id(kind: str, text: str) -> str:
    """SQL: the id in a JSON value, from its type and its text as DuckDB extracts them."""
    # DuckDB calls integers of more than 64 bits DOUBLE, but keeps their digits.
    digits = f"regexp_full_match({text}, '-?[0-9]+')"
    exact = f"abs(TRY_CAST({text} AS DOUBLE)) < {_EXACT['DOUBLE']}"
    whole = f"regexp_full_match({text}, '-?[0-9]+\\.0') AND {exact}"
    return (
        f"CASE WHEN {kind} IN ('VARCHAR', 'UBIGINT', 'BIGINT') THEN {text} "
        f"WHEN {kind} = 'DOUBLE' THEN CASE WHEN {digits} THEN {text} "
        f"WHEN {whole} THEN CAST(TRY_CAST({text} AS BIGINT) AS VARCHAR) END END"
    )


def parquet_id(given: str, type_name: str, holder: str, column: str) -> str:
    """SQL: the id in a value of a Parquet column; refuses a type that has no ids."""
    several = type_name.endswith("]")  # a list of such values
    if type_name in WHOLE_TYPES or type_name in _TEXTS:
        return f"TRY_CAST({given} AS VARCHAR)"
    if type_name.startswith("ENUM(") and not several:
        return f"TRY_CAST({given} AS VARCHAR)"
    if type_name == "BLOB":  # text that a program stored as bytes
        return f"TRY(decode({given}))"
    if type_name in _EXACT:
        exact = f"{given} = trunc({given}) AND abs({given}) < {_EXACT[type_name]}"
        return f"CASE WHEN {exact} THEN CAST(TRY_CAST({given} AS BIGINT) AS VARCHAR) END"
    if type_name.startswith("DECIMAL(") and not several:
        whole = f"{given} = trunc({given})"
        return f"CASE WHEN {whole} THEN CAST(TRY_CAST({given} AS HUGEINT) AS VARCHAR) END"
    raise PlanError(
        f"The column {column!r} of {holder} is {type_name}, which cannot be a user id.",
        why="an id of a user is text or an integer",
        tip="another column for user in [privacy], or a file with such ids",
    )
