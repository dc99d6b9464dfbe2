"""A made-up season for the input of a mechanism: a wave that comes, and goes.

It is computed from public parameters and the number of events that a person expects; it has no
randomness, and nothing of anybody's data.  Values of a column are taken as even between the bounds
that the plan itself has, and are clamped to the bounds that are tried.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ameles.measures.bounded import BoundedMeasure
from ameles.measures.mean import Mean
from ameles.measures.measure import Measure
from ameles.mechanisms.continual.monitors import WindowMonitors
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.noise.arrays import IntArray


def wave(steps: int) -> NDArray[np.float64]:
    """How busy each step is: quiet, a wave in the second third, and a smaller one after it."""
    place = np.linspace(0, 1, steps) if steps > 1 else np.zeros(1)
    first = np.exp(-(((place - 0.45) / 0.11) ** 2))
    second = 0.45 * np.exp(-(((place - 0.78) / 0.07) ** 2))
    busy: NDArray[np.float64] = 0.25 + 1.5 * (first + second)
    return busy


def events(measure: Measure, steps: int, each: int) -> IntArray:
    """How many events each cell has in each step, about ``each`` in a step altogether."""
    cells = measure.question.cells
    weights = 1 / np.sqrt(np.arange(1, cells + 1))
    shares = weights / weights.sum()
    made: IntArray = np.rint(each * wave(steps)[:, None] * shares[None, :]).astype(np.int64)
    return made


def inputs(measure: Measure, own: Measure, steps: int, each: int) -> IntArray:
    """The input of a measure's mechanism at each step; ``own`` is the measure with the plan's own
    bounds."""
    counts = events(measure, steps, each)
    if not isinstance(measure, BoundedMeasure) or not isinstance(own, BoundedMeasure):
        return counts
    unit = clamped_mean(own, measure) / measure.grid.granularity  # in grid units
    if isinstance(measure, Mean):
        low, high = measure.ends
        middle = Fraction((low + high) * measure.parts // 2)
        centred = _times(counts, unit * measure.parts - middle)
        return np.concatenate([centred, counts * measure.largest], axis=1)
    return _times(counts, unit)


def clamped_mean(own: BoundedMeasure, tried: BoundedMeasure) -> Fraction:
    """The mean of values that are even between the plan's own bounds, clamped to those tried."""
    a, b = own.grid.lower, own.grid.upper
    low, high = tried.grid.lower, min(tried.grid.upper, b)
    inside = (high**2 - a**2) / 2 + high * (b - high) if a < high < b else None
    mean = (a + b) / 2 if inside is None else inside / (b - a)
    return min(max(mean, low), tried.grid.upper)


def _times(counts: IntArray, amount: Fraction) -> IntArray:
    made: IntArray = np.rint(counts * float(amount)).astype(np.int64)
    return made


def can_be_drawn(recipe: object) -> bool:
    """Whether the mechanism's input is a number for each cell; tables of users need users."""
    return isinstance(recipe, CounterRecipe | WindowMonitors)
