"""A simulated season with flaws, as files, as a table, and as plain aggregates of it.

What is here knows nothing of the engine: it reads lines with Python's csv, cuts days with the
calendar of the zone, and adds up with DuckDB.
"""

from __future__ import annotations

import csv
import json
from contextlib import closing
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np

from ameles.core.release import Release
from ameles.engine.engine import Engine
from ameles.noise import Zero
from ameles.plan.plan import read_plan_text
from ameles.simulate import season, write_csv
from ameles.store import open_store

ZONE = "Europe/Rome"
STEPS = 14  # from 20 October 2025 on: clocks are changed in step 7
FILES = ("visits.csv", "visits.jsonl", "visits.parquet")
KINDS = {
    "reported_at": "timestamp",
    "device": "text",
    "region": "text",
    "age": "integer",
    "fever": "boolean",
    "cough": "boolean",
    "temperature": "number",
}
TYPES = {
    "timestamp": "TIMESTAMPTZ",
    "text": "VARCHAR",
    "integer": "BIGINT",
    "boolean": "BOOLEAN",
    "number": "DOUBLE",
}
REGIONS = ("north", "south", "east", "west")
SPANS = {"total": 1000, "step": 1, "3d": 3}
UNITS = {
    "event": 'unit = "event"',
    # no user comes so often that a bound is felt
    "user": f'unit = "user"\nuser = "device"\nmax_per_step = 99\nmax_steps = {STEPS}',
    "user-window": 'unit = "user-window"\nuser = "device"\nmax_per_step = 99\nmax_steps = 7\n'
    'window = "7d"',
}
BY = f"by = {{ region = {json.dumps(REGIONS)} }}\n"
HEAT = 'column = "temperature"\nlower = 36\nupper = 39.5\ngranularity = 0.5\n'
ROUNDED = "least(greatest(round(2 * temperature), 72), 79) / 2"
EDGES = (0, 15, 40, 65, 90)


class Site:
    """A season with flaws, as three files and as a table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        some = season(days=STEPS, visitors=300, events=1500, start="2025-10-20", seed=5, flaws=0.04)
        write_csv(folder / FILES[0], some)
        lines = (folder / FILES[0]).read_text(encoding="utf-8").splitlines()
        self.duck = connected()
        rows = [row for line in lines[1:] if (row := _fields(line)) is not None]
        table = np.array(rows, dtype=object)
        self.duck.register("raw", {name: table[:, n].copy() for n, name in enumerate(KINDS)})
        typed = ", ".join(f"TRY_CAST({n} AS {TYPES[k]}) AS {n}" for n, k in KINDS.items())
        local = f"CAST(reported_at AT TIME ZONE '{ZONE}' AS DATE)"
        self.duck.execute(
            f"CREATE TABLE visits AS SELECT *, {local} - DATE '2025-10-20' + 1 AS step "
            f"FROM (SELECT {typed} FROM raw)"
        )
        self._write_json(rows, broken=len(lines) - 1 - len(rows))
        self.duck.execute(
            f"COPY (SELECT * EXCLUDE (step) FROM visits) TO '{folder / FILES[2]}' (FORMAT parquet)"
        )

    def _write_json(self, rows: list[list[str | None]], broken: int) -> None:
        with (self.folder / FILES[1]).open("w", encoding="utf-8") as file:
            for row in rows:
                record: dict[str, Any] = dict(zip(KINDS, row, strict=True))
                if record["age"] is not None and record["age"].isdigit():
                    record["age"] = int(record["age"])
                file.write(json.dumps(record) + "\n")
            file.write('{"reported_at": "2025-10-21", \n' * broken)

    def run(
        self, releases: dict[str, str], unit: str, source: str, cuts: tuple[int, ...]
    ) -> Values:
        """What the engine releases in some runs."""
        return run(self.folder, releases, UNITS.get(unit, unit), source, KINDS, cuts)

    def counts(self, what: str, key: str, keys: list[str], over: str, where: str) -> Any:
        """For each step and key a plain aggregate of the visits within the span."""
        query = (
            f"SELECT s.step, k.place, {what} FROM range(1, {STEPS + 1}) AS s(step) "
            f"CROSS JOIN (SELECT unnest(?) AS key, unnest(range({len(keys)})) AS place) AS k "
            f"LEFT JOIN (SELECT *, {key} AS key FROM visits WHERE {where}) AS v ON v.key = k.key "
            f"AND v.step BETWEEN greatest(s.step - {SPANS[over]} + 1, 1) AND s.step "
            "GROUP BY ALL ORDER BY ALL"
        )
        rows = self.duck.execute(query, [keys]).fetchall()
        return np.array([value for _, _, value in rows]).reshape(STEPS, len(keys))


class Values:
    """Released lines."""

    def __init__(self, releases: list[Release]) -> None:
        self.releases = releases

    def of(self, name: str, column: str = "value") -> np.ndarray[Any, Any]:
        """One row a step, one column a key."""
        column_values = [getattr(r, column) for r in self.releases if r.release == name]
        return np.array(column_values).reshape(STEPS, -1)

    @cached_property
    def plain(self) -> list[tuple[Any, ...]]:
        return [(r.release, r.key, r.step, r.start, r.value, r.label) for r in self.releases]


def run(
    folder: Path,
    releases: dict[str, str],
    unit: str,
    source: str,
    kinds: dict[str, str],
    cuts: tuple[int, ...],
    stream: str = "",
) -> Values:
    columns = ", ".join(f'{name} = "{kind}"' for name, kind in kinds.items())
    tables = "".join(f'[[release]]\nname = "{n}"\n{text}' for n, text in releases.items())
    plan = read_plan_text(
        f'[stream]\nname = "s"\nsource = "{source}"\ntime = "reported_at"\n'
        f'columns = {{ {columns} }}\nstart = 2025-10-20\nevery = "1d"\nzone = "{ZONE}"\n'
        f'horizon = {STEPS}\n{stream}\n[privacy]\npopulation = "p"\n{unit}\nepsilon = 1\n'
        f'{tables}[store]\nurl = "s.db"\n',
        base=folder,
    )
    store_file = folder / f"{len(list(folder.iterdir()))}.db"
    with closing(open_store(str(store_file))) as store:
        for cut in cuts:
            until = datetime(2025, 10, 20 + cut) if cut < 12 else datetime(2025, 11, cut - 11)
            Engine(plan, store, noise=Zero()).run(until.replace(tzinfo=ZoneInfo(ZONE)))
        with store.reading() as transaction:
            record = transaction.stream("s")
            assert record is not None
            return Values(list(transaction.releases(record)))


def connected() -> duckdb.DuckDBPyConnection:
    duck = duckdb.connect()
    duck.execute(f"SET TimeZone = '{ZONE}'")
    return duck


def _fields(line: str) -> list[str | None] | None:
    """The fields of a line of CSV; None if it is broken."""
    try:
        (row,) = csv.reader([line], strict=True)
    except (csv.Error, ValueError):
        return None
    return [field or None for field in row] if len(row) == len(KINDS) else None
