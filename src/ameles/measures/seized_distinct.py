"""Distinct users from a table of noisy bits, which may be seized once: count, interval, words.

Every event of a user redraws the bit of the user's cell (``table_choice``).

Hits         D users hit cells(1 - (1 - 1/cells)^D) cells on average.  The published count is this
             inverted at the estimated hits: what collisions hide is put back, on average
Interval     the same of both ends of the interval for the mean of the hits
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ameles.core.guarantee import Neighbours
from ameles.core.recipe import Recipe
from ameles.measures.collisions import users_hitting
from ameles.measures.measure import Published
from ameles.measures.table_choice import (
    FULL,
    HALTED,
    RESTARTED,
    answer_noise,
    counted_anew,
    inner_of,
    reach,
    table_of,
    table_recipe,
)
from ameles.mechanisms.continual.estimators.distinct import NoisyDistinct
from ameles.mechanisms.continual.transformation import CODE
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.noise.arrays import IntArray

SEIZED_INTERVAL = (
    "the numbers of users that agree with the hits, given this noise and the chance of collisions"
)


def distinct_table(cells: int) -> NoisyDistinct:
    """The table of a number of cells, at some epsilon."""
    return NoisyDistinct(users=cells, epsilon=1, neighbours=Neighbours.USER_PRESENCE)


def seized_recipe(
    *,
    cells: int,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    steps: int,
    horizon: int | None,
    windows: bool,
) -> AnyMechanism:
    """The mechanism with the smallest half-width over the steps, for users or their windows."""
    return table_recipe(
        distinct_table(cells),
        epsilon=epsilon,
        delta=delta,
        steps=steps,
        horizon=horizon,
        windows=windows,
    )


def seized_noise(recipe: Recipe) -> str:
    """The noise of the bits, and of their sum."""
    table = table_of(recipe)
    return (
        f"each of {table.users:,} bits is 1 with probability 1/2, of cells that were hit "
        f"{0.5 + table.gamma:.3g}; {answer_noise(recipe)} on their sum"
    )


def counted(
    recipe: Recipe, outputs: IntArray, first: int, ended: tuple[int, ...] = ()
) -> Published:
    """Users, from the noisy numbers of bits that are set at steps first, first + 1, ...

    The tables of the epochs that have ``ended`` were lost: their users are not counted, and those
    who come again are counted again; the label says so.
    """
    table = table_of(recipe)
    cells = table.users
    halted = outputs == CODE
    hits = (np.where(halted, 0, outputs) - cells % 2 / 2) / table.gamma
    steps = np.arange(first, first + len(outputs))
    half = np.array([reach(recipe, int(step)) for step in steps])[:, None]
    value = np.round(users_hitting(hits, cells))
    low = np.floor(users_hitting(hits - half, cells))
    high = np.ceil(users_hitting(hits + half, cells))
    again = counted_anew(steps, inner_of(recipe).horizon, ended)[:, None]
    label = np.where(hits + half > cells - 1, FULL, np.where(again, RESTARTED, ""))
    label = np.where(halted, HALTED, label)
    if halted.any():
        value, low, high = (np.where(halted, np.nan, numbers) for numbers in (value, low, high))
        return Published(value=value, low=low, high=high, label=label)
    whole = (numbers.astype(np.int64) for numbers in (value, low, high))
    return Published(**dict(zip(("value", "low", "high"), whole, strict=True)), label=label)


def users_fit(cells: int) -> int:
    """About how many users a table can count: with that many, one cell in twenty is not hit."""
    return int(float(f"{cells * math.log(20):.2g}"))
