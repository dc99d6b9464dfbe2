"""The deviations of a counter over a stream: on average, and at the worst step.

Of a long stream some steps are looked at, spread evenly; the search for the worst one starts there.

>>> from ameles.mechanisms.counters.siblings import SiblingsCounter
>>> recipe = SiblingsCounter(epsilon=1, horizon=1024)
>>> round(mean_deviation(recipe, 1024), 2), round(worst_deviation(recipe, 1024), 2)
(11.07, 14.01)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ameles.mechanisms.counters.hats.error import HatsError
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.recipe import CounterError, CounterRecipe
from ameles.mechanisms.pan_private.place_error import PlaceError

# Means over longer streams are taken at this many steps, spread evenly; maxima start from these.
POINTS = 1024


def points(steps: int) -> list[int]:
    """Steps at which means and maxima are taken: all of them, or an even spread with the last."""
    if steps <= POINTS:
        return list(range(1, steps + 1))
    golden = (math.sqrt(5) - 1) / 2  # multiples of it, modulo 1, fill the unit interval evenly
    return sorted({1 + int(i * golden % 1 * steps) for i in range(POINTS)} | {steps})


@lru_cache(maxsize=512)  # plans ask again and again about the same few recipes
def mean_deviation(recipe: CounterRecipe, steps: int) -> float:
    """The root of the mean variance over the steps of a stream."""
    deviations = _at_points(recipe, steps)
    return math.sqrt(math.fsum(d * d for d in deviations) / len(deviations))


@lru_cache(maxsize=512)
def worst_deviation(recipe: CounterRecipe, steps: int) -> float:
    """The largest deviation of a step of a stream."""
    return _worst(recipe, steps, dict(zip(points(steps), _at_points(recipe, steps), strict=True)))


@lru_cache(maxsize=32)  # the mean and the worst of a few recipes are asked for together
def _at_points(recipe: CounterRecipe, steps: int) -> list[float]:
    return stds_of(recipe.error, points(steps))


def worst_of(recipe: CounterRecipe, steps: int, at: list[int]) -> float:
    """The largest deviation of a step, found from the worst of ``at`` by changing digits.

    A tree's error depends on the digits of t, so changing one digit after the other, as long
    as the error grows, leads from a bad step to the worst.
    """
    return _worst(recipe, steps, dict(zip(at, stds_of(recipe.error, at), strict=True)))


def stds_of(error: CounterError, at: Sequence[int]) -> list[float]:
    """The deviation at each of these steps, all at once if the error knows how to."""
    if isinstance(error, LaplaceError):
        deviations: list[float] = error.stds(np.array(at, dtype=np.int64)).tolist()
        return deviations
    return [*map(error.std, at)]


def _worst(recipe: CounterRecipe, steps: int, known: dict[int, float]) -> float:
    """The same, if some deviations are known; all that are visited are added to them."""
    worst = max(known, key=known.__getitem__)
    shifts = [
        d * size
        for size, base in _digits(recipe, steps)
        for d in range(1 - min(base, 64), min(base, 64))
    ]
    while True:
        tried = [worst + shift for shift in shifts if 1 <= worst + shift <= steps]
        fresh = [t for t in tried if t not in known]
        known.update(zip(fresh, stds_of(recipe.error, fresh), strict=True))
        better = max(tried, key=known.__getitem__, default=worst)
        if known[better] <= known[worst]:
            return known[worst]
        worst = better


def _digits(recipe: CounterRecipe, steps: int) -> list[tuple[int, int]]:
    """For each digit that the error depends on its size, and how many values it has."""
    if isinstance(recipe.error, HatsError):
        shape = recipe.error.shape
        return [*zip(shape.spans, (*shape.radices, shape.knots), strict=True)]
    if isinstance(recipe.error, PlaceError):
        return [*zip(recipe.error.shape.spans, recipe.error.shape.radices, strict=True)]
    base = max(getattr(recipe, "arity", None) or getattr(recipe, "block", None) or 2, 2)
    return [(base**level, base) for level in range(1 + int(math.log(max(steps, 2), base)))]
