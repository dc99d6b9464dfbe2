"""How far distinct users in a table that may be seized are from the truth: rms error, coverage.

    python benchmarks/seized_users.py

Visitors come for the first time at a steady pace over the stream and come back at every later step
with probability 1/10.  Each line is the plan's own mechanism, run with the operating system's noise
through the measure's own publication; users are hashed into the table at random.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.engine.running.launch import bought
from ameles.measures.seized_distinct import counted, seized_recipe
from ameles.measures.table_choice import reach
from ameles.mechanisms.continual.transformation import CODE, Halted
from ameles.noise import System

USERS, EPSILON = 10_000, Fraction(1)
NONE, DELTA = Fraction(0), Fraction(1, 10**6)


@dataclass
class Told:
    """What one setting gave."""

    mechanism: str
    half_width: float
    last: float
    steps: float
    covered: float
    halted: int


def measured(cells: int, steps: int, loss: tuple[Fraction, Fraction], runs: int) -> Told:
    """Some streams with one setting; ``loss`` is epsilon and delta."""
    epsilon, delta = loss
    recipe = seized_recipe(
        cells=cells, epsilon=epsilon, delta=delta, steps=steps, horizon=steps, windows=False
    )
    rng = np.random.default_rng(1)
    errors, inside, halts = [], [], 0
    for _ in range(runs):
        cell = rng.integers(0, cells, USERS)
        first = np.sort(rng.integers(1, steps + 1, USERS))
        run = bought(recipe).start(System.direct())
        outputs, truth = [], []
        for step in range(1, steps + 1):
            here = int(np.searchsorted(first, step, side="right"))
            back = rng.random(here) < 0.1
            back[first[:here] == step] = True
            run.add(cell[:here][back])
            given = run.release()
            halts += isinstance(given, Halted)
            outputs.append(CODE if isinstance(given, Halted) else given)
            truth.append(here)
        told = counted(recipe, np.array(outputs)[:, None], 1)
        errors.append(np.asarray(told.value)[:, 0] - truth)
        inside.append(
            (np.asarray(told.low)[:, 0] <= truth) & (truth <= np.asarray(told.high)[:, 0])
        )
    off = np.array(errors, dtype=float)
    return Told(
        mechanism=type(recipe).__name__,
        half_width=reach(recipe, steps),
        last=float(np.sqrt(np.mean(off[:, -1] ** 2))),
        steps=float(np.sqrt(np.mean(off**2))),
        covered=float(np.mean(inside)),
        halted=halts,
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    runs = parser.parse_args().runs
    print(
        f"{USERS:,} visitors; {runs} streams for 30 steps and fewer, {max(1, runs // 10)} for more"
    )
    print("epsilon  delta    table  steps  mechanism", end="  ")
    print("half-width  rms, last  rms, all  covered  halted")
    pure, approx, large = (EPSILON, NONE), (EPSILON, DELTA), (Fraction(4), NONE)
    for loss, cells, steps in (
        *((pure, cells, steps) for cells in (100_000, 20_000) for steps in (1, 6, 30, 1440)),
        *((approx, cells, steps) for cells in (100_000, 20_000) for steps in (30, 1440)),
        *((large, cells, steps) for cells in (100_000, 20_000) for steps in (30, 1440)),
    ):
        told = measured(cells, steps, loss, runs if steps <= 30 else max(1, runs // 10))
        print(
            f"{float(loss[0]):7g}  {float(loss[1]):5g}  {cells:7,}  {steps:5}  {told.mechanism:9}  "
            f"{told.half_width:10,.0f}  {told.last:9,.0f}  {told.steps:8,.0f}  "
            f"{told.covered:7.1%}  {told.halted:6}",
            flush=True,
        )


if __name__ == "__main__":
    main()
