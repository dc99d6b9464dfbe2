"""Figures that the tests of several counters compute in the same way."""

from __future__ import annotations

import math

from ameles.mechanisms.counters.deviations import points, stds_of
from ameles.mechanisms.counters.recipe import CounterRecipe


def mean_and_worst(recipe: CounterRecipe, steps: int) -> tuple[float, float]:
    """The root mean and the largest deviation over the steps, or over an even spread of them."""
    deviations = stds_of(recipe.error, points(steps))
    return math.sqrt(math.fsum(d * d for d in deviations) / len(deviations)), max(deviations)
