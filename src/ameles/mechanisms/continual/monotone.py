"""The transformation for quantities that only grow: changes and jump follow from the range.

Theorem      Dwork-Naor-Pitassi-Rothblum 2010, Claim 5.1, corrected (catalogue 15): if f rises
             within [0, R] and the answers are always within alpha of it, they move by more than
             d + 2 alpha at most floor(R / d) times; one more for a first value that is not 0.
             The same with c R for R, if f is a sum of parts each of which changes at most c times
             by what it may be worth: between two such moves f itself moves by more than d, and
             all its moves together are at most c R.  Users with exactly t occurrences: c = 2
Error        d + 2 alpha and what the transformation adds, which grows with the changes, R / d:
             the best d is found by computing the bound

>>> jumps(highest=1000, rise=100, alpha=2.5)
(11, 105)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact, exact, refuse, whole
from ameles.mechanisms.continual.estimators.estimator import Estimator, grid_units
from ameles.mechanisms.continual.transformation import Continual, continual


def jumps(*, highest: int, rise: int, alpha: float) -> tuple[int, int]:
    """How often answers within alpha of a rising f in [0, highest] may jump, and how far.

    ``rise`` is the d of the theorem; all are in units of the grid.
    """
    return highest // rise + 1, rise + math.ceil(2 * alpha)


def continual_monotone(
    algorithm: Estimator,
    *,
    highest: Exact,
    horizon: int,
    epsilon: Exact,
    sensitivity: Exact,
    grid: Exact = 1,
    beta: float = 0.05,
    crossings: int = 1,
) -> Continual:
    """Makes the estimator of a quantity that only rises, up to ``highest``, publish at every step.

    Changes and jump are those with the smallest error bound at ``beta`` for the whole horizon.
    ``crossings`` is how often each part of the quantity may change: more than once if it also
    falls.

    >>> from ameles.mechanisms.continual.estimators.distinct import ExactDistinct
    >>> recipe = continual_monotone(ExactDistinct(users=10**6), highest=10**6, horizon=365,
    ...                             epsilon=1, sensitivity=1)
    >>> recipe.changes, round(recipe.error.bound(365, 0.05))
    (126, 16261)
    """
    unit = exact(grid, "grid")
    if unit <= 0:
        raise refuse("grid", "above 0", grid)
    top = whole(grid_units(exact(highest, "highest"), unit), "highest", low=1, high=2**60)
    top *= whole(crossings, "crossings", low=1, high=1 << 20)
    rho = grid_units(exact(sensitivity, "sensitivity"), unit)
    # refuses, before anything is searched, what would be refused at the end
    first = continual(
        algorithm,
        horizon=horizon,
        epsilon=epsilon,
        changes=1,
        jump=top,
        sensitivity=rho,
        beta=beta,
    )
    alpha = algorithm.answer_error.bound_all(horizon, beta / 2)
    if not math.isfinite(alpha):
        raise BadInput(
            "The algorithm has no error bound at this beta, so no jump can be chosen.",
            tip="a larger beta, or continual(...) with a jump of your own",
        )

    @cache
    def at(changes: int) -> Continual:
        # the smallest rise with which the range has room for fewer than ``changes`` of them
        most, jump = jumps(highest=top, rise=top // changes + 1, alpha=alpha)
        return continual(
            algorithm,
            horizon=horizon,
            epsilon=epsilon,
            changes=most,
            jump=jump,
            sensitivity=rho,
            beta=beta,
        )

    def bound(changes: int) -> float:
        return at(changes).error.bound_all(horizon, beta)

    return at(_smallest(bound, start=_rule_of_thumb(top, rho, first.epsilon, horizon)))


def _rule_of_thumb(top: int, rho: int, epsilon: Fraction, horizon: int) -> int:
    """The changes that balance d against 6 rho k ln(4T) / epsilon (catalogue 15)."""
    return max(1, round(math.sqrt(top * epsilon / (6 * rho * math.log(4 * horizon)))))


def _smallest(bound: Callable[[int], float], *, start: int) -> int:
    """Where the bound is smallest, from a good start: it falls and then rises, up to rounding."""
    best, reach = start, start
    while reach:
        better = min((best, max(1, best - reach), best + reach), key=bound)
        if better == best:
            reach //= 2
        best = better
    return best
