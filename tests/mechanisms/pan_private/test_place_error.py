"""The error of the pan-private counter with shares by place: its law, bounds and size."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.mechanisms.counters.deviations import worst_of
from ameles.mechanisms.laplace.mixture import LaplaceMixture
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.place_error import PlaceError
from ameles.mechanisms.pan_private.place_law import Spectrum, laws_of, size_of, variance_of
from ameles.mechanisms.pan_private.place_run import PanPrivatePlaceRun
from ameles.mechanisms.pan_private.place_search import best_rungs, best_shape, total_variance
from ameles.mechanisms.pan_private.place_shape import PlaceShape
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.noise import System, Tape
from tests.each import together
from tests.mechanisms.pan_private.places import LAWS, place
from tests.mechanisms.pan_private.test_tree_counter import mean_std as tree_std


def noise_rows(
    recipe: PanPrivatePlaceCounter, told: tuple[int, ...] = ()
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each draw adds to each count, from 0 steps on, and the draws' variances."""

    def counts(tape: Tape) -> list[int]:
        run = recipe.start(tape)
        assert isinstance(run, PanPrivatePlaceRun)
        released = [0]
        for t in range(recipe.horizon):
            if t in told:
                run.announce()
            released.append(run.step(0))
        return released

    tape = Tape()
    counts(tape)
    unit = recipe.resolution
    columns = [counts(Tape([0] * i + [unit])) for i in range(len(tape.draws))]
    scales = [draw.scale for draw in tape.draws if isinstance(draw.scale, Fraction)]
    variances = [0.5 / math.sinh(1 / (2 * float(scale))) ** 2 for scale in scales]
    return np.array(columns, dtype=np.float64).T / unit, np.array(variances)


@together("given", LAWS)
def test_the_law_of_every_step_and_interval_is_that_of_the_code(given: dict[str, Any]) -> None:
    recipe = place(**given)
    rows, variances = noise_rows(recipe)
    for before in range(recipe.horizon):
        for t in range(before + 1, recipe.horizon + 1):
            std = math.sqrt((rows[t] - rows[before]) ** 2 @ variances)
            assert recipe.error.between(before, t).std == pytest.approx(std)
    worst = 0.0
    for t in range(1, recipe.horizon + 1):
        variance = rows[t] ** 2 @ variances
        worst = max(worst, variance)
        whole = set(np.unique(rows[t])) <= {0.0, 1.0}
        assert recipe.error.std(t) ** 2 == pytest.approx(variance + (0 if whole else 1 / 12))
    assert recipe.error.worst_std**2 == pytest.approx(worst + recipe.error.rounding)
    assert recipe.error.between(3, 3).std == 0


