"""The store in Postgres: 1.44 million releases in one transaction, beside a bare COPY of them.

A server of its own is started, with ``fsync`` on, so its programs must be installed.  Both sides
write the same rows into tables with the same key, in turns, and wait for their commit.  The store
adds what it promises: steps and series must be declared, nothing is written twice, and triggers
keep what was written.

``--arrays`` compares what it costs the client to hand over many keys: our arrays and psycopg's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from ameles.store import Store, StreamRecord, open_store
from ameles.store.columns import Columns
from ameles.store.postgres.address import address_of
from ameles.store.postgres.binary_arrays import array
from ameles.store.postgres.connection import connect
from ameles.store.postgres.session import copy_rows

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.postgres import Server, serving
from tests.store.stores import launch

STEPS, KEYS, GOAL = 1440, 1000, 2.0
ASKED = 200_000
TABLE = (
    "CREATE TABLE bare (stream BIGINT NOT NULL, step BIGINT NOT NULL, series BIGINT NOT NULL, "
    "value BIGINT, value_real DOUBLE PRECISION, low BIGINT, low_real DOUBLE PRECISION, "
    "high BIGINT, high_real DOUBLE PRECISION, label TEXT NOT NULL, "
    "PRIMARY KEY (stream, step, series))"
)
COPY = "COPY bare (stream, step, series, value, low, high, label) FROM STDIN (FORMAT BINARY)"


@contextmanager
def launched(server: Server, steps: int, keys: int) -> Iterator[tuple[Store, StreamRecord]]:
    """A new store with a stream whose steps and series are declared."""
    with open_store(server.url(schema=f"s{server.number()}")) as store:
        with store.writing() as transaction:
            stream = launch(transaction, keys=[str(key) for key in range(keys)])
            transaction.add_steps(stream, [(n, n, n + 1) for n in range(1, steps + 1)])
        yield store, stream


def stored(server: Server, value: Any, low: Any, high: Any) -> float:
    """Seconds of the store."""
    with launched(server, *value.shape) as (store, stream):
        since = time.perf_counter()
        with store.writing() as transaction:
            transaction.add_releases(stream, 1, 1, value, low, high)
        return time.perf_counter() - since


def bare(server: Server, value: Any, low: Any, high: Any) -> float:
    """Seconds of one COPY and its commit."""
    steps, keys = value.shape
    columns: Columns = {
        "stream": 1,
        "step": np.repeat(np.arange(steps) + 1, keys),
        "series": np.tile(np.arange(keys) + 1, steps),
        "value": value.ravel(),
        "low": low.ravel(),
        "high": high.ravel(),
        "label": "",
    }
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("SET synchronous_commit = on")
        connection.execute("DROP TABLE IF EXISTS bare")
        connection.execute(TABLE)
        since = time.perf_counter()
        with connection.cursor().copy(COPY) as copy:
            copy_rows(copy, columns)
        return time.perf_counter() - since


def arrays(server: Server, rounds: int) -> None:
    """Processor seconds of the client for questions about many keys, both ways."""
    numbers, hashes = np.arange(ASKED), [os.urandom(16) for _ in range(ASKED)]
    given: dict[str, tuple[Any, Any]] = {
        "integers": (lambda: array(numbers), numbers.tolist),
        "hashes": (lambda: array(hashes), lambda: hashes),
    }
    connection = connect(address_of(server.url()), 30.0).connection
    for name, sides in given.items():
        times: list[list[float]] = [[], []]
        for _ in range(rounds):
            for taken, side in zip(times, sides, strict=True):
                since = time.process_time()
                connection.execute("SELECT count(*) FROM unnest(%b)", [side()])
                taken.append(time.process_time() - since)
        ours, theirs = map(statistics.median, times)
        print(
            f"{name:<10} {ours:.3f} s, psycopg's {theirs:.3f} s for {ASKED:,}: {ours / theirs:.2f}"
        )
    connection.close()


def main() -> None:
    """Rounds of both, their medians and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--arrays", action="store_true")
    asked = parser.parse_args()
    rounds, steps = asked.rounds, asked.steps
    if asked.arrays:
        with serving() as server:
            arrays(server, rounds)
        return
    value = np.arange(steps * KEYS, dtype=np.int64).reshape(steps, KEYS)
    tables = value, value - 50, value + 50
    times: dict[str, list[float]] = {"store": [], "bare COPY": []}
    with serving() as server:
        for _ in range(rounds):
            times["store"].append(stored(server, *tables))
            times["bare COPY"].append(bare(server, *tables))
    for name, taken in times.items():
        each = ", ".join(f"{seconds:.2f}" for seconds in taken)
        print(f"{name:<10} {statistics.median(taken):.2f} s for {value.size:,} rows ({each})")
    ratios = [a / b for a, b in zip(*times.values(), strict=True)]
    print(
        f"ratio      {statistics.median(ratios):.2f} (goal {GOAL}; each {min(ratios):.2f} to "
        f"{max(ratios):.2f})"
    )


if __name__ == "__main__":
    main()
