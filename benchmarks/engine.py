"""The engine: aggregates beside bare DuckDB, releases beside bare SQLite, check beside run, memory.

Each contender runs in a process of its own, so that its peak memory is its own; the two sides of
a ratio run in turns, and the best round of each counts.  The bare query bounds the same users to
the same number of events in a step, and the same number of steps, and counts by key; it remembers
nothing and may use as much memory as it likes.  ``ameles check`` and ``ameles run`` read the same
folder of daily files, as whole commands.

    ./run bench engine
    ./run bench engine --only files      check beside run alone
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np

STEPS, KEYS, PER_STEP = 1440, 1000, 3
FILES, LINES = 1781, 160  # daily files, and lines of each
GOALS = {"aggregate": 2.0, "releases": 2.0, "memory": 1.5, "check": 1.5}
PLAN = """
[stream]
name = "bench"
source = "{source}"
time = "time"
columns = {{ time = "timestamp", user = "text", key = "text" }}
start = "2026-01-01"
every = "1m"
horizon = {steps}
[privacy]
population = "people"
unit = "user"
user = "user"
max_per_step = {per_step}
max_steps = {max_steps}
epsilon = 1
[[release]]
name = "count"
measure = "count"
by = {{ key = [{keys}] }}
[store]
url = "bench.db"
"""


def events(file: Path, count: int) -> None:
    """One day: uniform in time and key, with users of whom few are very busy."""
    with duckdb.connect() as duck:
        duck.execute(
            "COPY (SELECT TIMESTAMP '2026-01-01' + "
            "to_microseconds(CAST(hash(range) % 86400000000 AS BIGINT)) "
            "AS time, printf('u%07d', CAST(floor(1e6 * pow(hash(range, 1) / pow(2, 64), 2)) "
            "AS BIGINT)) AS user, 'k' || (hash(range, 2) % 1000) AS key "
            f"FROM range({count})) TO '{file}' (FORMAT parquet)"
        )


def plan_text(source: Path, max_steps: int) -> str:
    """The plan of the day, with this bound on a user's steps."""
    keys = ", ".join(f'"k{n}"' for n in range(KEYS))
    return PLAN.format(
        source=source, steps=STEPS, per_step=PER_STEP, max_steps=max_steps, keys=keys
    )


# What a process of its own does -------------------------------------------------------------------


