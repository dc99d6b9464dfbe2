"""Killed at any moment: what was told as kept is there, and nothing is there by half."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from tests.store.places import Place
from tests.store.stores import launch, new_store
from tests.warm_processes import start

ROOT = Path(__file__).parents[2]
WRITE = """
import sys
import numpy as np
from ameles.store import open_store
from tests.store.stores import minutes
store = open_store(sys.argv[1])
with store.holding("flu"):
    while True:
        with store.writing() as transaction:
            stream = transaction.stream("flu")
            step = stream.released + 1
            transaction.add_steps(stream, minutes(step, step))
            value = np.full((1, 200), step)
            transaction.add_releases(stream, step, 1, value, value, value)
            transaction.set_position(stream, str(step))
            transaction.advance(stream, released=step)
        print(step, flush=True)
"""


def test_steps_are_whole_and_none_that_was_told_is_lost(place: Place) -> None:
    with new_store(place) as store, store.writing() as transaction:
        launch(transaction, keys=[str(key) for key in range(200)])
    for turn in range(4):
        with start("-c", WRITE, place.url, stdout=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.013 * turn)  # somewhere inside a later step
            process.kill()
            told = [int(line) for line in process.stdout if line.endswith("\n")]
        with new_store(place) as store, store.reading() as transaction:
            stream = transaction.stream("flu")
            assert stream is not None
            assert stream.released >= max(told, default=1)
            assert transaction.position(stream) == str(stream.released)
            values = [row[6] for row in transaction.release_rows(stream)]
            assert values == [step for step in range(1, stream.released + 1) for _ in range(200)]
    with new_store(place) as store:
        store.check()
