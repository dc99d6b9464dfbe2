"""Which types of Parquet columns can be read as which kinds of a plan; only the schema is used.

A column that could never have a value is refused before anything is spent.
"""

from __future__ import annotations

import re

from ameles.connectors.format import Format
from ameles.connectors.text.time_format import EPOCHS
from ameles.connectors.typed_columns import KEY, WEIGHT
from ameles.connectors.user_ids import WHOLE_TYPES
from ameles.core.exceptions import PlanError

_TEXTS = ("VARCHAR", "ENUM", "JSON")
_FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")
_TIMES = ("TIMESTAMP", "DATE")
_SAFE_TIMES = (
    "TIMESTAMP",
    "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE",
    "TIMESTAMP_NS WITH TIME ZONE",
)
_TIME = re.compile(r"\bTIME")
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*["]""")


def check_type(column: str, kind: str, type_name: str, form: Format, holder: str) -> None:
    """Refuse a column if no value of its type can be of its kind."""
    if _fits(kind, type_name, form):
        return
    number = type_name in WHOLE_TYPES or type_name.startswith(_FRACTIONS)
    raise PlanError(
        f"The column {column!r} of {holder} is {_shown(type_name)}, and cannot be read "
        f"as {'an integer' if kind == WEIGHT else kind}.",
        why="every one of its values would be missing",
        tip='time_format = "epoch", "epoch-ms" or "epoch-us", for seconds, thousandths or '
        "millionths since 1970"
        if kind == "timestamp" and number
        else "another column or kind in columns, or a file with such values",
    )


def check_text(column: str, kind: str, type_name: str, holder: str) -> None:
    """Refuse to read times of day, or times within lists and objects, as text.

    DuckDB reads any number as such a time, and one that is no time fails the scan of all rows.
    """
    if kind not in ("text", KEY) or type_name in _SAFE_TIMES:
        return
    if _TIME.search(_QUOTED.sub("", type_name)):
        raise PlanError(
            f"The column {column!r} of {holder} is {_shown(type_name)}, and times "
            "of day, or times in lists and objects, cannot be read as text.",
            why="one value that is not a time would stop the reading of all others",
            tip="a column of texts in the file, such as 10:15:00; or another column in columns",
        )


def _fits(kind: str, type_name: str, form: Format) -> bool:
    text = type_name.startswith(_TEXTS) and not type_name.endswith("]")
    whole = type_name in WHOLE_TYPES
    fraction = type_name.startswith(_FRACTIONS) and not type_name.endswith("]")
    match kind:
        case "integer" | "number" | "weight":
            return text or whole or fraction
        case "boolean":
            return text or whole or type_name == "BOOLEAN"
        case "timestamp":
            epoch = bool(form.time_format) and form.time_format[0] in EPOCHS
            time = type_name.startswith(_TIMES) and not type_name.endswith("]")
            return text or time or (whole and bool(form.time_format)) or (fraction and epoch)
        case _:  # everything has a text; ids are checked where they are read
            return True


def _shown(type_name: str) -> str:
    """A type without the names and values in it."""
    return "LIST" if type_name.endswith("]") else type_name.partition("(")[0]
