"""Releases in the formats that a request may ask for; each gives the same values as the store.

JSON, CSV, Arrow and Parquet have a record for each release.  ``series`` is JSON by column, smaller
and faster to draw: the values of each series are together.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from ameles.core.release import COLUMNS
from ameles.core.release_lines import CSV_HEADER, csv_lines
from ameles.service.refusals import Refused
from ameles.service.views import Row

_RELEASE, _KEY, _STEP, _START, _END = (
    COLUMNS.index(name) for name in ("release", "key", "step", "start", "end")
)
_BY_STEP = ("step", "value", "low", "high", "label")
_TIMES = ("start", "end")
_NUMBERS = ("value", "low", "high")
_WHOLE = ("step", "entry")


class Format(Enum):
    """The format of a page of releases."""

    JSON = "json"
    SERIES = "series"
    CSV = "csv"
    ARROW = "arrow"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Written:
    """How a format is written, and its media type."""

    media: str
    write: Callable[[Sequence[Row], dict[str, Any]], bytes]


def _json(rows: Sequence[Row], about: dict[str, Any]) -> bytes:
    records = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    return plain_json({**about, "releases": records})


def _series(rows: Sequence[Row], about: dict[str, Any]) -> bytes:
    times = {row[_STEP]: (row[_START], row[_END]) for row in rows}
    series: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        series.setdefault((row[_RELEASE], row[_KEY]), []).append(row)
    return plain_json(
        {
            **about,
            "steps": [
                {"step": step, "start": start, "end": end} for step, (start, end) in times.items()
            ],
            "series": [
                {"release": release, "key": key, **_columns(own)}
                for (release, key), own in series.items()
            ],
        }
    )


def _columns(rows: Sequence[Row]) -> dict[str, tuple[Any, ...]]:
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    return {name: columns[name] for name in _BY_STEP}


def _csv(rows: Sequence[Row], about: dict[str, Any]) -> bytes:
    return (CSV_HEADER + csv_lines(rows)).encode()


def _arrow(rows: Sequence[Row], about: dict[str, Any]) -> bytes:
    pyarrow = _pyarrow()
    table, held = _table(pyarrow, rows), io.BytesIO()
    with pyarrow.ipc.new_stream(held, table.schema) as stream:
        stream.write_table(table)
    return held.getvalue()


def _parquet(rows: Sequence[Row], about: dict[str, Any]) -> bytes:
    table, held = _table(_pyarrow(), rows), io.BytesIO()
    importlib.import_module("pyarrow.parquet").write_table(table, held)
    return held.getvalue()


def _table(pyarrow: Any, rows: Sequence[Row]) -> Any:
    """The rows with the types of the Parquet sink."""
    kinds = {
        **dict.fromkeys(_TIMES, pyarrow.timestamp("us", tz="UTC")),
        **dict.fromkeys(_NUMBERS, pyarrow.float64()),
        **dict.fromkeys(_WHOLE, pyarrow.int64()),
    }
    schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in COLUMNS])
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    filled = {
        name: [_typed(name, cell) for cell in column]
        for name, column in zip(COLUMNS, columns, strict=True)
    }
    return pyarrow.table(filled, schema=schema)


def _typed(name: str, cell: Any) -> Any:
    if cell is None:
        return None
    if name in _TIMES:
        return datetime.fromisoformat(cell)
    return float(cell) if name in _NUMBERS else cell


def _pyarrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise Refused(
            406,
            "This service cannot write Arrow and Parquet.",
            why="pyarrow is not installed beside it",
            tip="format=csv; or pip install '.[dataframes]' in the clone where the service runs",
        ) from None


def plain_json(content: Any) -> bytes:
    """JSON in the smallest form, equal for equal content."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


WRITTEN = {
    Format.JSON: Written("application/json", _json),
    Format.SERIES: Written("application/json", _series),
    Format.CSV: Written("text/csv; charset=utf-8", _csv),
    Format.ARROW: Written("application/vnd.apache.arrow.stream", _arrow),
    Format.PARQUET: Written("application/vnd.apache.parquet", _parquet),
}
_ACCEPTED = {
    written.media.partition(";")[0]: form
    for form, written in WRITTEN.items()
    if form is not Format.SERIES
}


def negotiated(accept: str) -> Format:
    """The format that an ``Accept`` header prefers; JSON if it does not care.

    >>> negotiated("text/csv;q=0.8, application/json;q=0.5"), negotiated("text/html, */*;q=0.1")
    (<Format.CSV: 'csv'>, <Format.JSON: 'json'>)
    """
    if not accept.strip():
        return Format.JSON
    ranked = []
    for place, part in enumerate(accept[:1000].split(",")):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        ranked.append((-_quality(parameters), place, media))
    for quality, _, media in sorted(ranked):
        if not quality:
            continue
        if media in _ACCEPTED:
            return _ACCEPTED[media]
        if media in ("*/*", "application/*"):
            return Format.JSON
        if media == "text/*":
            return Format.CSV
    raise Refused(
        406,
        "Releases cannot be written in the format that the request accepts.",
        why="'Accept' has none of the formats",
        tip=f"Accept: one of {', '.join(_ACCEPTED)}; or format=json",
    )


def _quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return min(1.0, max(0.0, float(parameter[2:])))
            except ValueError:
                return 0.0
    return 1.0
