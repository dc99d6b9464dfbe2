"""The values that a reader finds in a sink: those of its complete records."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import duckdb

Cell: TypeAlias = tuple[str, str, int]  # release, key, step
Values: TypeAlias = dict[Cell, Any]


class Unreadable(Exception):
    """A file with something in it that is no record."""


def values_in(sink: str, content: bytes | Mapping[str, bytes], *, torn: bool = False) -> Values:
    """The cells in the complete records of a sink; a cell with two values has a pair of them.

    The content of a folder of Parquet files is that of all files that a reader would list.

    ``torn``: the power has failed.  Sectors that were not synced may be missing, and are then
    zeros.  Nobody can read a value from such a line, and the next run must replace it.
    """
    if not isinstance(content, bytes):
        rows_of = [_parquet(part) for _, part in sorted(content.items())]
        cells = Counter((name, key, step) for part in rows_of for name, key, step, _ in part)
        if any(count > 1 for count in cells.values()):
            raise Unreadable("A row is there twice.")
        return _collected(row for part in rows_of for row in part)
    text = content.decode("utf-8", "replace")
    lines = text[: text.rfind("\n") + 1].splitlines()
    lines = [line for line in lines if not (torn and "\0" in line)]
    rows: Iterable[dict[str, Any]]
    try:
        if sink.endswith(".csv"):
            rows = csv.DictReader(lines)
        else:
            rows = (json.loads(line) for line in lines)
        return _collected((row["release"], row["key"], row["step"], row["value"]) for row in rows)
    except (csv.Error, KeyError, TypeError, ValueError):
        raise Unreadable("A line is no record.") from None


def _collected(rows: Iterable[tuple[Any, Any, Any, Any]]) -> Values:
    values: Values = {}
    for release, key, step, written in rows:
        cell, value = (release, key, int(step)), float(written)
        values[cell] = value if values.get(cell, value) == value else (values[cell], value)
    return values


def _parquet(content: bytes) -> list[tuple[Any, Any, Any, Any]]:
    handle, name = tempfile.mkstemp(suffix=".parquet")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        asked = "SELECT release, key, step, value FROM read_parquet(?)"
        return _duck(os.getpid()).execute(asked, [name]).fetchall()
    except duckdb.Error:
        raise Unreadable("It is no whole Parquet file.") from None
    finally:
        Path(name).unlink()


@cache  # for each process, because it does not outlive a fork
def _duck(process: int) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"threads": 1})
