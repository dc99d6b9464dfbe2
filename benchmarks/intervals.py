"""Stated intervals beside the truth: bounds of counters over their simulated 95% quantiles.

One table: the recipe, T, what its error states, the truth in so many runs, and their ratio.
``all`` is the largest error of all steps, ``last`` that of the last step.  A ratio is known to
about 2%, or to one count, at 4,000 runs.  Tables of users follow, whose errors are fractions.  The
goals leave out what one count, or three standard errors of the truth, can explain.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import ameles
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.pan_private.cropped_mean import CroppedMean
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.heavy_hitters import HeavyHitters
from ameles.mechanisms.pan_private.modular import ResidueFraction
from ameles.noise import System
from ameles.noise.arrays import IntArray

Floats: TypeAlias = NDArray[np.float64]
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


def tables(users: int) -> dict[str, tuple[Any, float, IntArray]]:
    """Tables of users: the recipe, the true value, and who occurs."""
    given: dict[str, Any] = {
        "users": users,
        "neighbours": "user-presence",
        "epsilon_state": 1,
        "epsilon_output": 1,
    }
    few = np.arange(users // 20)
    return {
        "Density": (Density(**given), len(few) / users, few),
        "CroppedMean, 3": (CroppedMean(**given, crop=3), len(few) / users, few),
        "HeavyHitters, 2": (HeavyHitters(**given, at_least=2), 0.0, few),
        "ResidueFraction, 4": (
            ResidueFraction(**given, modulus=4, residues=(1, 2, 3)),
            len(few) / users,
            few,
        ),
    }


def table_errors(recipe: Any, true: float, occurring: IntArray, runs: int) -> Floats:
    """The error of each of so many releases."""
    found = []
    for _ in range(runs):
        run = recipe.start(System.direct())
        run.add(occurring)
        found.append(abs(run.release().value - true))
    return np.array(found)


def told(goals: dict[str, tuple[float, float]]) -> None:
    """The worst ratio of each kind beside its goal."""
    for what, (worst, most) in goals.items():
        verdict = "reached" if worst <= most else "not reached"
        sys.stdout.write(f"goal: {what}: at most {most:g}: {worst:.3f}: {verdict}\n")


def main() -> int:
    """Prints the table, line by line."""
    parser = argparse.ArgumentParser(description="Stated intervals beside the truth.")
    parser.add_argument("--steps", type=int, nargs="*", default=[64, 1 << 10, 1 << 13])
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--users", type=int, default=2000)
    options = parser.parse_args()
    sys.stdout.write(LINE.format("recipe", "T", "", "stated", "true", "ratio", "runs"))
    worst = {"all": 0.0, "last": 0.0}
    noise = 1 - 3 / np.sqrt(options.runs)  # three standard errors of a 95% quantile, about
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
                if stated[kind] > true + 1:
                    worst[kind] = max(worst[kind], (stated[kind] - 1) * noise / true)
    wide = 0.0
    for name, (table, value, who) in tables(options.users).items():
        seen = table_errors(table, value, who, options.runs // 4)
        stated_bound = table.error.bound(1, BETA)
        true = float(np.quantile(seen, 1 - BETA, method="inverted_cdf"))
        cells = (f"{stated_bound:.5f}", f"{true:.5f}", f"{stated_bound / true:.3f}", len(seen))
        sys.stdout.write(LINE.format(name, options.users, "table", *cells))
        wide = max(wide, stated_bound * (1 - 3 / np.sqrt(len(seen))) / true)
    told(
        {
            "bounds of one step, x truth": (worst["last"], 1.03),
            "bounds of all steps, x truth": (worst["all"], 1.10),
            "bounds of tables of users, x truth": (wide, 1.03),
        }
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
