"""Spark: the engine's jobs beside the same plain Spark jobs, steps after many users, small sizes.

All runs share one encrypted session, so Java is warm and the plain jobs are encrypted, too.  The
two sides of a ratio run in turns; the best round of each counts.  The plain job on users bounds
them as the plan does, to the same number of events in a day and the same number of days, and
remembers nobody.  Ameles also draws the noise, writes the files of users and commits.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ameles.spark.context import spark_context
from on_spark.contenders import Stream, framed, plain
from on_spark.data import EVENT, USER, parts, visits, write

GOALS = {"events": 1.3, "users": 1.2, "growth": 1.5}
ROUNDS = 3
LARGE = 5_000_000  # events; more are read once only
STEP = 250_000  # events of the step that follows many users


def best(*contenders: Callable[[], float], times: int = ROUNDS) -> list[float]:
    """The best seconds of each, in turns."""
    rounds = [[contender() for contender in contenders] for _ in range(times)]
    return [min(times) for times in zip(*rounds, strict=True)]


def released(folder: Path, pattern: str, unit: str, context: Any) -> float:
    """Seconds until a new stream has released all of its days."""
    return Stream(folder, pattern, unit, context).run()


def beside_plain_spark(session: Any, events: int) -> dict[str, Any]:
    """Events and users, from CSV and Parquet, as multiples of the plain Spark job."""
    found: dict[str, Any] = {}
    for suffix in ("csv", "parquet"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            parts(events, events // 10, folder, suffix)
            for what, unit in (("events", EVENT), ("users", USER)):
                users = unit == USER
                ours, theirs = best(
                    partial(released, folder, f"*.{suffix}", unit, session.sparkContext),
                    partial(plain, session, folder, suffix, users=users),
                )
                found[f"{what} {suffix}"] = {"ameles": ours, "spark": theirs, "x": ours / theirs}
                print(
                    f"{what:7} {suffix:8} {events:>11,} events: {ours:7.2f} s, plain Spark "
                    f"{theirs:7.2f} s: {ours / theirs:.2f} x (goal {GOALS[what]})",
                    flush=True,
                )
    return found


def after_many_users(context: Any, sizes: list[int]) -> dict[int, float]:
    """Seconds of a step of 250,000 events, after so many users were seen."""
    found = {}
    for users in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(visits(users, 1 << 62, days=1, seed=1), folder / "a.parquet")
            stream = Stream(folder, "*.parquet", USER, context)
            first = stream.run(1)
            times = []
            for day in (2, 3, 4):
                rows = visits(STEP, users, first=day - 1, days=1, seed=day)
                write(rows, folder / f"{day}.parquet")
                times.append(stream.run(day))
            found[users] = min(times)
            print(
                f"a step of {STEP:,} events after {users:>11,} users: {found[users]:.2f} s "
                f"(those users: {first:.1f} s)",
                flush=True,
            )
    return found


def beside_one_process(context: Any, sizes: list[int]) -> dict[int, dict[str, float]]:
    """Seconds on Spark and in one process, by the number of events."""
    found = {}
    for events in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            parts(events, events // 10, folder, "csv")
            times = best(
                partial(released, folder, "*.csv", USER, context),
                partial(released, folder, "*.csv", USER, None),
                times=1 if events > LARGE else ROUNDS,
            )
            found[events] = dict(zip(("spark", "one process"), times, strict=True))
            print(
                f"{events:>11,} events of users: Spark {times[0]:.2f} s, one process "
                f"{times[1]:.2f} s",
                flush=True,
            )
    return found


def beside_files(session: Any, events: int) -> dict[str, dict[str, float]]:
    """Seconds for a data frame that Spark has read from files, and for the files themselves."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts(events, events // 10, folder, "parquet")
        for what, unit in (("events", EVENT), ("users", USER)):
            times = best(
                partial(framed, session, folder, "parquet", unit),
                partial(released, folder, "*.parquet", unit, session.sparkContext),
            )
            found[what] = dict(zip(("data frame", "files"), times, strict=True))
            print(
                f"{what:7} {events:>11,} events of a data frame: {times[0]:7.2f} s, of its files "
                f"{times[1]:7.2f} s: {times[0] / times[1]:.2f} x",
                flush=True,
            )
    return found


def main() -> None:
    """Measures and prints; writes all figures to a file if asked."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--events", type=int, default=4_000_000)
    asked.add_argument("--users", type=int, nargs="*", default=[100_000, 1_000_000, 10_000_000])
    asked.add_argument("--sizes", type=int, nargs="*", default=[100_000, 1_000_000, 5_000_000])
    asked.add_argument("--frame", type=int, default=1_000_000, help="events of a data frame")
    asked.add_argument("--master", default=f"local[{os.cpu_count()}]")
    asked.add_argument("--memory", default="2g", help="of Java")
    asked.add_argument("--json", type=Path)
    given = asked.parse_args()
    if shutil.which("java") is None:
        sys.exit("Java 17 or newer is needed: apt-get install openjdk-17-jre-headless")
    warnings.simplefilter("ignore")
    settings = {"spark.driver.memory": given.memory, "spark.sql.shuffle.partitions": "8"}
    with spark_context(given.master, settings) as context:
        session = importlib.import_module("pyspark.sql").SparkSession(context)
        report: dict[str, Any] = {}
        if given.events:
            report["beside plain Spark"] = beside_plain_spark(session, given.events)
        if given.frame:
            report["beside files"] = beside_files(session, given.frame)
        if given.users:
            steps = after_many_users(context, given.users)
            growth = steps[given.users[-1]] / steps[given.users[0]]
            print(
                f"from {given.users[0]:,} to {given.users[-1]:,} users: {growth:.2f} x "
                f"(goal {GOALS['growth']})"
            )
            report["after many users"] = steps
        if given.sizes:
            report["beside one process"] = beside_one_process(context, given.sizes)
    if given.json is not None:
        given.json.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
