"""Replay: past steps released one after the other, by measure, beside bare inserts of their rows.

A replay reads few events for each step, so it tells what a step itself costs: its noise, its
half-widths, its rows.  It is compared with a bare SQLite insert of as many rows of the same form,
in transactions of as many steps each.  Both run in turns in one process, and the best round of each
counts; times are processor times.

With ``--due``, so many steps of a second are due at once, in a process of their own: after a long
pause they are released piece by piece, and the memory is the same however many they are.

    ./run bench replay
    ./run bench replay --steps 1e5 --only quantile "count over 1h"
    ./run bench replay --due 1e6
"""

from __future__ import annotations

import argparse
import sqlite3
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ameles.engine.engine import Engine
from ameles.plan.plan import read_plan, read_plan_text
from ameles.store import open_store

START = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = 365 * 24 * 60  # steps of a minute
TOGETHER = 2048  # steps of a transaction, as in the engine
DUE_MEMORY = 400  # MB that a process may have at its peak, however many steps are due
KINDS = {
    "no rows": (0, ""),
    "a row a step": (1, ""),
    "1,000 keys": (1, "by = { key = [" + ", ".join(f'"k{n}"' for n in range(1000)) + "] }"),
}
PLAN = """
[stream]
name = "bench"
source = "events.csv"
time = "time"
columns = {{ time = "timestamp", user = "text", key = "text", number = "integer" }}
start = "2026-01-01"
every = "1m"
horizon = {horizon}
[privacy]
population = "people"
epsilon = 1
{unit}
[[release]]
name = "it"
{release}
[store]
url = "bench.db"
"""
EVENT = 'unit = "event"'
USER = 'unit = "user"\nuser = "user"\nmax_per_step = 1\nmax_steps = 5'
BY = 'by = { key = ["a", "b", "c", "d", "e"] }'
VALUES = 'column = "number"\nlower = 0\nupper = 10\ngranularity = 1'
EDGES = 'column = "number"\nedges = [0, 1, 2, 3, 4, 5, 6, 8, 10]'
RELEASES = {
    "count": (EVENT, f'measure = "count"\n{BY}'),
    "count over 1h": (EVENT, f'measure = "count"\nover = "1h"\n{BY}'),
    "count over 7d": (EVENT, f'measure = "count"\nover = "7d"\n{BY}'),
    "count of a step": (EVENT, f'measure = "count"\nover = "step"\n{BY}'),
    "count of users": (USER, f'measure = "count"\n{BY}'),
    "distinct": (USER, f'measure = "distinct"\n{BY}'),
    "mean": (EVENT, f'measure = "mean"\n{VALUES}\n{BY}'),
    "histogram": (EVENT, f'measure = "histogram"\n{EDGES}'),
    "quantile": (EVENT, f'measure = "quantile"\n{EDGES}\nq = 0.5'),
    "quantile, q = 0.9": (EVENT, f'measure = "quantile"\n{EDGES}\nq = 0.9'),
    "top": (EVENT, f'measure = "top"\nk = 3\n{BY}'),
    "alert": (EVENT, 'measure = "alert"\nover = "1h"\nthreshold = 100\ntimes = 3'),
}


def events(file: Path, steps: int) -> None:
    """One event a step."""
    with file.open("w", encoding="utf-8") as out:
        out.write("time,user,key,number\n")
        for step in range(steps):
            at = START + timedelta(minutes=step)
            out.write(f"{at:%Y-%m-%dT%H:%M:%SZ},u{step % 997},{'abcde'[step % 5]},{step % 11}\n")


def replayed(folder: Path, name: str, steps: int) -> tuple[float, float]:
    """Seconds for a step, and how many rows it has."""
    unit, release = RELEASES[name]
    text = PLAN.format(horizon=YEAR, unit=unit, release=release)
    plan = read_plan_text(text, base=folder)
    _ = plan.recipes  # chosen before the clock starts
    with tempfile.TemporaryDirectory() as place, open_store(str(Path(place) / "b.db")) as store:
        began = time.process_time()
        report = Engine(plan, store).run(until=START + timedelta(minutes=steps))
        spent = time.process_time() - began
        if report.new != steps:
            raise SystemExit(f"{name}: {report.new} of {steps} steps were released.")
        with store.reading() as transaction:
            series = sum(len(transaction.series(one)) for one in transaction.streams())
    return spent / steps, series


