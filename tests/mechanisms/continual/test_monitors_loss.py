"""Window monitors: the exact loss of the real code, over all tapes, for one key and for several.

A key is a column, and columns hear nothing of each other (``test_monitors``).  So one run whose
columns are all tapes of one key, each noise from -REACH to REACH, gives that key's law, and the
loss of several keys is the sum of theirs.  What is left out of the law is below 1e-5 of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.core.noise import Shape
from ameles.mechanisms.continual.monitors import WindowMonitors
from ameles.noise import Zero
from ameles.noise.arrays import IntArray

REACH = 24
Stream = tuple[int, ...]
Scales = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class OneKeyAtATime(WindowMonitors):
    """Noise for what a unit changes in one key, where it may change several."""

    @property
    def sensitivity(self) -> int:
        return self.bound * min(self.contributions, self.window)


class Written(Zero):
    """Noise that is written down, one array a call."""

    def __init__(self, draws: IntArray) -> None:
        self._rows = iter(draws)

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        row: IntArray = next(self._rows).reshape(size)
        return row


def every_tape(steps: int) -> IntArray:
    """The threshold's noise and that of each step, in all combinations, one a column."""
    noises = [np.arange(-REACH, REACH + 1)] * (1 + steps)
    return np.stack(np.meshgrid(*noises, indexing="ij")).reshape(1 + steps, -1)


@lru_cache(maxsize=512)
def said_on(xs: Stream, window: int, threshold: int) -> IntArray:
    """What one key says on every tape, as one number; halted after the first above."""
    tapes = every_tape(len(xs))
    recipe = WindowMonitors(
        epsilon=1, width=tapes.shape[1], window=window, threshold=threshold, aboves=1
    )
    run = recipe.start(Written(tapes))
    codes = [run.step(np.full(recipe.width, x)) for x in xs]
    said: IntArray = np.array(3 ** np.arange(len(xs))) @ (np.stack(codes) + 1)
    return said


@lru_cache(maxsize=16)
def weights(steps: int, scales: Scales) -> NDArray[np.float64]:
    widths = np.array([scales[0]] + [scales[1]] * steps)
    densities = np.exp(-(np.abs(every_tape(steps)) / widths[:, None]).sum(axis=0))
    shares: NDArray[np.float64] = densities / densities.sum()
    return shares


@lru_cache(maxsize=2048)
def law(xs: Stream, window: int, threshold: int, scales: Scales) -> NDArray[np.float64]:
    """The probability of each thing that one key may say."""
    said = said_on(xs, window, threshold)
    chances = np.bincount(said, weights=weights(len(xs), scales), minlength=3 ** len(xs))
    return chances.astype(np.float64)


@lru_cache(maxsize=4096)
def loss(one: Stream, other: Stream, window: int, threshold: int, scales: Scales) -> float:
    here, there = (law(xs, window, threshold, scales) for xs in (one, other))
    assert ((here > 0) == (there > 0)).all()
    possible = here > 0
    return float(np.abs(np.log(here[possible] / there[possible])).max())


def scales_of(recipe: WindowMonitors) -> Scales:
    return float(recipe.comparison.threshold_scale), float(recipe.comparison.query_scale)


def joint(recipe: WindowMonitors, base: Sequence[Stream], change: Sequence[Stream]) -> float:
    """The loss over all keys of a stream when a unit with these counts is added."""
    total = 0.0
    for xs, added in zip(base, change, strict=True):
        moved = tuple(x + a for x, a in zip(xs, added, strict=True))
        total += loss(xs, moved, recipe.window, recipe.threshold, scales_of(recipe))
    return total


def recipe_of(kind: type[WindowMonitors], **parameters: Any) -> WindowMonitors:
    given = {"epsilon": 2, "threshold": 1, "aboves": 1, "unit": "user", "monotone": True}
    return kind(**{**given, **parameters})


STEPS = 2
PLACES = [tuple(xs) for xs in product((-2, 0, 1, 3), repeat=STEPS)]


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("moved", [1, 2, 3])
def test_one_key_loses_in_proportion_to_its_change(window: int, moved: int) -> None:
    # noise for a change of 3; a key that changes by less loses its part
    recipe = recipe_of(WindowMonitors, width=3, window=window, contributions=3, epsilon=3)
    assert recipe.sensitivity == 3
    for xs in PLACES:
        for added in product(range(moved + 1), repeat=STEPS):
            windows = [sum(added[max(0, t + 1 - window) : t + 1]) for t in range(STEPS)]
            if max(windows) == moved:
                other = tuple(x + a for x, a in zip(xs, added, strict=True))
                lost = loss(xs, other, window, 1, scales_of(recipe))
                assert lost <= 3 * moved / 3 + 1e-4


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("window", [1, 2])
def test_all_keys_together_lose_at_most_epsilon(window: int, monotone: bool) -> None:
    recipe = recipe_of(WindowMonitors, width=2, window=window, contributions=2, monotone=monotone)
    # one event in each of two steps, in whichever key
    signs = (1,) if monotone else (1, -1)
    worst = 0.0
    for keys, way in product(product(range(2), repeat=STEPS), product(signs, repeat=STEPS)):
        change = [tuple(way[t] if keys[t] == key else 0 for t in range(STEPS)) for key in range(2)]
        for base in product(PLACES[::3], repeat=2):
            worst = max(worst, joint(recipe, base, change))
    assert 0.5 < worst <= 2 + 1e-4


def worst_over_keys(kind: type[WindowMonitors], keys: int) -> float:
    """A unit with an event in each of several keys, in a step of its own each."""
    recipe = recipe_of(kind, width=keys, window=1, contributions=keys)
    scales = scales_of(recipe)
    each = max(loss(xs, (xs[0] + 1, xs[1]), 1, 1, scales) for xs in PLACES)
    return keys * each


def test_noise_for_one_key_is_too_little_for_several() -> None:
    for keys in (3, 4, 8):
        assert worst_over_keys(WindowMonitors, keys) <= 2 + 1e-4
        assert worst_over_keys(OneKeyAtATime, keys) > 2.2