@contextmanager
def gathering_timed() -> Iterator[list[float]]:
    """How long each reading took: rows to sums, without releases and commits."""
    from ameles.engine.gathering.gatherer import DuckGatherer

    marks: list[float] = []
    gather = DuckGatherer.gather

    def timed(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return gather(*arguments)
        finally:
            marks.append(time.perf_counter() - began)

    with mock.patch.object(DuckGatherer, "gather", timed):
        yield marks


def run_engine(source: Path, max_steps: int) -> dict[str, float]:
    """The whole run of a fresh stream, and the part of it that reads, bounds and adds up."""
    from ameles.engine.engine import Engine
    from ameles.noise import System
    from ameles.plan.plan import read_plan_text
    from ameles.store import open_store

    with tempfile.TemporaryDirectory() as folder:
        plan = read_plan_text(plan_text(source, max_steps), base=Path(folder))
        _ = plan.recipes  # chosen before the clock starts: it reads nothing
        System.direct().laplace(Fraction(1), 1 << 20)  # loads compiled kernels, if any
        start = time.perf_counter()
        with gathering_timed() as marks, open_store(str(Path(folder) / "bench.db")) as store:
            Engine(plan, store).run(datetime(2026, 1, 2, tzinfo=UTC))
        whole = time.perf_counter() - start
    return {"seconds": whole, "gather": marks[0], "rest": whole - marks[0]}


def run_bare(source: Path, max_steps: int) -> dict[str, float]:
    """The same bounded aggregate as one query."""
    kept = (
        "SELECT epoch_us(time) // 60000000 AS step, user, key FROM "
        f"read_parquet('{source}') QUALIFY row_number() OVER (PARTITION BY user, step "
        f"ORDER BY hash('salt', time, user, key)) <= {PER_STEP}"
    )
    if max_steps < STEPS:
        kept = (
            f"SELECT * FROM ({kept}) QUALIFY dense_rank() OVER (PARTITION BY user "
            f"ORDER BY step) <= {max_steps}"
        )
    start = time.perf_counter()
    with duckdb.connect() as duck:
        duck.execute("SET preserve_insertion_order = false")
        groups = duck.execute(
            f"SELECT step, key, count(*) AS n FROM ({kept}) GROUP BY ALL"
        ).fetchnumpy()
    return {"seconds": time.perf_counter() - start, "rows": len(groups["n"])}


def run_inserts() -> dict[str, float]:
    """The rows of a day's releases, into the store's own table, by one executemany."""
    from ameles.store import open_store

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bare.db"
        with open_store(str(file)):
            pass
        with sqlite3.connect(file, isolation_level=None) as bare:
            bare.execute("PRAGMA synchronous = FULL")
            bare.execute("PRAGMA foreign_keys = OFF")
            values = np.arange(STEPS * KEYS)
            start = time.perf_counter()
            bare.execute("BEGIN IMMEDIATE")
            bare.executemany(
                "INSERT INTO release (stream, step, series, value, low, high, label) "
                "VALUES (1, ?, ?, ?, ?, ?, '')",
                zip(
                    (values // KEYS + 1).tolist(),
                    (values % KEYS + 1).tolist(),
                    values.tolist(),
                    (values - 40).tolist(),
                    (values + 40).tolist(),
                    strict=True,
                ),
            )
            bare.execute("COMMIT")
            return {"seconds": time.perf_counter() - start}


DAILY = """
[stream]
name = "daily"
source = "{folder}/*.csv"
time = "date"
columns = {{ date = "timestamp", region = "text", age = "integer", cases = "integer" }}
start = "2020-02-24"
every = "1d"
horizon = 2000
[privacy]
population = "people"
unit = "event"
epsilon = 1
[[release]]
name = "cases"
measure = "count"
by = {{ region = [{regions}] }}
[store]
url = "bench.db"
"""


def daily_files(folder: Path) -> None:
    """A file for each day, as a ministry publishes them."""
    first = date(2020, 2, 24)
    for number in range(FILES):
        day = first + timedelta(number)
        lines = (
            f"{day}T{n % 24:02}:{n % 60:02}:00Z,R{n * number % 20},{n * 7 % 100},{n % 5}\n"
            for n in range(LINES)
        )
        text = "date,region,age,cases\n" + "".join(lines)
        (folder / f"{day}.csv").write_text(text, encoding="utf-8")


def run_command(source: Path, command: str) -> dict[str, float]:
    """A whole command on a fresh store."""
    options = ("--secret-to", "look.txt") if command == "check" else ("--yes",)
    with tempfile.TemporaryDirectory() as folder:
        regions = ", ".join(f'"R{n}"' for n in range(20))
        text = DAILY.format(folder=source, regions=regions)
        (Path(folder) / "ameles.toml").write_text(text, encoding="utf-8")
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "ameles", command, *options],
            cwd=folder,
            capture_output=True,
            check=True,
        )
        return {"seconds": time.perf_counter() - start}


# The comparison -----------------------------------------------------------------------------------


