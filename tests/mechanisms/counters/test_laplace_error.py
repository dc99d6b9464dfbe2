"""The stated law of every counter's noise against the noise matrix of its real code."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.elders import EldersCounter
from ameles.mechanisms.counters.honaker import HonakerCounter
from ameles.mechanisms.counters.hybrid import HybridCounter
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.psum import PSumCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.simple_one import IndependentError, SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter, WalkError
from ameles.mechanisms.counters.tree import TreeCounter
from ameles.mechanisms.counters.two_level import TwoLevelCounter
from ameles.mechanisms.laplace.mixture import LaplaceMixture
from ameles.noise import System, Tape
from tests.checks import build

T = 40

RECIPES: list[CounterRecipe] = [
    SimpleOneCounter(epsilon=1, horizon=T),
    SimpleTwoCounter(epsilon=1),
    build(PSumCounter, epsilon=1, horizon=T),
    TwoLevelCounter(epsilon=1, horizon=T),
    BinaryCounter(epsilon=1, horizon=T),
    TreeCounter(epsilon=1, horizon=T),
    TreeCounter(epsilon=1, horizon=T, root=True),
    KAryCounter(epsilon=1, horizon=T, arity=3),
    HonakerCounter(epsilon=1, horizon=T),
    HonakerCounter(epsilon=1, horizon=T, arity=3),
    EldersCounter(epsilon=1, horizon=T, arity=3),
    EldersCounter(epsilon=1, horizon=T, arity=7),
    SiblingsCounter(epsilon=1, horizon=T, arity=2),
    SiblingsCounter(epsilon=1, horizon=T, arity=3),
    SiblingsCounter(epsilon=1, horizon=T, arity=6),
    HybridCounter(epsilon=1),
    HybridCounter(epsilon=1, inside="SiblingsCounter", growth=5, first=5, share="1/5"),
    HybridCounter(epsilon=1, inside="EldersCounter", growth=4, first=3, share="1/4"),
]
EACH = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: repr(recipe)[:60])


@cache
def noise_rows(recipe: CounterRecipe) -> tuple[NDArray[np.float64], list[Fraction]]:
    """The rows of L: what each draw adds to each release; and the draws' scales."""
    size = getattr(recipe, "resolution", 1)
    still = np.zeros(T, dtype=np.int64)
    tape = Tape()
    recipe.start(tape).feed(still)
    columns = [
        recipe.start(Tape([0] * i + [size])).feed(still) / size for i in range(len(tape.draws))
    ]
    scales = [draw.scale for draw in tape.draws if isinstance(draw.scale, Fraction)]
    return np.array(columns).T, scales


def between(recipe: CounterRecipe, before: int, t: int) -> LaplaceMixture:
    error = recipe.error
    assert isinstance(error, LaplaceError | IndependentError | WalkError)
    return error.between(before, t)


def deviation(weights: NDArray[np.float64], scales: list[Fraction]) -> float:
    each = [0.5 / math.sinh(1 / (2 * float(scale))) ** 2 for scale in scales]
    return math.sqrt(float(weights**2 @ np.array(each)))


@EACH
def test_the_law_of_every_step_is_that_of_the_code(recipe: CounterRecipe) -> None:
    rows, scales = noise_rows(recipe)
    for t in range(1, T + 1):
        # weights are rounded to 1/4096 in the code and not in the formula
        assert between(recipe, 0, t).std == pytest.approx(deviation(rows[t - 1], scales), rel=1e-3)
        error = recipe.error
        law = error.law(t).std if isinstance(error, LaplaceError) else error.std(t)
        assert law == pytest.approx(deviation(rows[t - 1], scales), rel=1e-3)


@EACH
def test_the_law_of_every_interval_is_that_of_the_code(recipe: CounterRecipe) -> None:
    rows, scales = noise_rows(recipe)
    for before in range(0, T, 3):
        for t in range(before + 1, T + 1, 2):
            difference = rows[t - 1] - (rows[before - 1] if before else 0)
            stated = between(recipe, before, t).std
            assert stated == pytest.approx(deviation(difference, scales), rel=1e-3, abs=0.02)


@EACH
def test_no_step_is_worse_than_the_worst_law(recipe: CounterRecipe) -> None:
    error = recipe.error
    if isinstance(error, LaplaceError):
        laws = [error.law(t) for t in range(1, T + 1)]
        places = (1, 10, 40, 100)
        tails = np.array([[law.tail(x) for x in places] for law in laws])
        for steps in (1, 5, 17, T):
            worst = error.worst_law(steps)
            assert max(law.std for law in laws[:steps]) <= worst.std * (1 + 1e-9)
            most = np.array([worst.tail(x) for x in places])
            assert (tails[:steps] <= most * (1 + 1e-6) + 1e-12).all()


@EACH
def test_no_weight_exceeds_one(recipe: CounterRecipe) -> None:
    # what the bound over all steps of weighted counters rests on
    rows, _ = noise_rows(recipe)
    assert float(np.abs(rows).max()) <= 1


def test_a_wrong_law_is_noticed() -> None:
    rows, scales = noise_rows(SiblingsCounter(epsilon=1, horizon=T, arity=3))
    other = SiblingsCounter(epsilon=1, horizon=T, arity=4)
    assert other.error.std(T) != pytest.approx(deviation(rows[T - 1], scales), rel=1e-3)


@pytest.mark.parametrize("epsilon", [1, 10, 30])
def test_the_deviation_counts_the_rounding(epsilon: int) -> None:
    # 200,000 counters: 3% is more than 5 standard errors of a deviation.  Where the noise is
    # nearly always zero, rounding adds less than the twelfth that is counted for it.
    recipe = SiblingsCounter(epsilon=epsilon, horizon=1024, width=200_000)
    noise = recipe.start(System()).feed(np.zeros((7, 200_000), dtype=np.int64))
    for t in (3, 7):
        measured, stated = float(noise[t - 1].std()), recipe.error.std(t)
        assert measured <= 1.03 * stated
        assert epsilon > 1 or measured == pytest.approx(stated, rel=0.03)
