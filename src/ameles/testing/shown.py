"""What a sink shows to whoever looks into it: the values in its whole records."""

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
Shown: TypeAlias = dict[Cell, Any]


class Unreadable(Exception):
    """A file with something in it that is no record."""


def shown_by(sink: str, content: bytes | Mapping[str, bytes], *, torn: bool = False) -> Shown:
    """The cells in the whole records of a sink; a cell with two values has both of them.

    Of a folder of Parquet files the content is that of all files that a reader would list.

    ``torn``: the power has failed, and of what was not synced sectors may be missing, which then
    are zeros.  Nobody can read a value from such a line, and the next run is to replace it.
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


def _collected(rows: Iterable[tuple[Any, Any, Any, Any]]) -> Shown:
    found: Shown = {}
    for release, key, step, shown in rows:
        cell, value = (release, key, int(step)), float(shown)
        found[cell] = value if found.get(cell, value) == value else (found[cell], value)
    return found


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
