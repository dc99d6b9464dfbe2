"""Keys discovered over time beside a rebuild of the published DP-SQLP: keys, error, time, memory.

    ./run bench keys --steps 100          the synthetic stream of the paper, 59.7 million records
    ./run bench keys --steps 1000
    ./run bench keys --data repeats       users who come back to their keys; per_key 1 to 32
    ./run bench keys --data edits FILE    a day of edits, from a CSV file

Epsilon is 6, delta is 1e-9, users have at most 32 records.  The error is that of the last step
against the true number of records of every key: a key that was not found is published as 0, and a
negative value as 0.  All other parameters are the defaults of the recipe.  Contenders run one
after the other, each in a process of its own, on the same records; the peak of its memory is that
of the whole process.  Seconds are those of all steps, from records in a file to releases; beside
them is the processor time of all threads, which other programs on the machine change little.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.discovery import KeyDiscovery, UserBook
from ameles.noise import System, kernels
from key_streams import published
from key_streams.records import MOST_RECORDS, Stream, edits, repeats, zipf

EPSILON, DELTA = 6, 1e-9
LINE = "{:<34} {:>9} {:>7} {:>10} {:>9} {:>8} {:>8} {:>8}\n"
Found = tuple[NDArray[np.bool_], NDArray[np.int64]]


def discovered(stream: Stream, per_key: int, *, compiled: bool) -> Found:
    """Ours: which keys are public after the last step, and their values."""
    recipe = KeyDiscovery(
        epsilon=EPSILON,
        delta=str(DELTA),
        horizon=stream.steps,
        records=MOST_RECORDS,
        per_key=per_key,
    )
    if not compiled:
        kernels.available = lambda: False
    run, book = recipe.start(System(compiled=compiled)), UserBook(recipe)
    number_of = np.full(stream.keys, -1, dtype=np.int64)
    key_of: list[NDArray[np.int32]] = []
    for user, key in stream:
        fresh = np.unique(key[number_of[key] < 0])
        number_of[fresh] = run.numbers([str(one) for one in fresh.tolist()])
        key_of.append(fresh)
        out = run.step(book.bounded(run, user, number_of[key]))
    keys = np.concatenate(key_of)[out.public]
    found, values = np.zeros(stream.keys, dtype=bool), np.zeros(stream.keys, dtype=np.int64)
    found[keys], values[keys] = True, out.values[:, 0]
    return found, values


def contend(name: str, stream: Stream) -> Found:
    """The contender of this name."""
    kind, _, detail = name.partition(", ")
    if kind == "DP-SQLP":
        law = getattr(published, detail)(stream.steps, MOST_RECORDS, EPSILON, DELTA)
        found, values = published.run(stream, MOST_RECORDS, law)
        return found, np.rint(values).astype(np.int64)
    per_key = int(detail.split()[1].rstrip(","))
    return discovered(stream, per_key, compiled=not detail.endswith("numpy alone"))


def report(name: str, stream: Stream) -> None:
    """Runs one contender and prints its line."""
    start, busy = time.perf_counter(), time.process_time()
    found, values = contend(name, stream)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    error = np.abs(np.where(found, np.maximum(values, 0), 0) - stream.truth())
    cells = (
        f"{int(found.sum()):,}",
        f"{int(error.max()):,}",
        f"{error.sum() / 1e6:,.3f}M",
        f"{np.sqrt(np.square(error.astype(float)).sum()):,.0f}",
        f"{seconds:,.1f}",
        f"{busy:,.1f}",
        f"{peak:,.0f}",
    )
    sys.stdout.write(LINE.format(name, *cells))
    sys.stdout.flush()


def contenders(data: str) -> list[str]:
    """Who runs on this data."""
    caps = (1,) if data == "zipf" else (1, 4, 16, 32)
    ours = [f"KeyDiscovery, per_key {cap}" for cap in caps]
    return [*ours, "DP-SQLP, published", "DP-SQLP, generous"]


def made(options: argparse.Namespace, folder: Path) -> Stream:
    """The records, in files."""
    kind, *rest = options.data
    if kind == "edits":
        return edits(folder, options.steps, Path(rest[0]))
    sizes = {"users": options.users, "keys": options.keys}
    chosen = {name: size for name, size in sizes.items() if size is not None}
    return {"zipf": zipf, "repeats": repeats}[kind](folder, options.steps, **chosen)


def main() -> int:
    """Makes the records and lets the contenders run."""
    parser = argparse.ArgumentParser(description="Keys discovered over time, beside DP-SQLP.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--data", nargs="+", default=["zipf"], metavar=("KIND", "FILE"))
    parser.add_argument("--users", type=int, help="of generated records, instead of all")
    parser.add_argument("--keys", type=int, help="of generated records, instead of all")
    parser.add_argument("--only", nargs="*", metavar="CONTENDER")
    parser.add_argument("--stream", help=argparse.SUPPRESS)  # in the process of a contender
    options = parser.parse_args()
    if options.stream:
        given = json.loads(options.stream)
        folder, ends = (
            Path(given.pop("folder")),
            tuple(json.loads((Path(given.pop("ends"))).read_text())),
        )
        report(options.only[0], Stream(folder=folder, ends=ends, **given))
        return 0
    if options.data[0] not in ("zipf", "repeats", "edits") or (options.data[0] == "edits") != (
        len(options.data) == 2
    ):
        parser.error("--data is zipf, repeats, or edits with the path of a file")
    with tempfile.TemporaryDirectory() as name:
        start = time.perf_counter()
        stream = made(options, Path(name))
        print(
            f"{stream.records:,} records of {stream.users:,} users on {stream.keys:,} keys in "
            f"{stream.steps:,} steps, made in {time.perf_counter() - start:.1f} s; "
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        )
        sys.stdout.write(
            LINE.format("", "keys", "l_inf", "l1", "l2", "seconds", "cpu s", "peak MB")
        )
        sys.stdout.flush()
        ends = Path(name) / "ends"
        ends.write_text(json.dumps(stream.ends))
        given = json.dumps(
            {"folder": name, "users": stream.users, "keys": stream.keys, "ends": str(ends)}
        )
        for one in options.only or contenders(options.data[0]):
            command = [sys.executable, __file__, "--stream", given, "--only", one]
            subprocess.run(command, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
