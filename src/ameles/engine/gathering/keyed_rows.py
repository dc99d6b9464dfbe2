"""Events of users as arrays: what is stored of open steps, and what goes from task to task.

Users are keyed hashes, 16 bytes each.  An answer that is missing has a mask, ``no_`` and its name.
Equal events of a user are one row with a number of ``times``: all of them are there, because the
bound of a step is applied when the step closes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ameles.engine.gathering.contribution_bounds import ContributionBounds
from ameles.engine.gathering.event_sql import KEY_BYTES
from ameles.engine.gathering.packed_arrays import Arrays
from ameles.engine.gathering.temporary_tables import TemporaryTables


def fetched_rows(tables: TemporaryTables, bounds: ContributionBounds, source: str) -> Arrays:
    """The rows of a table of DuckDB, or of a part of it, as arrays; equal rows are one."""
    columns = bounds.columns("step", "key", "part")
    rows = tables.fetched(f"SELECT {columns}, count(*) AS times FROM {source} GROUP BY ALL")
    kept: Arrays = {"key": packed(rows.pop("key"))}
    for name, values in rows.items():
        plain = np.ma.getdata(values)
        if name in bounds.words:
            kept[name] = np.where(np.ma.getmaskarray(values), "", plain).astype(object)
        else:
            kept[name] = plain if name == "part" else plain.astype(np.int64)
        if name in bounds.answers:
            kept[f"no_{name}"] = np.ma.getmaskarray(values)
    return kept


def given_rows(rows: Arrays) -> dict[str, Any]:
    """The arrays in a form that DuckDB takes."""
    return {**rows, "key": _unpacked(rows["key"])}


def selected_rows(bounds: ContributionBounds, where: str = "") -> str:
    """SQL: the rows of such arrays, each as often as it was there; {} stands for their table."""
    answers = "".join(
        f", CASE WHEN no_{name} THEN NULL ELSE {name} END AS {name}" for name in bounds.answers
    )
    return f"SELECT step, key, part{answers} FROM (SELECT *, unnest(range(times)) FROM {{}}{where})"


def packed(keys: Any) -> NDArray[np.uint8]:
    """Keyed hashes of users, a row each."""
    joined = b"".join(np.ma.getdata(keys).tolist())
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, KEY_BYTES).copy()


def _unpacked(keys: NDArray[Any]) -> NDArray[Any]:
    flat, unpacked = keys.tobytes(), np.empty(len(keys), dtype=object)
    unpacked[:] = [flat[place : place + KEY_BYTES] for place in range(0, len(flat), KEY_BYTES)]
    return unpacked
