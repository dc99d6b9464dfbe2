"""Occurrences per second of the statistics of users, beside a plain scatter of the same indices.

Each recipe folds the same arrays of users into a table of ten million; the peer is what any
table must do at least: numpy's ``table[users] = bits``, without privacy.  All in one process,
one after the other, best of several rounds, so that the ratios mean something on any machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ameles.mechanisms.pan_private.cropped_mean import CroppedMean
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.low_memory import BucketDensity, SampledDensity
from ameles.mechanisms.pan_private.modular import ModularIncidence
from ameles.mechanisms.pan_private.user_table import UserRecipe
from ameles.noise import System

USERS = 10_000_000
OCCURRENCES = 1_000_000
ROUNDS = 5


def rate(work: Callable[[], object]) -> float:
    """Occurrences per second, in the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return OCCURRENCES / best


def main() -> None:
    """Prints one line a recipe."""
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