def test_the_error_after_announcements_bounds_that_of_any_times() -> None:
    recipe = place(horizon=12, radices=(2, 3, 2), rungs=(9, 4, 6), intrusions="announced")
    error = recipe.error_after(2)
    for told in ((0, 1), (2, 3), (5, 9), (11, 11), (0, 6), (7, 8)):
        rows, variances = noise_rows(recipe, told)
        for t in range(1, 13):
            assert rows[t] ** 2 @ variances <= error.std(t) ** 2
            difference = rows[t] - rows[t // 2]
            assert difference**2 @ variances <= error.between(t // 2, t).std ** 2 + 1e-9
    assert error.std(5) > recipe.error.std(5)


def tail(rows: NDArray[np.float64], recipe: PanPrivatePlaceCounter, x: int) -> float:
    """P(|noise| > x) of a release, by convolution of all its noises in units of the resolution."""
    tape = Tape()
    recipe.start(tape).feed([0] * recipe.horizon)
    unit, reach = recipe.resolution, 60
    size = 2 * reach * unit
    at = np.fft.fftfreq(size) * 2 * math.pi
    transform = np.ones(size)
    for weight, draw in zip(rows, tape.draws, strict=True):
        assert isinstance(draw.scale, Fraction)
        half = math.sinh(0.5 / float(draw.scale)) ** 2
        transform /= 1 + np.sin(weight * unit * at / 2) ** 2 / half
    law = np.fft.ifft(transform).real
    places = np.fft.fftfreq(size) * size / unit
    return float(law[np.abs(np.floor(places + 0.5)) > x].sum())


@pytest.mark.parametrize("epsilon", [1, 3])
def test_bounds_are_right_and_close(epsilon: int) -> None:
    recipe = place(epsilon=epsilon, horizon=12, radices=(3, 4), rungs=(10, 8, 5))
    rows, _ = noise_rows(recipe)
    for t in (2, 3, 7, 11, 12):
        for beta in (0.3, 0.05, 0.001):
            bound = int(recipe.error.bound(t, beta))
            assert tail(rows[t], recipe, bound) <= beta
            assert tail(rows[t], recipe, max(0, math.floor(0.93 * bound) - 2)) > beta


def test_noises_put_together_have_the_same_variance_and_no_lighter_tail() -> None:
    # the logarithm of E exp(h Y), for every scale and up to the pole
    for scale in (0.05, 0.2, 0.5, 1.0, 1.5, 3.0, 20.0):
        size, variance = size_of(scale), variance_of(scale)
        for part in (0.05, 0.2, 0.5, 0.8, 0.95):
            h = part / size
            ratio = math.sinh(h / 2) / math.sinh(0.5 / scale)
            true = -math.log1p(-(ratio**2))
            assert -variance / (2 * size**2) * math.log1p(-((h * size) ** 2)) >= true
    many = [Spectrum.of(scale, 1, smooth=True) for scale in (3.0, 3.01, 3.3, 8.0)]
    assert Spectrum.joined(many).variance == pytest.approx(sum(one.variance for one in many))
    assert LaplaceMixture(Spectrum.joined(many).parts).std == pytest.approx(
        math.sqrt(sum(one.variance for one in many)), rel=1e-5
    )


def test_the_measured_deviation_is_the_stated_one() -> None:
    # 20,000 counters, 100 steps; the deviation of a mean square is below 1.1% of it at each step,
    # and 6 of those are below 7%: false alarm below 1e-5 for all steps together
    recipe = place(horizon=100, width=20_000)
    released = recipe.start(System.direct()).feed(np.zeros((100, 20_000), dtype=np.int64))
    measured = (released.astype(np.float64) ** 2).mean(axis=1)
    assert measured == pytest.approx([recipe.error.std(t) ** 2 for t in range(1, 101)], rel=0.07)


def mean_std(recipe: PanPrivatePlaceCounter) -> float:
    """The root of the mean variance over the horizon."""
    return math.sqrt(laws_of(recipe.shape, recipe.scale).total / recipe.horizon + 1 / 12)


@pytest.mark.parametrize(("horizon", "ratio"), [(2**10, 0.395), (2**16, 0.407), (2**20, 0.412)])
def test_the_frontier_is_reached(horizon: int, ratio: float) -> None:
    recipe = place(horizon=horizon)
    figure = PanPrivateCounter(epsilon=1, horizon=horizon).error.std(1)
    assert mean_std(recipe) <= 1.01 * ratio * figure
    assert mean_std(recipe) < 0.93 * tree_std(PanPrivateTreeCounter(epsilon=1, horizon=horizon))


@pytest.mark.parametrize("horizon", [5, 12, 30])
def test_the_total_is_that_of_every_step(horizon: int) -> None:
    shape = best_rungs(horizon, (2, 3, -(-horizon // 6)))
    recipe = place(epsilon="1/1000", horizon=horizon, radices=shape.radices, rungs=shape.rungs)
    variances = [recipe.error.std(t) ** 2 for t in range(1, horizon + 1)]
    assert 1e6 * total_variance(shape) == pytest.approx(sum(variances), rel=1e-5)
    assert laws_of(shape, recipe.scale).total == pytest.approx(sum(variances), rel=1e-5)


def test_no_rung_near_the_chosen_ones_is_better() -> None:
    shape = best_shape(200)
    best = total_variance(shape)
    for i, step in product(range(len(shape.rungs)), (-1, 1)):
        rungs = list(shape.rungs)
        rungs[i] = max(0, rungs[i] + step)
        other = PlaceShape(200, shape.radices, tuple(rungs))
        assert total_variance(other) > 0.9995 * best


def test_the_worst_step_is_found_by_its_digits() -> None:
    recipe = place(horizon=1024)
    worst = max(recipe.error.std(t) for t in range(1, 1025))
    assert worst_of(recipe, 1024, [1, 500, 1024]) == pytest.approx(worst)
    assert recipe.error.worst_std == pytest.approx(worst)


@together("given", LAWS)
def test_a_law_does_not_depend_on_the_laws_that_were_asked_for_before(
    given: dict[str, Any],
) -> None:
    recipe = place(**given)
    steps = [step for t in range(1, recipe.horizon + 1) for step in (t, recipe.horizon + 1 - t)]
    for step in steps:
        for announcements in (0, 1, 1):
            error = PlaceError(recipe.shape, recipe.scale, announcements)
            law = error.law(step)
            laws_of.cache_clear()
            assert law == error.law(step)