def measured(job: str, *arguments: str) -> dict[str, float]:
    """One job in a process of its own."""
    ended = subprocess.run(
        [sys.executable, __file__, "--job", job, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        sys.exit(ended.stderr)
    figures: dict[str, float] = json.loads(ended.stdout)
    return figures


def best(rounds: int, *jobs: tuple[str, ...]) -> list[dict[str, float]]:
    """The best round of each job, run in turns."""
    each: list[list[dict[str, float]]] = [[] for _ in jobs]
    for _ in range(rounds):
        for place, job in enumerate(jobs):
            each[place].append(measured(*job))
    return [min(rounds_of, key=lambda one: one["seconds"]) for rounds_of in each]


def verdict(name: str, ratio: float) -> str:
    """Whether a goal was reached."""
    return f"goal at most {GOALS[name]:g}: {'reached' if ratio <= GOALS[name] else 'NOT reached'}"


def compare(count: int, rounds: int) -> None:
    """All contenders on so many events."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "events.parquet"
        events(source, count)
        engine, limited, bare, bare_limited, inserts = best(
            rounds,
            ("engine", str(source), str(STEPS)),
            ("engine", str(source), "20"),
            ("bare", str(source), str(STEPS)),
            ("bare", str(source), "20"),
            ("inserts",),
        )
        print(f"{count:,} events in Parquet, {KEYS:,} keys, users bounded to {PER_STEP} a step")
        contenders = (
            ("max_steps = all", engine, bare),
            ("max_steps = 20", limited, bare_limited),
        )
        for name, one, bare in contenders:
            ratio = one["gather"] / bare["seconds"]
            print(
                f"  {name:16} read, bound and add up: {one['gather']:6.2f} s, "
                f"{ratio:4.2f} x bare DuckDB ({bare['seconds']:.2f} s, "
                f"{bare['memory']:.2f} GiB); {verdict('aggregate', ratio)}"
            )
            print(
                f"  {'':16} whole run {one['seconds']:.2f} s, "
                f"{one['seconds'] / (bare['seconds'] + inserts['seconds']):.2f} x the bare query "
                f"and the bare inserts; peak memory {one['memory']:.2f} GiB, "
                f"{verdict('memory', one['memory'])}"
            )
        ratio = engine["rest"] / inserts["seconds"]
        print(
            f"{STEPS:,} steps x {KEYS:,} keys of releases: {engine['rest']:.2f} s, {ratio:.2f} x "
            f"bare SQLite ({inserts['seconds']:.2f} s); {verdict('releases', ratio)}"
        )
        print("cost of an event, read to commit, less that of no events:")
        empty = Path(folder) / "none.parquet"
        events(empty, 0)
        (nothing,) = best(rounds, ("engine", str(empty), str(STEPS)))
        for size in sorted({10**5, 10**6, count}):
            some = Path(folder) / f"{size}.parquet"
            events(some, size)
            (one,) = best(rounds, ("engine", str(some), str(STEPS)))
            each = (one["seconds"] - nothing["seconds"]) / size * 1e6
            print(f"  {size:>10,} events: {each:.2f} microseconds each")


def compare_files(rounds: int) -> None:
    """``ameles check`` beside ``ameles run``, on many small files."""
    with tempfile.TemporaryDirectory() as folder:
        daily_files(Path(folder))
        check, run = best(
            rounds,
            ("command", folder, "check"),
            ("command", folder, "run"),
        )
    ratio = check["seconds"] / run["seconds"]
    print(
        f"{FILES:,} files of {LINES} lines: ameles check {check['seconds']:.2f} s, {ratio:.2f} x "
        f"ameles run ({run['seconds']:.2f} s); {verdict('check', ratio)}"
    )


def main() -> None:
    """The benchmark, or one job of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=float, default=1e7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("events", "files"), help="one of the comparisons")
    parser.add_argument("--job", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        match given.job:
            case ["engine", source, max_steps]:
                figures = run_engine(Path(source), int(max_steps))
            case ["command", source, command]:
                figures = run_command(Path(source), command)
            case ["bare", source, max_steps]:
                figures = run_bare(Path(source), int(max_steps))
            case _:
                figures = run_inserts()
        figures["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
        print(json.dumps(figures))
        return
    if given.only != "files":
        compare(int(given.events), given.rounds)
    if given.only != "events":
        compare_files(given.rounds)


if __name__ == "__main__":
    main()
