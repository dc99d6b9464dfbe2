"""Private multiplicative weights: 10,000 boolean queries over 2^16 elements, in under a minute."""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from ameles.mechanisms.interactive import multiplicative_weights
from ameles.noise import System

GOAL = 60.0  # seconds of processor time
ROWS = 10_000_000


def main() -> int:
    """Asks the queries, and says how long that took and how far the answers are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--universe", type=int, default=1 << 16)
    parser.add_argument("--queries", type=int, default=10_000)
    given = parser.parse_args()
    recipe = multiplicative_weights(
        epsilon=1, universe=given.universe, rows=ROWS, horizon=given.queries
    )
    # a table far from uniform: counts fall like a power of the element's number
    shares = (1 + np.arange(given.universe)) ** -1.1
    table = np.floor(ROWS * shares / shares.sum()).astype(np.int64)
    table[0] += ROWS - table.sum()
    places = np.arange(given.universe)
    run = recipe.start(System())
    spent, worst = 0.0, 0
    replies: dict[str, int] = {}
    for number in range(given.queries):
        mask = (places * (2 * number + 1) >> 3) % (2 + number % 7) == 0
        truth = int(table[mask].sum())
        start = time.process_time()
        reply = run.step((mask, truth))
        spent += time.process_time() - start
        replies[str(reply.said.value)] = replies.get(str(reply.said.value), 0) + 1
        if reply.answer is not None:
            worst = max(worst, abs(reply.answer - truth))
    bound = recipe.error.bound_all(given.queries, 0.05)
    print(f"{given.queries} queries, {given.universe} elements: {spent:.2f} s, goal {GOAL:.0f} s")
    print(f"replies: {replies}; largest error {worst} of {ROWS} rows, bound {bound:.0f}")
    return 0 if spent <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
