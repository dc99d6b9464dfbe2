"""How a table of users that may be seized is published: the mechanism, its error, its words.

A keyed hash gives each user one cell of the table; the bits of a cell say, noisily, what its users
did.  Each step queries the table afresh, or through the transformation if that has the smaller
error.  The mean of an answer is gamma times the number of cells of which the statistic is true:
the hits.

Error        the hits differ from their mean as a sum of independent parts or less.  For statistics
             that only grow with a user's events the cells are negatively associated, and a user who
             is hashed elsewhere moves the hits by at most 1; for others by at most 2, so that a
             user's range is 2 (McDiarmid).  So E exp(h R) <= exp(h^2 V / 8) for the hits R, V
             gamma^2 times the squared ranges (Hoeffding's lemma).  The bits given the hits are
             independent coins.  ``coin_tails`` has the tails of bits, hits and the answer's own
             noise together: those of the privacy and of the hash
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.core.recipe import Recipe
from ameles.measures.expected import expected, noisy_table
from ameles.measures.measure import BETA
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.noisy_table import BitsError, NoisyTable
from ameles.mechanisms.continual.monotone import continual_monotone
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.continual.transformation import PRICE, Continual
from ameles.mechanisms.mechanism import AnyMechanism
from ameles.mechanisms.pan_private.estimate import EstimateError
from ameles.noise.arrays import IntArray

# A cell is a byte or a few, and the table is sealed again whenever events arrive.
MOST_CELLS = 1 << 24
# The share of the privacy loss for the state is searched in this many parts.
PARTS = 20
# The largest probability, on any stream, that the transformation ever halts.
HALTS = 0.01

FULL, HALTED, RESTARTED = "full", "halted", "restarted"


def hashed_bits(table: NoisyTable, hashes: float) -> BitsError:
    """The error of an answer: its distance from the mean for the users that there were.

    ``hashes``: the squared ranges of the hash, for each cell.
    """
    rest = table.users * table.gamma**2 * hashes / 4
    return BitsError(table.users, table.weights, table.ones % 2, rest)


@lru_cache(maxsize=256)
def table_recipe(
    table: NoisyTable,
    *,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    steps: int,
    horizon: int | None,
    windows: bool,
    hashes: float = 1.0,
    most: int | None = None,
) -> AnyMechanism:
    """The mechanism with the smallest half-width over the steps, for users or their windows.

    Of ``table`` everything counts but its epsilon.  ``most`` is the number of cells that can be
    hit, if that is not all of them.
    """
    recipes: list[Afresh | Continual] = []
    for part in range(1, PARTS):
        share = epsilon * part / PARTS
        mine = replace(table, epsilon=share)
        rest = epsilon - share
        fresh = Afresh(algorithm=mine, epsilon=rest, horizon=steps, sensitivity=mine.sensitivity)
        recipes.append(fresh)
        if delta:
            recipes.append(replace(fresh, delta=delta))
        if steps > 1:
            recipes.append(
                continual_monotone(
                    mine,
                    highest=mine.highest if most is None else math.ceil(mine.gamma * most),
                    horizon=steps,
                    epsilon=rest / PRICE,
                    sensitivity=mine.sensitivity,
                    beta=HALTS,
                    crossings=mine.crossings,
                )
            )
    best = min(recipes, key=lambda recipe: reach(recipe, steps, hashes=hashes))
    if not windows:
        return best
    return Renewed(inner=best, horizon=horizon)


def reach(recipe: Recipe, t: int, beta: float = BETA, *, hashes: float = 1.0) -> float:
    """The distance between the estimated hits and their mean at a step that is exceeded with
    probability at most beta."""
    table = table_of(recipe)
    inner = inner_of(recipe)
    bits = hashed_bits(table, hashes)
    odd = bits.odd / (2 * table.gamma)
    if isinstance(inner, Afresh) and inner.variance is not None:
        normal = float(inner.variance)
        tails, high = bits.tails(normal=normal), bits.spread(beta, normal=normal)
        return tails.quantile(beta, high) / table.gamma + odd
    if isinstance(inner, Afresh):
        error = EstimateError(
            unit=1 / table.gamma,
            variance=bits.variance,
            spread=4 * bits.variance,
            weights=(1.0,),
            scale=inner.scale,
            coins=bits.tails().coins,
            rest=bits.rest,
        )
        return max(error.margins(beta)) + odd
    hashed = replace(inner.error, answers=bits)
    return hashed.published((t - 1) % inner.horizon + 1, beta) / table.gamma


def table_why(recipe: Recipe) -> str:
    """Why the table is published in this way."""
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


def answer_noise(recipe: Recipe) -> str:
    """The noise of an answer."""
    inner = inner_of(recipe)
    if isinstance(inner, Afresh) and inner.variance is not None:
        return f"discrete Gaussian of deviation {math.sqrt(inner.variance):.6g}"
    answers = inner.decision_scale if isinstance(inner, Continual) else inner.scale
    return f"discrete Laplace of scale {float(answers):.6g}"


def table_of(recipe: Recipe) -> NoisyTable:
    """The table that a recipe queries."""
    return noisy_table(inner_of(recipe).algorithm)


def inner_of(recipe: Recipe) -> Afresh | Continual:
    """The inner recipe that queries the table; for windows, the one of a single window."""
    inner: object = recipe.inner if isinstance(recipe, Renewed) else recipe
    return inner if isinstance(inner, Afresh) else expected(inner, Continual)


def counted_anew(steps: IntArray, span: int, ended: tuple[int, ...]) -> NDArray[np.bool_]:
    """Whether each step, in spans of so many, counts only what came after a restart.

    ``ended`` has the last released step of each lost epoch.  The step after it was open when the
    state was lost, and the events that it had by then are lost, too.

    >>> counted_anew(np.arange(1, 8), 3, ended=(3,)).tolist()
    [False, False, False, True, True, True, False]
    """
    first, last = steps - (steps - 1) % span, steps
    lost = np.array(ended, dtype=np.int64)[:, None] + 1
    anew: NDArray[np.bool_] = np.logical_or.reduce((first <= lost) & (lost <= last), axis=0)
    return anew
