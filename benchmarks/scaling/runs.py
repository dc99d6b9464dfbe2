"""One run of a fresh stream in a process of its own: its processor time, its memory and its store.

Processor time is that of all threads, so it says how many cores a load needs, and other work on the
machine changes it little.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

START = datetime(2026, 1, 1, tzinfo=UTC)
PER_STEP, MAX_STEPS = 3, 24
EARLIER = 10  # steps in which users were seen before
PLAN = """
[stream]
name = "scale"
source = "{source}"
time = "time"
columns = {{ time = "timestamp", user = "text", key = "text" }}
start = "2026-01-01"
every = "1m"
horizon = {steps}
[privacy]
population = "people"
epsilon = 1
{unit}
[[release]]
name = "count"
measure = "count"
{by}
[store]
url = "scale.db"
"""
EVENT = 'unit = "event"'
USER = f'unit = "user"\nuser = "user"\nmax_per_step = {PER_STEP}\nmax_steps = {MAX_STEPS}'


@dataclass(frozen=True)
class Load:
    """What a stream has to do: its events, users, keys and steps."""

    events: int
    users: int = 0  # 0: the unit of privacy is an event
    keys: int = 1
    steps: int = 60
    seen: int = 0  # users who were seen in an earlier run
    kind: str = "parquet"  # or jsonl

    @property
    def text(self) -> str:
        """The load in words."""
        about = f", {self.users:,} users" if self.users else ""
        before = f", {self.seen:,} seen before" if self.seen else ""
        keys = f", {self.keys:,} keys" if self.keys > 1 else ""
        form = " as JSON Lines" if self.kind == "jsonl" else ""
        return f"{self.events:,} events{form}{about}{before}{keys}, {self.steps:,} steps"

    @property
    def before(self) -> int:
        """The steps before those that are measured."""
        return EARLIER if self.seen else 0

    @property
    def plan(self) -> str:
        """The plan, as a text."""
        keys = ", ".join(f'"k{key}"' for key in range(self.keys))
        return PLAN.format(
            source=f"*.{self.kind}",
            steps=self.steps + self.before,
            unit=USER if self.users else EVENT,
            by=f"by = {{ key = [{keys}] }}" if self.keys > 1 else "",
        )


@dataclass(frozen=True)
class Cost:
    """What a run took."""

    seconds: float
    processor: float
    memory: float  # MiB, at its peak
    store: float  # MiB, on the disk


def measure(load: Load) -> Cost:
    """The cost of a load.  Its events are written by other processes, and the run has one of its
    own, so the memory is that of the run alone."""
    with tempfile.TemporaryDirectory(prefix="ameles-scale-") as folder:
        for part in ("write", "run"):
            if load.seen:
                _process(f"earlier_{part}", load, folder)
        _process("write", load, folder)
        return Cost(**json.loads(_process("run", load, folder)))


def _process(part: str, load: Load, folder: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "scaling.runs", part, json.dumps(asdict(load)), folder],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout


def write(load: Load, folder: Path) -> None:
    """Events that are uniform over users, steps and keys."""
    user = f"hash(range, 1) % {max(load.users, 1)}"
    _write(folder / f"b.{load.kind}", load.events, user, load, first=load.before, steps=load.steps)


def earlier_write(load: Load, folder: Path) -> None:
    """One event of every user who was seen before."""
    _write(folder / f"a.{load.kind}", load.seen, "range", load, first=0, steps=load.before)


def _write(file: Path, count: int, user: str, load: Load, *, first: int, steps: int) -> None:
    form = "parquet" if load.kind == "parquet" else "json"
    with duckdb.connect() as duck:
        duck.execute(
            f"COPY (SELECT TIMESTAMP '2026-01-01' + INTERVAL {first} MINUTE + to_microseconds("
            f"CAST(hash(range) % {steps * 60_000_000} AS BIGINT)) AS time, "
            f"printf('u%010d', CAST({user} AS BIGINT)) AS user, "
            f"'k' || (hash(range, 2) % {load.keys}) AS key "
            f"FROM range({count})) TO '{file}' (FORMAT {form})"
        )


def earlier_run(load: Load, folder: Path) -> None:
    """Releases the steps in which users were seen before."""
    _run(load, folder, steps=load.before)


def run(load: Load, folder: Path) -> None:
    """Prints the cost of the run that is measured."""
    print(json.dumps(asdict(_run(load, folder, steps=load.before + load.steps))))


def _run(load: Load, folder: Path, *, steps: int) -> Cost:
    from ameles.engine.engine import Engine
    from ameles.plan.plan import read_plan_text
    from ameles.store import open_store

    wall, processor = time.perf_counter(), time.process_time()
    plan = read_plan_text(load.plan, base=folder)
    with open_store(str(folder / "scale.db")) as store:
        Engine(plan, store).run(START + timedelta(minutes=steps))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = sum(file.stat().st_size for file in folder.glob("scale.db*")) / 2**20
    return Cost(time.perf_counter() - wall, time.process_time() - processor, peak, size)


if __name__ == "__main__":
    part, described, place = sys.argv[1:]
    parts = {"write": write, "earlier_write": earlier_write, "earlier_run": earlier_run, "run": run}
    parts[part](Load(**json.loads(described)), Path(place))
