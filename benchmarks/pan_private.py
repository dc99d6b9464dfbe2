"""Occurrences per second of the statistics of users, beside a plain scatter of the same indices.

Each recipe folds the same arrays of users into a table of ten million; the peer is what any
table must do at least: numpy's ``table[users] = bits``, without privacy.  All in one process,
one after the other, best of several rounds, so that the ratios mean something on any machine.

Then the counters that may be seized once: what they measure as their deviation, over all steps and
many counters, beside that of figure 12.2 in the same run, and steps per second of one counter.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.cropped_mean import CroppedMean
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.low_memory import BucketDensity, SampledDensity
from ameles.mechanisms.pan_private.modular import ModularIncidence
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.pan_private.user_table import UserRecipe
from ameles.noise import System

USERS = 10_000_000
OCCURRENCES = 1_000_000
ROUNDS = 5
# Deviations are measured with so many steps of so many counters; speed, with one long stream.
STEPS, COUNTERS, LONG = 1024, 4000, 1 << 16


def rate(work: Callable[[], object]) -> float:
    """Occurrences per second, in the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return OCCURRENCES / best


def counters() -> None:
    """Prints one line a counter: the measured deviation, over that of figure 12.2, and speed."""
    noise = System.direct()
    figure = 1.0
    for kind in (PanPrivateCounter, PanPrivateTreeCounter, PanPrivatePlaceCounter):
        wide = kind(epsilon=1, horizon=STEPS, width=COUNTERS)
        released = wide.start(noise).feed(np.zeros((STEPS, COUNTERS), dtype=np.int64))
        deviation = float(np.sqrt((released.astype(np.float64) ** 2).mean()))
        figure = deviation if kind is PanPrivateCounter else figure
        one = kind(epsilon=1, horizon=LONG)
        one.start(noise).feed([0] * LONG)  # scales are prepared once
        begin = time.process_time()
        one.start(noise).feed([0] * LONG)
        speed = LONG / (time.process_time() - begin)
        print(
            f"{kind.__name__:40} deviation {deviation:6.2f}    ratio {deviation / figure:5.3f}"
            f"    {speed / 1e6:6.2f} M steps/s"
        )


def main() -> None:
    """Prints one line a recipe."""
    counters()
    users = np.random.default_rng(1).integers(0, USERS, OCCURRENCES)
    table, bits = np.zeros(USERS, dtype=np.uint8), np.ones(OCCURRENCES, dtype=np.uint8)

    def scatter() -> None:
        table[users] = bits

    shared: dict[str, Any] = {"users": USERS, "epsilon_state": "1/2", "epsilon_output": "1/2"}
    recipes: list[UserRecipe[Any]] = [
        Density(neighbours="user-presence", **shared),
        Density(neighbours="user-substitution", **shared),
        CroppedMean(neighbours="user-presence", crop=5, **shared),
        ModularIncidence(neighbours="user-presence", modulus=5, **shared),
        SampledDensity(neighbours="user-presence", sample=100_000, **shared),
        BucketDensity(neighbours="user-presence", buckets=1_000_000, **shared),
    ]
    plain = rate(scatter)
    print(f"{'plain scatter':40} {plain / 1e6:8.1f} M/s    ratio 1.000")
    for recipe in recipes:
        begin = time.perf_counter()
        run = recipe.start(System.direct())
        started = time.perf_counter() - begin
        speed = rate(partial(run.add, users))
        name = f"{type(recipe).__name__}, {recipe.relation.value}"
        print(
            f"{name:40} {speed / 1e6:8.1f} M/s    ratio {speed / plain:5.3f}"
            f"    started in {started:.2f} s"
        )


if __name__ == "__main__":
    main()