def inserted(steps: int, series: float) -> float:
    """Seconds for a step of bare inserts."""
    with tempfile.TemporaryDirectory() as place:
        bare = sqlite3.connect(Path(place) / "bare.db", isolation_level=None)
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("PRAGMA synchronous = FULL")
        bare.execute("CREATE TABLE one (step INTEGER, series INTEGER, value INTEGER, low, high)")
        began = time.process_time()
        for first in range(0, steps, TOGETHER):
            bare.execute("BEGIN IMMEDIATE")
            bare.executemany(
                "INSERT INTO one VALUES (?, ?, ?, ?, ?)",
                (
                    (step, key, step, step - 50, step + 50)
                    for step in range(first, min(first + TOGETHER, steps))
                    for key in range(int(series))
                ),
            )
            bare.execute("COMMIT")
        spent = time.process_time() - began
        bare.close()
    return spent / steps


def due(kind: str, steps: int) -> tuple[float, float]:
    """Processor seconds and MB of a process that releases steps of a second, which are all due."""
    rows, by = KINDS[kind]
    with tempfile.TemporaryDirectory() as place:
        text = PLAN.format(horizon=steps, unit=EVENT, release=f'measure = "count"\n{by}')
        (Path(place) / "ameles.toml").write_text(text.replace('"1m"', '"1s"'), encoding="utf-8")
        with (Path(place) / "events.csv").open("w", encoding="utf-8") as out:
            out.write("time,user,key,number\n")
            for step in range(steps * rows):
                at = START + timedelta(seconds=step)
                out.write(f"{at:%Y-%m-%dT%H:%M:%SZ},u,k{step % 1000},1\n")
        until = f"{START + timedelta(seconds=steps):%Y-%m-%dT%H:%M:%SZ}"
        command = [sys.executable, str(Path(__file__)), "--child", place, until]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        seconds, memory = map(float, done.stdout.split())
        return seconds, memory / 1e6


def released_in(folder: Path, until: str) -> None:
    """Releases what is due; prints what this process took: processor seconds, and bytes at most."""
    with open_store(str(folder / "bench.db")) as store:
        Engine(read_plan(folder / "ameles.toml"), store).run(until=datetime.fromisoformat(until))
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print(time.process_time(), 1024 * peak)


def main() -> None:
    """One line a measure, or one for each kind of stream whose steps are due."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=float, default=2e4, help="that are replayed")
    parser.add_argument("--rounds", type=int, default=2, help="of which the best counts")
    parser.add_argument("--only", nargs="+", choices=RELEASES, help="some of the measures")
    parser.add_argument("--due", type=float, help="steps of a second that are due at once")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        released_in(Path(given.child[0]), given.child[1])
        return
    if given.due:
        for kind in KINDS:
            steps = int(given.due) // (500 if "keys" in kind else 1)  # twice as many numbers
            seconds, memory = due(kind, steps)
            said = "reached" if memory <= DUE_MEMORY else "NOT reached"
            print(
                f"goal: {steps:,} due steps, {kind}, {steps / seconds:,.0f} steps/s of a core, MB: "
                f"at most {DUE_MEMORY}: {memory:.0f}: {said}",
                flush=True,
            )
        return
    steps = int(given.steps)
    print(f"{steps:,} steps of a minute with an event each; horizon: a year")
    print(f"{'':20} {'microseconds a step':>20} {'x bare inserts':>15} {'a year would take':>18}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        events(folder / "events.csv", steps)
        for name in given.only or RELEASES:
            rounds = [(*replayed(folder, name, steps),) for _ in range(given.rounds)]
            each, series = min(rounds)
            bare = min(inserted(steps, series) for _ in range(given.rounds))
            print(
                f"{name:20} {each * 1e6:>20.0f} {each / bare:>15.1f} {each * YEAR / 60:>13.1f} min",
                flush=True,
            )


if __name__ == "__main__":
    main()
