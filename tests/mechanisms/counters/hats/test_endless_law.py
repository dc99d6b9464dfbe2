"""The law of the noise of Hats without an end: the frontier, the stated error, the first law."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.mechanisms.catalogue import recipe_from_json
from ameles.mechanisms.counters.deviations import stds_of
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.hats.endless import EndlessHatsCounter
from ameles.mechanisms.counters.hats.endless_shape import EndlessShape, pieces_of
from ameles.mechanisms.counters.hybrid import HybridCounter
from ameles.noise import System, Tape
from ameles.noise.arrays import IntArray
from tests.mechanisms.counters.hats.endless_identity import FEW, MANY


@pytest.mark.parametrize("power", range(6, 25))
def test_the_goals_of_the_frontier(power: int) -> None:
    # scattered in equal parts: equal distances would meet the same digits again and again
    steps, parts = 2**power, min(2**power, 2**11)
    inside = np.arange(parts) * 0.6180339887 % 1 * (steps // parts)
    at = np.arange(parts) * steps // parts + inside.astype(np.int64) + 1
    kinds = [EndlessHatsCounter(epsilon=1), HatsCounter(epsilon=1, horizon=steps)]
    if power in (6, 13, 20, 24):
        kinds += [HybridCounter(epsilon=1, **setting) for setting in HybridCounter.settings]
    means, worst = [], []
    for kind in kinds:
        deviations = np.array(stds_of(kind.error, at.tolist()))
        means.append(math.sqrt(float((deviations**2).mean())))
        worst.append(float(deviations.max()))
    assert means[0] <= 1.2 * means[1]
    assert worst[0] <= 1.31 * worst[1]
    assert means[0] < min(means[2:], default=math.inf)
    assert worst[0] < min(worst[2:], default=math.inf)


def test_streams_that_are_short_have_more_noise() -> None:
    ratios = {}
    for steps in (2, 8, 16, 17, 18, 24, 32, 48, 61, 62, 63):
        kinds = EndlessHatsCounter(epsilon=1), HatsCounter(epsilon=1, horizon=steps)
        deviations = [np.array(stds_of(kind.error, range(1, steps + 1))) for kind in kinds]
        means = [math.sqrt(float((one**2).mean())) for one in deviations]
        ratios[steps] = means[0] / means[1]
    assert max(ratios.values()) == ratios[17] == pytest.approx(1.604, abs=1e-3)
    assert ratios[61] > 1.2 > max(ratios[62], ratios[63])


def test_streams_that_were_launched_under_the_first_law_keep_it() -> None:
    text = (
        '{"ameles":"recipe","version":1,"recipe":"EndlessHatsCounter","unit":"event","width":null,'
        '"contributions":1,"bound":1,"epsilon":"1","horizon":null,"radix":16,"first":24,"cell":48,'
        '"growth":4,"most":48}'
    )
    recipe = recipe_from_json(text)
    assert isinstance(recipe, EndlessHatsCounter)
    assert recipe.to_json() == text
    assert recipe == EndlessHatsCounter(epsilon=1, law=1) != EndlessHatsCounter(epsilon=1)
    assert recipe.shape.births[:5] == (0, 72, 1032, 16392, 262152)
    assert recipe.shape.knot_share(5) == Fraction(233, 1024)
    parts = [share * 2**19 for share in pieces_of(recipe.shape, 5)[1].shares]
    assert parts == [116850, 116071, 165927]
    deviations = [round(recipe.error.std(2**power), 3) for power in (6, 10, 20, 30)]
    assert deviations == [6.853, 13.894, 34.117, 59.366]


def weights_of(recipe: EndlessHatsCounter) -> tuple[Any, Any]:
    """How much of each draw is in each count, from the code, and the variance of each draw."""
    steps, unit, tape = recipe.horizon or 0, recipe.resolution, Tape()
    recipe.process(tape, None).take(steps)
    scales = [float(draw.scale) for draw in tape.draws if isinstance(draw.scale, Fraction)]

    class Impulses(Tape):
        def laplace(self, scale: Any, size: Any) -> IntArray:
            drawn = np.zeros(size, dtype=np.int64)
            rows = np.arange(size[0])
            drawn[rows, self.at + rows] = unit
            self.at += size[0]
            return drawn

        at = 0

    wide = replace(recipe, width=len(scales))
    weights = wide.process(Impulses(), None).take(steps) / unit
    return weights, 0.5 / np.sinh(0.5 / np.array(scales)) ** 2


@pytest.mark.parametrize(
    ("given", "steps"),
    [(FEW, 140), (MANY, 100), ({}, 300), ({"law": 1}, 90)],
    ids=["few", "many", "usual", "first"],
)
def test_the_law_is_that_of_the_weights_of_the_code(given: dict[str, Any], steps: int) -> None:
    recipe = EndlessHatsCounter(**{"epsilon": 1, **given, "horizon": steps})
    weights, variances = weights_of(recipe)
    error = recipe.error
    expected = (weights**2 * variances).sum(axis=1)
    at = np.arange(1, steps + 1)
    assert error.stds(at) ** 2 == pytest.approx(expected + 1 / 12, rel=1e-9)
    pairs = [(0, 1), (1, 2), (3, steps), (10, 12), (steps // 2, steps), (7, steps // 2), (20, 30)]
    for before, t in pairs:
        moved = weights[t - 1] - (weights[before - 1] if before else 0)
        law = error.between(before, t)
        assert law.std**2 == pytest.approx((moved**2 * variances).sum(), rel=1e-9)
    befores, afters = np.array(pairs).T
    together = error.between_bounds(befores, afters, 0.05)
    assert together.tolist() == [error.between(*pair).quantile(0.05) for pair in pairs]
    some = at[:: steps // 12]
    assert error.bounds(some, 0.1).tolist() == [error.bound(t, 0.1) for t in some.tolist()]
    for t in some.tolist():
        assert error.law(t).std ** 2 == pytest.approx(expected[t - 1], rel=1e-9)
        assert error.worst_law(t).std >= error.law(t).std
    assert error.worst_law(steps).std <= 2.2 * float(np.sqrt(expected).max())
    assert error.bound(steps, 0.05) < error.bound_all(steps, 0.05)
    assert error.worst_std == math.inf


def test_bounds_for_all_steps_hold() -> None:
    # 20,000 counters: 5 standard errors of a share of 0.1 are 0.011, and of 0.05, which it is
    # about, 0.008
    recipe = EndlessHatsCounter(epsilon=1, width=20_000, **MANY)
    noise = recipe.start(System()).feed(np.zeros((40, 20_000), dtype=np.int64))
    outside = (abs(noise) > recipe.error.bound_all(40, 0.1)).any(axis=0)
    assert 0.04 < float(outside.mean()) < 0.111


def test_far_steps_are_like_a_walk() -> None:
    error = EndlessHatsCounter(epsilon=1, **FEW).error
    far = EndlessShape(**FEW, longest=256)
    long = type(error).of(far, Fraction(1))
    near, later = (long.std(t) for t in (10**6 + 17, 4 * 10**6 + 17))
    assert later == pytest.approx(2 * near, rel=1e-2)
    assert long.worst_law(10**6).std >= near


def test_the_measured_deviation_is_that_of_the_law() -> None:
    # 20,000 counters: the deviation of a sample deviation is at most sqrt((6 - 1) / 4n) = 0.8% for
    # sums of Laplace variables, so 4% is 5 of them
    recipe = EndlessHatsCounter(epsilon=1, width=20_000)
    noise = recipe.start(System()).feed(np.zeros((90, 20_000), dtype=np.int64))
    for t in (1, 20, 24, 25, 41, 72, 73, 90):
        assert float(noise[t - 1].std()) == pytest.approx(recipe.error.std(t), rel=0.04)
        assert abs(float(noise[t - 1].mean())) < 5 * recipe.error.std(t) / math.sqrt(20_000)
