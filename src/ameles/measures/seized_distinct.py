"""Distinct users from a table of noisy bits, which may be seized once: mechanism, count, interval.

A keyed hash gives each user one cell of the table; every event of the user redraws the cell's bit.
Each step queries the table afresh, or through the transformation if that has the smaller error.
The query is the number of bits that are set: its mean is half of the cells, plus gamma for each
cell that was hit.

Hits         D users hit cells(1 - (1 - 1/cells)^D) cells on average.  The published count is this
             inverted at the estimated hits: what collisions hide is put back, on average
Interval     the hits differ from their mean like a sum of independent bits or less (they are
             negatively associated), and the bits given the hits are independent.  So the error of
             the answer is below gamma^2 cells + cells squared ranges (Hoeffding's lemma) and the
             answer's own noise (discrete Gaussian noise of variance v has a moment generating
             function of at most exp(v h^2 / 2)): that of the privacy and of the hash together
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.core.error import checks_step
from ameles.core.guarantee import Neighbours
from ameles.core.recipe import Recipe
from ameles.measures.expected import expected
from ameles.measures.measure import BETA, Published
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.distinct import NoisyDistinct
from ameles.mechanisms.continual.monotone import continual_monotone
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.transformation import CODE, PRICE, Continual
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.pan_private.estimate import EstimateError
from ameles.noise.arrays import IntArray

# The share of the privacy loss for the state is searched in this many parts.
PARTS = 20
# The largest probability, on any stream, that the transformation ever halts.
HALTS = 0.01

FULL, HALTED, RESTARTED = "full", "halted", "restarted"
SEIZED_INTERVAL = (
    "the numbers of users that agree with the hits, given this noise and the chance of collisions"
)


@dataclass(frozen=True, slots=True)
class HashedBits:
    """The error of the number of set bits: its distance from the mean for that number of users."""

    cells: int
    gamma: float

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """Hoeffding's bound, for the bits and the hits."""
        spread = self.cells * (1 + self.gamma**2)
        return math.sqrt(spread * math.log(2 / beta) / 2) + self.cells % 2 / 2

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """A union bound over the steps."""
        return self.bound(steps, beta / steps)


@lru_cache(maxsize=64)
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
    recipes: list[Afresh | Continual] = []
    for part in range(1, PARTS):
        share = epsilon * part / PARTS
        table = NoisyDistinct(users=cells, epsilon=share, neighbours=Neighbours.USER_PRESENCE)
        rest = epsilon - share
        fresh = Afresh(algorithm=table, epsilon=rest, horizon=steps, sensitivity=1)
        recipes.append(fresh)
        if delta:
            recipes.append(replace(fresh, delta=delta))
        if steps > 1:
            recipes.append(
                continual_monotone(
                    table,
                    highest=table.highest,
                    horizon=steps,
                    epsilon=rest / PRICE,
                    sensitivity=table.sensitivity,
                    beta=HALTS,
                )
            )
    best = min(recipes, key=lambda recipe: reach(recipe, steps))
    if not windows:
        return best
    return Renewed(inner=best, horizon=horizon)


def reach(recipe: Recipe, t: int, beta: float = BETA) -> float:
    """The distance between the estimated hits and their mean at a step that is exceeded with
    probability at most beta."""
    table = table_of(recipe)
    inner = inner_of(recipe)
    odd = table.users % 2 / (2 * table.gamma)
    if isinstance(inner, Afresh) and inner.variance is not None:
        proxy = table.users * (1 + table.gamma**2) / 4 + float(inner.variance)
        return math.sqrt(2 * proxy * math.log(2 / beta)) / table.gamma + odd
    if isinstance(inner, Afresh):
        error = EstimateError(
            unit=1 / table.gamma,
            variance=table.users * (1 + table.gamma**2) / 4,
            spread=table.users * (1 + table.gamma**2),
            weights=(1.0,),
            scale=inner.scale,
        )
        return max(error.margins(beta)) + odd
    hashed = replace(inner.error, answers=HashedBits(table.users, table.gamma))
    return hashed.published((t - 1) % inner.horizon + 1, beta) / table.gamma


def seized_why(recipe: Recipe) -> str:
    """Why users are counted in this way."""
    inner = inner_of(recipe)
    if isinstance(inner, Afresh):
        steps = "1 step" if inner.horizon == 1 else f"{inner.horizon} steps"
        how = f"querying its table afresh at each of {steps} has the smallest error"
    else:
        how = (
            f"over {inner.horizon} steps a number that changes at most {inner.changes} times has "
            "the smallest error"
        )
    return f"{how}; it begins anew with every window" if inner is not recipe else how


def seized_noise(recipe: Recipe) -> str:
    """The noise of the bits, and of their sum."""
    table, inner = table_of(recipe), inner_of(recipe)
    answers = inner.decision_scale if isinstance(inner, Continual) else inner.scale
    law = f"discrete Laplace of scale {float(answers):.6g}"
    if isinstance(inner, Afresh) and inner.variance is not None:
        law = f"discrete Gaussian of deviation {math.sqrt(inner.variance):.6g}"
    return (
        f"each of {table.users:,} bits is 1 with probability 1/2, of cells that were hit "
        f"{0.5 + table.gamma:.3g}; {law} on their sum"
    )


def table_of(recipe: Recipe) -> NoisyDistinct:
    """The table that a recipe queries."""
    return expected(inner_of(recipe).algorithm, NoisyDistinct)


def inner_of(recipe: Recipe) -> Afresh | Continual:
    """The inner recipe that queries the table; for windows, the one of a single window."""
    inner: object = recipe.inner if isinstance(recipe, Renewed) else recipe
    return inner if isinstance(inner, Afresh) else expected(inner, Continual)


def users_hitting(hits: NDArray[np.float64], cells: int) -> NDArray[np.float64]:
    """The number of users that hit this many cells on average: it corrects for collisions.

    Above all cells but one, the table cannot tell the number; below zero there is nothing to
    correct.

    >>> users_hitting(np.array([-5.0, 0.0, 9_516.0, 1e9]), 100_000).round().tolist()
    [-5.0, 0.0, 10000.0, 1151287.0]
    """
    inside = np.clip(hits, 0, cells - 1)
    counted: NDArray[np.float64] = np.log1p(-inside / cells) / math.log1p(-1 / cells)
    return np.where(hits < 0, hits, counted)


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
    steps = range(first, first + len(outputs))
    half = np.array([reach(recipe, step) for step in steps])[:, None]
    value = np.round(users_hitting(hits, cells))
    low = np.floor(users_hitting(hits - half, cells))
    high = np.ceil(users_hitting(hits + half, cells))
    since = max(ended, default=0)
    again = np.array([since and _window_of(recipe, step) <= since for step in steps])[:, None]
    label = np.where(hits + half > cells - 1, FULL, np.where(again, RESTARTED, ""))
    label = np.where(halted, HALTED, label)
    if halted.any():
        value, low, high = (np.where(halted, np.nan, numbers) for numbers in (value, low, high))
        return Published(value=value, low=low, high=high, label=label)
    whole = (numbers.astype(np.int64) for numbers in (value, low, high))
    return Published(**dict(zip(("value", "low", "high"), whole, strict=True)), label=label)


def _window_of(recipe: Recipe, step: int) -> int:
    """The first step of the span that a step counts."""
    return step - (step - 1) % inner_of(recipe).horizon


def users_fit(cells: int) -> int:
    """About how many users a table can count: with that many, one cell in twenty is not hit."""
    return int(float(f"{cells * math.log(20):.2g}"))
