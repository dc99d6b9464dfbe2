"""Visits of many users, and plans about them."""

from __future__ import annotations

from pathlib import Path

import duckdb

DAYS, REGIONS = 10, ("north", "south", "east", "west")
PER_STEP, MAX_STEPS = 2, 3
EVENT = 'unit = "event"'
USER = f'unit = "user"\nuser = "who"\nmax_per_step = {PER_STEP}\nmax_steps = {MAX_STEPS}'
PLAN = """
[stream]
name = "s"
source = "{source}"
time = "at"
columns = {{ at = "timestamp", who = "text", region = "text", age = "integer" }}
start = "2026-01-01"
every = "1d"
horizon = {horizon}
[privacy]
population = "p"
{unit}
epsilon = 1
[[release]]
name = "adults"
measure = "count"
over = "step"
where = "age >= 18"
by = {{ region = ["north", "south", "east", "west"] }}
[store]
url = "s.db"
"""


def visits(events: int, users: int, *, first: int = 0, days: int = DAYS, seed: int = 0) -> str:
    """SQL: events on some days, each of one of ``users`` users in no order."""
    day, who = f"(hash(i, {seed}, 1) % {days})::INT", f"(hash(i, {seed}, 2) % {users})"
    second = f"(hash(i, {seed}, 5) % 86400)::INT"
    time = f"TIMESTAMPTZ '2026-01-01' + to_days({first} + {day}) + to_seconds({second})"
    region = f"{list(REGIONS)}[1 + (hash(i, {seed}, 3) % {len(REGIONS)})::INT]"
    return (
        f"SELECT {time} AS \"at\", 'user-' || {who} AS who, {region} AS region, "
        f"(hash(i, {seed}, 4) % 90)::INT AS age FROM range({events}) t(i)"
    )


def write(query: str, file: Path) -> None:
    """Writes events as CSV, with times as ISO 8601, or as Parquet."""
    if file.suffix == ".csv":
        time = "strftime(\"at\", '%Y-%m-%dT%H:%M:%SZ')"
        query = f'SELECT * REPLACE ({time} AS "at") FROM ({query})'
    with duckdb.connect() as duck:
        form = "FORMAT csv, HEADER" if file.suffix == ".csv" else "FORMAT parquet"
        duck.execute("SET TimeZone = 'UTC'")
        duck.execute(f"COPY ({query}) TO '{file}' ({form})")


def parts(events: int, users: int, folder: Path, suffix: str, files: int = 4) -> None:
    """The events in several files, as a lake has them."""
    for number in range(files):
        write(visits(events // files, users, seed=number), folder / f"e{number}.{suffix}")
