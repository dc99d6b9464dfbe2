"""The stated laws of pan-private counters against the noise of their real code."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.pan_private.counter import PanPrivateCounter, PanPrivateRun
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.noise import System, Tape

T = 40
RECIPES: list[CounterRecipe] = [
    PanPrivateCounter(epsilon=1, horizon=T),
    PanPrivateCounter(epsilon=1, horizon=T, intrusions="announced"),
    PanPrivateCounter(epsilon=1),
    PanPrivateTreeCounter(epsilon=1, horizon=T, arity=2),
    PanPrivateTreeCounter(epsilon=1, horizon=T, arity=3),
    PanPrivateTreeCounter(epsilon=1, horizon=T),
]
EACH = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: repr(recipe)[:90])


def law_of(recipe: CounterRecipe) -> LaplaceError:
    assert isinstance(recipe.error, LaplaceError)
    return recipe.error


def noise_rows(recipe: CounterRecipe) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each draw adds to each release, and the draws' variances."""
    still = np.zeros(T, dtype=np.int64)
    tape = Tape()
    recipe.start(tape).feed(still)
    columns = [recipe.start(Tape.impulse(i)).feed(still) for i in range(len(tape.draws))]
    scales = [draw.scale for draw in tape.draws if isinstance(draw.scale, Fraction)]
    variances = [0.5 / math.sinh(1 / (2 * float(scale))) ** 2 for scale in scales]
    return np.array(columns, dtype=np.float64).T, np.array(variances)


@EACH
def test_the_law_of_every_step_and_interval_is_that_of_the_code(recipe: CounterRecipe) -> None:
    rows, variances = noise_rows(recipe)
    rows = np.vstack([np.zeros(rows.shape[1]), rows])
    for before in range(T):
        for t in range(before + 1, T + 1):
            std = math.sqrt((rows[t] - rows[before]) ** 2 @ variances)
            assert law_of(recipe).between(before, t).std == pytest.approx(std)
    for t in range(1, T + 1):
        assert recipe.error.std(t) == pytest.approx(math.sqrt(rows[t] ** 2 @ variances))


@EACH
def test_the_worst_law_is_the_worst(recipe: CounterRecipe) -> None:
    error = law_of(recipe)
    for steps in (1, 5, 13, T):
        worst = error.worst_law(steps)
        assert worst.std == pytest.approx(max(error.std(t) for t in range(1, steps + 1)))
        assert worst.quantile(0.01) >= max(error.bound(t, 0.01) for t in range(1, steps + 1))


def test_the_known_answers_of_figure_12_2() -> None:
    # catalogue 9, with continuous noise: 102.1, and 235.6 by a union bound; ours follows the tree
    error = PanPrivateCounter(epsilon=1, horizon=1024).error
    assert error.bound(7, 0.05) == 102
    assert error.bound_all(1024, 0.05) == 222
    assert error.worst_law(1024).quantile(0.05 / 1024) == 236
    assert laplace_sum.continuous_tail(11, 102.1 / 11) == pytest.approx(0.05, rel=0.01)
    assert laplace_sum.continuous_tail(11, 235.6 / 11) == pytest.approx(0.05 / 1024, rel=0.01)


@pytest.mark.parametrize(("power", "frontier"), [(10, 51.6), (16, 99.1), (20, 136.1)])
def test_the_frontier_has_these_deviations(power: int, frontier: float) -> None:
    error = PanPrivateCounter(epsilon=1, horizon=2**power).error
    assert error.std(1) == error.std(2**power) == pytest.approx(frontier, rel=0.001)


def test_the_largest_error_of_256_steps() -> None:
    # catalogue 9: 95% of streams stay within about 150, the union bound says 159.7.
    # 4,000 streams; the count beyond a true 95% quantile is 200 with deviation 14
    recipe = PanPrivateCounter(epsilon=1, horizon=256, width=4000)
    released = recipe.start(System.direct()).feed(np.zeros((256, 4000), dtype=np.int64))
    largest = np.abs(released).max(axis=0)
    assert recipe.error.bound_all(256, 0.05) == 150
    assert int((largest > 159).sum()) < 200
    assert float(np.quantile(largest, 0.95)) == pytest.approx(150, abs=6)


def test_epochs_have_the_variance_of_the_formula() -> None:
    # 2 [sum of (1 + i)^2 over the epochs so far + e (1 + e)^2], here from e = 2 on
    error = PanPrivateCounter(epsilon="1/1000").error
    for t, depth in [(1, 2), (4, 2), (5, 3), (12, 3), (13, 4), (28, 4), (29, 5)]:
        counters = sum((1 + i) ** 2 for i in range(2, depth + 1))
        assert error.std(t) == pytest.approx(
            1000 * math.sqrt(2 * (counters + depth * (1 + depth) ** 2))
        )


def test_each_announcement_adds_one_noise() -> None:
    recipe = PanPrivateCounter(epsilon=1, horizon=8, intrusions="announced")
    terms = [recipe.error_after(j).law(5).parts[0].count for j in range(4)]
    assert terms == [4, 5, 6, 7]
    # measured: 20,000 counters; false alarm below 1e-6 at 5 standard errors of 0.8%
    wide = PanPrivateCounter(epsilon=1, horizon=8, intrusions="announced", width=20_000)
    run = wide.start(System.direct())
    assert isinstance(run, PanPrivateRun)
    for _ in range(3):
        run.feed(np.zeros((1, 20_000), dtype=np.int64))
        run.announce()
    released = run.step(np.zeros(20_000, dtype=np.int64))
    assert float(released.std()) == pytest.approx(recipe.error_after(3).std(4), rel=0.04)


def test_announcements_without_a_horizon_are_bounded() -> None:
    recipe = PanPrivateCounter(epsilon=1, intrusions="announced")
    run_noise = Tape()
    run = recipe.start(run_noise)
    assert isinstance(run, PanPrivateRun)
    for t in range(1, 31):
        run.step(0)
        if t in (3, 10, 11):
            run.announce()
    scales = [draw.scale for draw in run_noise.draws if isinstance(draw.scale, Fraction)]
    assert max(scales) <= recipe.scale_of(recipe.depth(recipe.error.place(30)[0]))
    bound = recipe.error_after(3)
    assert bound.between(5, 20).std >= recipe.error.between(5, 20).std
    assert bound.std(30) > recipe.error.std(30)
