"""Dual vectors: from a solver's floats to whole numbers that prove a bound from below.

Any whole vector proves some bound, because it is scaled to the allowed length; the right one proves
the exact bound.  Most right ones are multiples of small whole numbers.  If weights are fractions
they are not, and the vector is moved to where it is exactly tight at the draws at which it nearly
is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from ameles.audit.algebra import Floats, Whole, product, solve_or_refute, whole_array
from ameles.audit.finding import Amount
from ameles.audit.shift import Price

# How close to its limit a draw must be to count as tight.
NEAR = 1e-7
# A float vector is rounded to about this many binary digits before it is moved.
FINE = 40


def rounded_duals(dual: Floats) -> list[list[int]]:
    """Whole vectors in nearly the direction of a float vector, coarse ones first."""
    size = float(np.abs(dual).max(initial=0))
    if not size:
        return []
    small = float(np.abs(dual[np.abs(dual) > 1e-6 * size]).min())
    units = (small, small / 2, small / 12, small / 5040, size / 2**40)
    return [[int(value) for value in np.rint(dual / unit)] for unit in units]


def tight_dual(matrix: Whole, dual: Floats, rates: Sequence[Fraction]) -> Iterator[list[int]]:
    """The exact vector that is tight at the same draws as a float vector, if there is one.

    If there are many, one near the float vector, since others may exceed the limits of other draws.
    """
    pull = matrix.T.astype(np.float64) @ dual
    limits = np.array([float(rate) for rate in rates])
    share = np.abs(pull) / limits
    length = float(share.max(initial=0))
    if not length:
        return
    tight = [int(i) for i in np.flatnonzero(share >= (1 - NEAR) * length)]
    # all in units of 1 / factor, in which the limits and the rounded vector are whole
    fine = max(1, round(2**FINE * length / float(np.abs(dual).max())))
    factor = math.lcm(*(rates[i].denominator for i in tight)) * fine
    near = [round(Fraction(y) * factor) for y in (dual / length).tolist()]
    wanted = [int(rates[i] * factor) * (1 if pull[i] > 0 else -1) for i in tight]
    rows = matrix.T[tight]
    missing = whole_array(wanted) - product(rows, whole_array(near))
    solved, moves = solve_or_refute(rows, missing)
    if solved:
        common = math.lcm(*(move.denominator for move in moves))
        vector = [int((y + move) * common) for y, move in zip(near, moves, strict=True)]
        divisor = math.gcd(*vector)
        yield [y // divisor for y in vector]


def bound_from_below(
    price: Price,
    matrix: Whole,
    target: Whole,
    rates: Sequence[Fraction],
    duals: Iterable[Sequence[int]],
    enough: Amount,
) -> Amount:
    """The best bound that these whole dual vectors prove; stops at the first that suffices."""
    best: Amount = Fraction(0)
    for dual in duals:
        y = whole_array(dual)
        pull = [int(value) for value in product(matrix.T, y)]
        best = max(best, price.below(pull, int(product(y, target)), rates))
        if best >= enough:
            break
    return best
