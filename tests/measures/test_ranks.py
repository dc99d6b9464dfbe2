"""The noise of ranks: bounds at every edge hold, and those in between are conservative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.measures import ranks
from ameles.measures.ranks import excess_bounds
from ameles.mechanisms.counters.gaussian.steps import GaussianStepsCounter
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.noise import System

DRAWS = 3000
BINS = 7


def recipes() -> list[CounterRecipe]:
    width = DRAWS * BINS
    return [
        SiblingsCounter(epsilon="1/3", horizon=20, width=width),
        SimpleTwoCounter(epsilon="1/3", width=width),
        GaussianStepsCounter(rho="1/50", width=width),
        ToeplitzCounter(rho="1/50", horizon=20, width=width),
    ]


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: type(recipe).__name__)
@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_every_bound_holds(recipe: CounterRecipe, window: int | None, share: float) -> None:
    # 3000 draws at each of 6 edges; false alarm 1e-6 for each
    steps, beta = 15, 0.1
    noise = recipe.start(System.direct()).feed(np.zeros((steps, recipe.columns), dtype=np.int64))
    total = noise[-1] if window is None else noise[-1] - noise[-1 - window]
    cells = total.reshape(DRAWS, BINS)
    below = np.cumsum(cells, axis=1)
    excess = below[:, :-1] - share * below[:, -1:]
    bounds = excess_bounds(recipe, window, [steps], bins=BINS, share=share, beta=beta)
    outside = (np.abs(excess) > bounds).sum(axis=0)
    assert (outside <= binom.isf(1e-6, DRAWS, beta)).all()
    # not idle: a bound of a third of the size would be left more often
    assert ((np.abs(excess) > bounds / 3).sum(axis=0) > binom.isf(1e-6, DRAWS, beta)).all()


def test_intrusions_and_restarts_make_them_wider() -> None:
    recipe = PanPrivateTreeCounter(epsilon=1, horizon=64, width=4, intrusions="announced")

    def width(**more: Any) -> float:
        return float(excess_bounds(recipe, None, [20], bins=4, share=0.5, beta=0.05, **more)[0, 1])

    assert width() < width(announced=1) < width(announced=4)
    assert width() < width(ended=(8,)) < width(announced=4, ended=(8,))
    assert width(ended=(20,)) == width(), "an epoch that ends now has nothing after it"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_bounds_between_the_places_are_no_smaller(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = SiblingsCounter(epsilon=1, horizon=100, width=40)
    steps = [1, 50, 50, 100]

    def bounds() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return excess_bounds(recipe, None, steps, bins=40, share=share, beta=0.05)

    coarse = bounds()
    monkeypatch.setattr(ranks, "PLACES", 1000)
    every = bounds()
    assert coarse.shape == every.shape == (4, 39)
    assert (coarse >= every).all()
    assert (coarse <= 1.35 * every + 2).all()
