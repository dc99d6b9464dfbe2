"""The stated laws of trees against the noise of their real code, with and without a horizon."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.mechanisms.counters.choose import objective_of
from ameles.mechanisms.counters.deviations import points
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.tree_counter import ENDLESS_ARITY, PanPrivateTreeCounter
from ameles.mechanisms.pan_private.tree_run import PanPrivateTreeRun
from ameles.noise import System, Tape

T = 40


@cache  # many tests compare with the rows of the same recipe that is told nothing
def noise_rows(
    recipe: PanPrivateTreeCounter, told: tuple[int, ...] = ()
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each draw adds to each release, 0 before the first, and the draws' variances.

    The run is told of an intrusion after each of the steps in ``told``.
    """

    def released(tape: Tape, width: int | None = None) -> NDArray[np.int64]:
        run = replace(recipe, width=width).start(tape)
        assert isinstance(run, PanPrivateTreeRun)
        nothing = 0 if width is None else np.zeros(width, dtype=np.int64)
        outputs = [nothing]
        for t in range(T):
            if t in told:
                run.announce()
            outputs.append(run.step(nothing))
        return np.array(outputs)

    tape = Tape()
    released(tape)
    scales = [draw.scale for draw in tape.draws if isinstance(draw.scale, Fraction)]
    # one key for each impulse; some are read again, from a counter of their own
    impulses = np.eye(len(scales), dtype=np.int64)
    rows = released(Tape(impulses.ravel().tolist()), len(scales))
    for i in range(0, len(scales), 13):
        assert released(Tape.impulse(i)).tolist() == rows[:, i].tolist()
    variances = [0.5 / math.sinh(1 / (2 * float(scale))) ** 2 for scale in scales]
    return rows.astype(np.float64), np.array(variances)


@pytest.mark.parametrize("arity", [2, 3, 16])
def test_the_law_of_every_step_and_interval_is_that_of_the_code(arity: int) -> None:
    error = PanPrivateTreeCounter(epsilon=1, arity=arity).error
    rows, variances = noise_rows(PanPrivateTreeCounter(epsilon=1, arity=arity))
    for before in range(T):
        for t in range(before + 1, T + 1):
            std = math.sqrt((rows[t] - rows[before]) ** 2 @ variances)
            assert error.between(before, t).std == pytest.approx(std)
    for t in range(1, T + 1):
        assert error.std(t) == pytest.approx(math.sqrt(rows[t] ** 2 @ variances))


@pytest.mark.parametrize("arity", [2, 3, 7, 16])
def test_no_step_is_worse_than_the_worst_law(arity: int) -> None:
    error = PanPrivateTreeCounter(epsilon=1, arity=arity).error
    for steps in (1, 3, 4, 10, 17, 28, 300):
        worst = error.worst_law(steps)
        largest = max(error.std(t) for t in range(1, steps + 1))
        # shortly after a tree has begun, its scale also stands for that of the one before
        assert largest <= worst.std * (1 + 1e-12) <= 2 * largest
        assert worst.quantile(0.01) >= max(error.bound(t, 0.01) for t in range(1, steps + 1, 7))


@pytest.mark.parametrize("horizon", [T, None])
@pytest.mark.parametrize("told", [(0,), (5,), (0, 1, 17), (3, 3 + 8, 29)])
def test_an_announcement_adds_one_noise_to_a_count(
    horizon: int | None, told: tuple[int, ...]
) -> None:
    recipe = PanPrivateTreeCounter(epsilon=1, horizon=horizon, arity=3, intrusions="announced")
    still, _ = noise_rows(recipe)
    rows, variances = noise_rows(recipe, told)
    error = recipe.error_after(len(told))
    for t in range(1, T + 1):
        past = sum(step < t for step in told)
        assert np.abs(rows[t]).sum() == np.abs(still[t]).sum() + past
        deviation = math.sqrt(rows[t] ** 2 @ variances)
        assert deviation <= error.std(t) * (1 + 1e-12)
        if horizon and past == len(told):
            assert deviation == pytest.approx(error.std(t))
    for before in range(1, T, 5):
        for t in range(before + 1, T + 1, 3):
            deviation = math.sqrt((rows[t] - rows[before]) ** 2 @ variances)
            assert deviation <= error.between(before, t).std * (1 + 1e-12)


def test_the_measured_deviation_without_a_horizon() -> None:
    # 20,000 counters, 100 steps; the deviation of a mean square is below 1.1% of it at each step,
    # and 5 of those are below 6%: false alarm below 1e-4 for all steps together
    recipe = PanPrivateTreeCounter(epsilon=1, arity=4, width=20_000)
    released = recipe.start(System.direct()).feed(np.zeros((100, 20_000), dtype=np.int64))
    measured = (released.astype(np.float64) ** 2).mean(axis=1)
    stated = [recipe.error.std(t) ** 2 for t in range(1, 101)]
    assert measured == pytest.approx(stated, rel=0.06)


@pytest.mark.parametrize("power", [16, 20])
def test_no_arity_is_better_without_a_horizon(power: int) -> None:
    at = points(2**power)
    means = {
        arity: objective_of(PanPrivateTreeCounter(epsilon=1, arity=arity), at, "mean")
        for arity in (2, 3, 8, 10, 12, 14, 15, 16, 17, 18, 20, 32, 64)
    }
    assert min(means, key=lambda arity: means[arity]) == ENDLESS_ARITY


@pytest.mark.parametrize(("power", "mean"), [(10, 26.77), (16, 51.0), (20, 72.7)])
def test_half_the_error_of_the_counter_without_a_horizon(power: int, mean: float) -> None:
    at = points(2**power)
    error = objective_of(PanPrivateTreeCounter(epsilon=1), at, "mean")
    assert error == pytest.approx(mean, rel=0.005)
    assert error <= 0.61 * objective_of(PanPrivateCounter(epsilon=1), at, "mean")
