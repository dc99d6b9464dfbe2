"""Sinks: what a step costs with a short and with a long history, and how much memory that takes.

    ./run bench sinks                     histories of 65,536 and about a million rows
    ./run bench sinks --rows 1e7          and of about ten million

Each kind of sink gets a history, in whole files of Parquet so that all begin alike, and then 300
steps of 64 rows, each durable.  Every measurement is a process of its own.  The ratios are of the
time that computing takes, the longer history to the shortest one, within one run.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ameles.connectors.parquet.sink import SEALED
from ameles.connectors.sink import Row
from ameles.connectors.sinks import open_sink

KINDS = ("csv", "jsonl", "parquet")
KEYS, STEPS = 64, 300  # a whole number of steps makes a file of Parquet
GOAL = 1.25


def rows_of(first: int, last: int) -> Iterator[Row]:
    """Releases of some steps."""
    for step in range(first, last + 1):
        day = f"2026-01-01T{step // 3600 % 24:02d}:{step // 60 % 60:02d}:{step % 60:02d}Z"
        for key in range(KEYS):
            value = (step * 7919 + key * 104729) % 100_003
            low, high = value - 11.5, value + 11.5
            yield "s", "n", f"k{key}", step, day, day, value, low, high, "", "BinaryCounter", 1


def measured(kind: str, rows: int) -> dict[str, float]:
    """One sink with so much history."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"stream": "s", "identity": "bench"}
        sink = open_sink(kind, f"out.{kind}", Path(folder), **given)
        before = rows // KEYS
        begun = time.perf_counter()
        sink.write(rows_of(1, before), before)
        wrote = time.perf_counter() - begun
        begun = time.perf_counter()
        sink = open_sink(kind, f"out.{kind}", Path(folder), **given)
        opened = time.perf_counter() - begun
        seconds, computing = time.perf_counter(), time.process_time()
        for step in range(before + 1, before + STEPS + 1):
            sink.write(rows_of(sink.first_needed(0), step), step)
        return {
            "a step": (time.perf_counter() - seconds) / STEPS,
            "computing": (time.process_time() - computing) / STEPS,
            "opening": opened,
            "history": wrote,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


def main() -> None:
    """Prints a table, and ends with 1 if a cost grows with history."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--one", nargs=2)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measured(asked.one[0], int(asked.one[1]))))
        return
    sizes = [SEALED]
    while sizes[-1] * 10 < asked.rows:
        sizes.append(sizes[-1] * 10)
    sizes.append(int(asked.rows) // SEALED * SEALED)
    grew = False
    print(f"{'sink':<8} {'history':>10} {'a step':>9} {'computing':>10} {'ratio':>6} {'memory':>9}")
    for kind in KINDS:
        shortest = 0.0
        for rows in sizes:
            command = [sys.executable, __file__, "--one", kind, str(rows)]
            figures = json.loads(subprocess.check_output(command))
            shortest = shortest or figures["computing"]
            ratio = figures["computing"] / shortest
            grew = grew or ratio > GOAL
            print(
                f"{kind:<8} {rows:>10,} {figures['a step'] * 1e3:>6.1f} ms "
                f"{figures['computing'] * 1e3:>7.1f} ms {ratio:>6.2f} "
                f"{figures['memory']:>5.0f} MiB",
                flush=True,
            )
    sys.exit(grew)


if __name__ == "__main__":
    main()
