"""Private multiplicative weights: the limits of its parameters, and its numbers to the last one."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.interactive.tuned_weights import _trials, _tuned, multiplicative_weights
from ameles.mechanisms.linear_queries import LARGEST_GRID, LARGEST_UNIVERSE
from ameles.noise import Tape, Zero
from tests.mechanisms.interactive.test_multiplicative_weights import EVEN, FIRST, SMALL

LIMITS: dict[str, tuple[Any, Any]] = {
    "universe": (1, LARGEST_UNIVERSE),
    "rows": (1, 2**40),
    "threshold": (1, 2**60),
    "updates": (1, 2**40),
    "grid": (1, LARGEST_GRID),
    "rate": (Fraction(1, 10**9), 4),
}


@pytest.mark.parametrize("name", LIMITS)
def test_parameters_have_limits(name: str) -> None:
    step = Fraction(1, 10**10) if name == "rate" else 1
    least, most = LIMITS[name]
    for allowed in (least, most):
        given: dict[str, Any] = {name: allowed}
        assert getattr(replace(SMALL, **given), name) == allowed
    for refused in (least - step, most + step):
        given = {name: refused}
        with pytest.raises(BadInput, match=f"'{name}'"):
            replace(SMALL, **given)


def test_a_resumed_run_has_its_hypothesis_and_its_noise() -> None:
    run = SMALL.start(Tape([5]))
    run.step((EVEN, 90))
    snapshot, before = run.snapshot(), run.hypothesis
    again = SMALL.resume(snapshot, Tape([]))
    assert (again.hypothesis == before).all()
    assert again._parts()[0].tolist() == [5, 1]
    assert SMALL.memory == sum(part.size for part in again._parts()) == 4 + 2


def test_a_boolean_query_is_the_whole_grid() -> None:
    fine, coarse = replace(SMALL, grid=4).start(Zero()), SMALL.start(Zero())
    assert fine.step((EVEN, 4 * 90)).answer == 360
    assert coarse.step((EVEN, 90)).answer == 90
    assert np.allclose(fine.hypothesis, coarse.hypothesis)
    assert fine.step((FIRST, 4 * 35)).answer != coarse.step((FIRST, 35)).answer  # 1 of 4 of a query


def test_the_most_updates_follow_from_the_drop_of_the_entropy() -> None:
    recipe = replace(SMALL, rows=1000, threshold=500, grid=2)
    steps, beta = 7, 0.1
    share = (500 - recipe.error.comparison(steps, beta) - 1) / 2000
    assert recipe.error.most_updates(steps, beta) == math.log(4) / (share - 1 / 8)
    # the rate at which the drop is 0, and one below it
    assert replace(recipe, rate=2).error.most_updates(steps, beta) == math.inf
    small = replace(recipe, rate="0.01")
    assert small.error.most_updates(steps, beta) == math.log(4) / (0.01 * share - 0.01**2 / 8)


def test_a_gap_that_the_answers_noise_can_hide_promises_nothing() -> None:
    steps, beta = 3, 0.2
    hidden = SMALL.error.comparison(steps, beta) + 1 + SMALL.error.release(2, beta)
    near = replace(SMALL, rows=10**6, rate="1e-9", threshold=int(hidden))
    assert near.error.most_updates(steps, beta) == math.inf
    assert replace(near, threshold=near.threshold + 1).error.most_updates(steps, beta) < math.inf
    # in one query there is one answer at most
    once = SMALL.error.comparison(1, beta) + 2 + SMALL.error.release(1, beta)
    assert replace(near, threshold=int(once)).error.most_updates(1, beta) < math.inf


def test_numbers_of_updates_are_tried_from_the_least_that_can_do() -> None:
    base = replace(SMALL, universe=2**16)
    trials = _trials(base)
    assert trials[0] == math.ceil(math.log(2**16) / 2) == 6
    assert trials[-1] > 2**20
    assert all(one < other <= 1 + one * 1.06 for one, other in pairwise(trials))
    assert _trials(replace(base, universe=1))[0] == 1


def test_the_tuned_recipe_to_the_last_number() -> None:
    recipe = multiplicative_weights(epsilon=1, universe=64, rows=10**5, horizon=100, beta=0.05)
    c = recipe.updates
    tau = math.sqrt(math.log(64) / (2 * c))
    assert recipe.rate == Fraction(round(4000 * tau), 1000)
    assert recipe.answer_epsilon == Fraction(1, 4)
    first = Fraction(3, 4) / (1 + Fraction(round(1000 * (2 * c) ** (2 / 3)), 1000))
    assert (recipe.threshold_epsilon, recipe.query_epsilon) == (first, Fraction(3, 4) - first)
    gap = recipe.threshold - recipe.error.comparison(100, 0.05) - 1
    assert gap >= math.ceil(tau * 10**5 * (1 + 1e-3))
    assert gap > recipe.error.release(min(100, c), 0.05)
    # no other number of updates that was tried has a smaller bound
    assert recipe.error.most_updates(100, 0.05) < c


@pytest.mark.parametrize(
    ("universe", "rows", "updates", "epsilon"),
    [(1, 10**6, 7, 1), (2, 2**40, 2**20, 1000), (2**16, 10**9, 2**20, 1)],
)
def test_a_rate_that_is_rounded_far_still_suffices(
    universe: int, rows: int, updates: int, epsilon: int
) -> None:
    # rates are rounded to thousandths; then the gap grows until the updates are enough
    base = replace(SMALL, universe=universe, rows=rows)
    recipe = _tuned(base, Fraction(epsilon), updates, 50, 0.05)
    assert recipe.error.most_updates(50, 0.05) < updates


def test_the_noise_of_the_answers_decides_about_a_small_table() -> None:
    recipe = _tuned(replace(SMALL, universe=2, rows=10), Fraction(1), 2**20, 50, 0.05)
    gap = math.ceil(recipe.error.release(50, 0.05)) + 1
    assert recipe.threshold == gap + recipe.error.comparison(50, 0.05) + 1


def test_rates_stay_within_their_limits() -> None:
    far = _tuned(replace(SMALL, universe=2**16, rows=10**6), Fraction(1000), 6, 50, 0.05)
    assert far.rate == Fraction(round(4000 * math.sqrt(math.log(2**16) / 12)), 1000) < 4
    # tau would be 1.005, and 0.00002
    assert _tuned(replace(far, universe=185_000), Fraction(1000), 6, 50, 0.05).rate == 4
    assert _tuned(replace(far, universe=1), Fraction(1), 1, 50, 0.05).rate == Fraction(1, 1000)


def test_a_third_of_beta_is_for_the_noise_of_the_answers() -> None:
    a = math.exp(-1 / 4)  # of scale 4
    for releases, beta in ((1, 0.3), (2, 0.01)):
        tails = [2 * math.pow(a, m + 1) / (1 + a) for m in range(200)]
        least = next(m for m, tail in enumerate(tails) if tail <= beta / 3 / releases)
        assert SMALL.error.release(releases, beta) == least
