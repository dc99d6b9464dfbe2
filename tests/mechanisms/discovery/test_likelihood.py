"""Likelihood ratios of real runs at small parameters: a test with a stated error.

Many copies of one tiny stream are keys of one run.  What a copy publishes is the step at which its
key is found and its last value, in bins.  Half of the copies choose the set of outcomes that are
likelier with the user than e^epsilon times without; the other half estimate its probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.mechanisms.discovery import KeyDiscovery, KeyInputs
from ameles.noise import System
from ameles.noise.arrays import IntArray

COPIES = 30_000
FIELDS: dict[str, Any] = {
    "epsilon": 1,
    "delta": "0.05",
    "horizon": 4,
    "records": 1,
    "slots": (1,),
}


@dataclass(frozen=True, kw_only=True)
class Quieter(KeyDiscovery):
    """Has a sixteenth of the noise's variance."""

    @property
    def rho(self) -> Fraction:
        return 16 * super().rho


def outcomes(recipe: KeyDiscovery, users: int, centre: int) -> IntArray:
    """For each copy a number for the step and the bin of its value."""
    run = recipe.start(System(compiled=False))
    numbers = run.numbers([str(copy) for copy in range(COPIES)])
    selected = np.full(COPIES, users * recipe.slots[0])
    first = KeyInputs(numbers, selected, np.full((COPIES, 1), users))
    outs = run.feed([first, *[KeyInputs.nothing(1)] * (recipe.horizon - 1)])
    last = outs[-1]
    seen = np.zeros(COPIES, dtype=np.int64)
    width = recipe.value_error(1).std(recipe.horizon) / 2
    bins = np.clip(np.rint((last.values[:, 0] - centre) / width), -20, 20).astype(np.int64)
    seen[last.public] = 100 * last.since + bins
    return seen


def largest_gap(recipe: KeyDiscovery, users: int) -> tuple[float, float]:
    """P(S) - e^epsilon P'(S) for the set S that half of the copies chose, and its standard error;
    the larger of both directions."""
    odds = math.exp(recipe.epsilon)
    found = []
    worlds = [outcomes(recipe, count, users) for count in (users, users + 1)]
    size = 100 * (recipe.horizon + 1)
    half = COPIES // 2
    for one, other in (worlds, worlds[::-1]):
        counts = [np.bincount(world[:half] + 20, minlength=size) for world in (one, other)]
        chosen = counts[0] > odds * counts[1]
        p, q = (float(chosen[world[half:] + 20].mean()) for world in (one, other))
        error = math.sqrt((p * (1 - p) + odds**2 * q * (1 - q)) / half)
        found.append((p - odds * q, error))
    return max(found)


def test_likelihood_ratios_are_within_the_claim() -> None:
    # 15,000 copies a side; false alarm 3e-7 at 5 standard errors
    recipe = KeyDiscovery(**FIELDS)
    gap, error = largest_gap(recipe, recipe.users_needed(4))
    assert gap <= float(recipe.delta) + 5 * error


def test_a_sixteenth_of_the_noise_is_caught() -> None:
    recipe = Quieter(**FIELDS)
    gap, error = largest_gap(recipe, recipe.users_needed(4))
    assert gap > float(recipe.delta) + 5 * error
