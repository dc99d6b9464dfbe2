"""Stated intervals beside the truth: bounds of counters over their simulated 95% quantiles.

One table: the recipe, T, what its error states, the truth in so many runs, and their ratio.
``all`` is the largest error of all steps, ``last`` that of the last step.  A ratio is known to
about 2%, or to one count, at 4,000 runs.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import numpy as np

import ameles
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.noise import System
from ameles.noise.arrays import IntArray

BETA = 0.05
CELLS = 1 << 21
LINE = "{:<32} {:>9} {:<5} {:>9} {:>9} {:>7} {:>7}\n"
INSIDE = {
    "hybrid of Elders": {"inside": "EldersCounter", "growth": 16, "first": 16, "share": "4/25"},
    "hybrid of Siblings": {"inside": "SiblingsCounter", "growth": 32, "first": 32, "share": "4/25"},
}


def recipes(steps: int) -> dict[str, CounterRecipe]:
    """What is measured at a horizon."""
    kinds = (
        ameles.BinaryCounter,
        ameles.EldersCounter,
        ameles.HonakerCounter,
        ameles.SiblingsCounter,
        ameles.HatsCounter,
    )
    found: dict[str, CounterRecipe] = {
        kind.__name__: kind(epsilon=1, horizon=steps) for kind in kinds
    }
    found["SiblingsCounter, epsilon 10"] = ameles.SiblingsCounter(epsilon=10, horizon=steps)
    found["hybrid of Binary"] = ameles.HybridCounter(epsilon=1)
    for name, given in INSIDE.items():
        found[name] = ameles.HybridCounter(epsilon=1, **given)
    found["GaussianStepsCounter, rho 1/2"] = ameles.GaussianStepsCounter(rho="1/2", horizon=steps)
    found["GaussianStepsCounter, rho 5"] = ameles.GaussianStepsCounter(rho=5, horizon=steps)
    return found


def errors(recipe: CounterRecipe, steps: int, runs: int) -> tuple[IntArray, IntArray]:
    """The largest error of each run, and its last."""
    run = replace(recipe, width=runs).start(System())
    largest = np.zeros(runs, dtype=np.int64)
    last, left = largest, steps
    while left:
        count = min(left, max(1, CELLS // runs))
        released = np.abs(run.feed(np.zeros((count, runs), dtype=np.int64)))
        np.maximum(largest, released.max(axis=0), out=largest)
        last, left = released[-1].copy(), left - count
    return largest, last


def main() -> int:
    """Prints the table, line by line."""
    parser = argparse.ArgumentParser(description="Stated intervals beside the truth.")
    parser.add_argument("--steps", type=int, nargs="*", default=[64, 1 << 10, 1 << 13])
    parser.add_argument("--runs", type=int, default=4000)
    options = parser.parse_args()
    sys.stdout.write(LINE.format("recipe", "T", "", "stated", "true", "ratio", "runs"))
    for steps in options.steps:
        for name, recipe in recipes(steps).items():
            largest, last = errors(recipe, steps, options.runs)
            error = recipe.error
            stated = {"all": error.bound_all(steps, BETA), "last": error.bound(steps, BETA)}
            for kind, seen in (("all", largest), ("last", last)):
                true = float(np.quantile(seen, 1 - BETA, method="inverted_cdf"))
                ratio = f"{stated[kind] / true:.3f}" if true else "-"
                cells = (f"{stated[kind]:g}", f"{true:g}", ratio, options.runs)
                sys.stdout.write(LINE.format(name, steps, kind, *cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
