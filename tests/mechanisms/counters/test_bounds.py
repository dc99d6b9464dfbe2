"""Bounds at many steps at once, for every counter: as one by one, and held by its real noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.core.error import AdditiveError
from ameles.core.guarantee import Intrusions
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.counters.gaussian.error import GaussianError
from ameles.mechanisms.counters.hybrid import HybridCounter
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.simple_one import IndependentError
from ameles.mechanisms.counters.simple_two import WalkError
from ameles.mechanisms.local.response_counter import CoinsError
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.noise import System
from tests.checks import build

T = 300
WINDOW = 24
ENDLESS = {"HybridCounter", "SegmentedCounter", "SimpleTwoCounter", "RandomizedResponseCounter"}

RECIPES: list[CounterRecipe] = [
    *(
        build(kind, epsilon=epsilon, **({} if kind.__name__ in ENDLESS else {"horizon": T}))
        for kind in COUNTERS
        for epsilon in (1, 12)
    ),
    HybridCounter(epsilon=1, inside="SiblingsCounter", growth=32, first=32, share="4/25"),
    PanPrivateCounter(epsilon=1),
    PanPrivateTreeCounter(epsilon=1),
]
EACH = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: repr(recipe)[:90])
SPREAD = np.array([1, 2, 3, 17, 64, 129, 130, 255, 256, 299, 300])


def between(error: AdditiveError, before: int, t: int, beta: float) -> float:
    additive = LaplaceError | GaussianError | IndependentError | WalkError
    assert isinstance(error, additive | CoinsError)
    return error.between(before, t).quantile(beta)


@EACH
@pytest.mark.parametrize("window", [None, WINDOW])
def test_copies_at_many_steps_are_as_one_by_one(recipe: CounterRecipe, window: int | None) -> None:
    error = recipe.error
    if not isinstance(error, LaplaceError):
        return  # its copies are bounded by their variance, see tests/measures/test_ranks.py
    before = np.zeros_like(SPREAD) if window is None else np.maximum(SPREAD - window, 0)
    mixes = [((0.5, 7),), ((0.1, 2), (0.9, 5)), ((1.0, 3),)]
    bounds = error.copies_bounds(before, SPREAD, mixes, 0.05)
    for pair, row in zip(np.stack([before, SPREAD]).T.tolist(), bounds.tolist(), strict=True):
        law = error.between(*pair)
        assert row == [law.copies(some).quantile(0.05) for some in mixes]


@EACH
def test_many_steps_at_once_are_as_one_by_one(recipe: CounterRecipe) -> None:
    error = recipe.error
    for beta in (0.3, 0.05, 1e-6):
        bounds = error.bounds(SPREAD, beta)
        assert bounds.dtype == np.float64
        assert bounds.tolist() == [error.bound(t, beta) for t in SPREAD.tolist()]


@EACH
def test_many_windows_at_once_are_as_one_by_one(recipe: CounterRecipe) -> None:
    error = recipe.error
    before = np.maximum(SPREAD - WINDOW, 0)
    bounds = error.between_bounds(before, SPREAD, 0.05)
    assert bounds.dtype == np.float64
    pairs = zip(before.tolist(), SPREAD.tolist(), strict=True)
    assert bounds.tolist() == [between(error, start, t, 0.05) for start, t in pairs]


@EACH
def test_no_steps_have_no_bounds(recipe: CounterRecipe) -> None:
    none = np.empty(0, dtype=np.int64)
    assert recipe.error.bounds(none, 0.05).shape == (0,)
    assert recipe.error.between_bounds(none, none, 0.05).shape == (0,)


# The share of 20,000 counters outside a bound is compared with 5% and 5.5 standard errors, which
# a binomial exceeds with probability 4e-8.  There are some 40 recipes with 48 shares each: a false
# alarm in 13,000 runs, or less, since most bounds are a little wider than they must be.
STEPS, COUNTERS_EACH, BETA = 48, 20_000, 0.05
MOST = BETA + 5.5 * math.sqrt(BETA * (1 - BETA) / COUNTERS_EACH)


def noise_of(recipe: CounterRecipe) -> NDArray[np.int64]:
    """The noise of all counters, one step a row."""
    source = System() if recipe.intrusions is Intrusions.NONE else System.direct()
    still = np.zeros((STEPS, recipe.columns), dtype=np.int64)
    noise: NDArray[np.int64] = np.asarray(recipe.start(source).feed(still))
    return noise


def beyond(error: AdditiveError, noise: NDArray[np.int64]) -> float:
    """The largest share, over steps and windows, that is outside its bound."""
    steps = np.arange(2, STEPS + 1, 2)
    before = np.maximum(steps - WINDOW, 0)
    started = np.where(before[:, None] > 0, noise[before - 1], 0)
    counts = np.abs(noise[steps - 1]) > error.bounds(steps, BETA)[:, None]
    windows = (
        np.abs(noise[steps - 1] - started) > error.between_bounds(before, steps, BETA)[:, None]
    )
    return float(max(counts.mean(axis=1).max(), windows.mean(axis=1).max()))


@EACH
def test_the_noise_of_the_code_is_within_the_bounds(recipe: CounterRecipe) -> None:
    wide = replace(recipe, width=COUNTERS_EACH)
    assert beyond(wide.error, noise_of(wide)) <= MOST


@dataclass(frozen=True)
class Narrow:
    """An error whose bounds at many steps are too narrow, and nothing else."""

    right: AdditiveError

    def std(self, t: int) -> float:
        return self.right.std(t)

    def bound(self, t: int, beta: float) -> float:
        return self.right.bound(t, beta)

    def bound_all(self, steps: int, beta: float) -> float:
        return self.right.bound_all(steps, beta)

    def bounds(self, steps: NDArray[np.int64], beta: float) -> NDArray[np.float64]:
        return 0.9 * self.right.bounds(steps, beta)

    def between_bounds(
        self, before: NDArray[np.int64], after: NDArray[np.int64], beta: float
    ) -> NDArray[np.float64]:
        return self.right.between_bounds(before, after, beta)


def test_bounds_that_are_too_narrow_by_a_tenth_are_noticed() -> None:
    recipe = SiblingsCounter(epsilon="1/10", horizon=T, width=COUNTERS_EACH)
    noise = noise_of(recipe)
    assert beyond(recipe.error, noise) <= MOST
    assert beyond(Narrow(recipe.error), noise) > MOST


def test_bounds_of_another_step_are_noticed() -> None:
    error = SiblingsCounter(epsilon=1, horizon=T).error
    shifted = error.bounds(SPREAD[:-1] + 1, 0.05)
    assert shifted.tolist() != [error.bound(t, 0.05) for t in SPREAD[:-1].tolist()]
