"""The best parameters of private multiplicative weights, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, Unit
from ameles.core.parameters import Exact, exact
from ameles.mechanisms.interactive.multiplicative_weights import MultiplicativeWeights


def multiplicative_weights(
    *,
    epsilon: Exact,
    universe: int,
    rows: int,
    horizon: int,
    beta: float = 0.05,
    grid: int = 1,
    unit: Unit | str = EVENT,
) -> MultiplicativeWeights:
    """The recipe with the smallest error bound that does not halt, with probability 1 - beta.

    For c updates, tau = sqrt(ln|U| / 2c) and eta = 4 tau: then c updates suffice, since each
    lowers the relative entropy by 2 tau^2.  The threshold is what makes tau certain.  The best c is
    searched for; a quarter of epsilon is for answers, the rest is split as for a sparse vector.

    >>> recipe = multiplicative_weights(epsilon=1, universe=1024, rows=10**6, horizon=1000)
    >>> recipe.updates, recipe.error.bound_all(1000, 0.05)
    (609, 112820)
    """
    total = exact(epsilon, "epsilon")
    base = MultiplicativeWeights(
        universe=universe,
        rows=rows,
        threshold=1,
        updates=1,
        rate=4,
        threshold_epsilon=total,
        query_epsilon=total,
        answer_epsilon=total / 4,
        grid=grid,
        unit=unit,
        horizon=horizon,
    )
    tuned, refusals = list[MultiplicativeWeights](), list[BadInput]()
    for updates in _trials(base):
        try:
            tuned.append(_tuned(base, total, updates, horizon, beta))
        except BadInput as refusal:  # too much noise, or too large a threshold
            refusals.append(refusal)
    if not tuned:
        raise refusals[0]
    return min(tuned, key=lambda recipe: recipe.error.bound_all(horizon, beta))


def _trials(base: MultiplicativeWeights) -> list[int]:
    """Numbers of updates to try: 1 to 2^20, each about a twentieth more than the one before."""
    # with fewer than ln|U| / 2 updates, tau would exceed 1: no query is so far off
    least = max(1, math.ceil(math.log(base.universe) / 2))
    return sorted({round(least * 1.05**k) for k in range(280)})


def _tuned(
    base: MultiplicativeWeights, total: Fraction, updates: int, horizon: int, beta: float
) -> MultiplicativeWeights:
    compared = total * Fraction(3, 4)
    first = compared / (1 + Fraction(round(1000 * (2 * updates) ** (2 / 3)), 1000))
    # rounded up, so that tau is never below the one that the updates are counted by
    tau = math.sqrt(max(math.log(base.universe), 1e-9) / (2 * updates))
    recipe = replace(
        base,
        updates=updates,
        rate=Fraction(max(1, min(4000, round(4000 * tau))), 1000),
        threshold_epsilon=first,
        query_epsilon=compared - first,
    )
    error = recipe.error
    gap = max(
        math.ceil(tau * recipe.rows * recipe.grid * (1 + 1e-3)),
        math.ceil(error.release(min(horizon, updates), beta)) + 1,
    )
    while True:
        tried = replace(recipe, threshold=gap + math.ceil(error.comparison(horizon, beta)) + 1)
        if tried.error.most_updates(horizon, beta) < updates:
            return tried
        gap += 1 + gap // 100
