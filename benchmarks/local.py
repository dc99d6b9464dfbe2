"""The local model: counts of 10,000 categories from 1,000,000 users, in seconds.

Beside it the same encoding in plain numpy: floats from a seeded generator, which is neither exact
nor secure, and no intervals; and multi-freq-ldpy, if it is installed, on fewer users.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ameles.mechanisms.local import HadamardResponse, RandomizedResponse
from ameles.mechanisms.local.hadamard import walsh_hadamard
from ameles.noise import System

GOAL = 10.0  # seconds of processor time, for reports and estimates together
PEER_USERS = 20_000


def main() -> int:
    """Randomises and estimates, and says how long that took and how far the counts are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--categories", type=int, default=10_000)
    given = parser.parse_args()
    generator = np.random.default_rng(1)
    values = np.minimum(generator.zipf(1.3, given.users) - 1, given.categories - 1)
    truth = np.bincount(values, minlength=given.categories)
    size = {"categories": given.categories, "epsilon": 1}
    print(f"{given.users:,} users, {given.categories:,} categories, epsilon 1, goal {GOAL:.0f} s")
    spent = ours(HadamardResponse(**size), values, truth)
    ours(RandomizedResponse(**size), values, truth)
    timed("Hadamard response in plain numpy", lambda: plain(values, given.categories), truth)
    peer(values[:PEER_USERS], given.categories)
    return 0 if spent <= GOAL else 1


def ours(recipe: Any, values: Any, truth: Any) -> float:
    """Reports, estimates and intervals; the time of all."""
    start = time.process_time()
    reports = recipe.start(System.direct()).feed(values)
    between = time.process_time()
    estimate = recipe.estimate(reports)
    end = time.process_time()
    error = math.sqrt(float(np.mean((estimate.counts - truth) ** 2)))
    covered = float(np.mean((estimate.low <= truth) & (truth <= estimate.high)))
    print(
        f"{type(recipe).__name__}: reports {between - start:.2f} s, "
        f"estimates {end - between:.2f} s; "
        f"error {error:.0f}, deviation at most {recipe.error.std(len(values)):.0f}; "
        f"{covered:.1%} of the 95% intervals hold"
    )
    return end - start


def plain(values: Any, categories: int) -> Any:
    """The same encoding and estimate, with floats from a generator."""
    generator = np.random.default_rng(2)
    columns = 1 << categories.bit_length()
    chance = math.e / (math.e + 1)
    row = values + 1
    column = generator.integers(columns, size=len(values))
    agrees = np.bitwise_count(row & column) % 2 == 0
    wanted = generator.random(len(values)) < chance
    column ^= np.where(agrees != wanted, row & -row, 0)
    signs = walsh_hadamard(np.bincount(column, minlength=columns))[1 : categories + 1]
    return signs * (math.e + 1) / (math.e - 1)


def timed(name: str, work: Callable[[], Any], truth: Any) -> None:
    """A line about work that gives counts."""
    start = time.process_time()
    counts = work()
    spent = time.process_time() - start
    error = math.sqrt(float(np.mean((counts - truth) ** 2)))
    print(f"{name}: {spent:.2f} s; error {error:.0f}; no intervals")


def peer(values: Any, categories: int) -> None:
    """multi-freq-ldpy randomises one user a call."""
    try:
        protocols = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
    except ImportError:
        print("multi-freq-ldpy is not installed here, so it is not measured")
        return
    protocols.GRR_Client(0, categories, 1.0)  # compiled now, not while it is measured
    start = time.process_time()
    reports = [protocols.GRR_Client(int(value), categories, 1.0) for value in values]
    protocols.GRR_Aggregator_MI(reports, categories, 1.0)
    spent = time.process_time() - start
    print(f"multi-freq-ldpy, randomized response of {len(values):,} users: {spent:.2f} s")


if __name__ == "__main__":
    sys.exit(main())
