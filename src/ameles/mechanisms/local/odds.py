"""Local losses as odds: e^epsilon as a fraction, rounded so that the promise holds.

Theorem      a table whose largest ratio is at most r loses ln r.  e^epsilon is irrational, so a
             table for epsilon has the odds r = a / b, e^epsilon rounded down to 12 digits: its
             probabilities are fractions, it is drawn in whole numbers, and it loses at most epsilon
Exactness    odds that are given, such as 3, are used as they are; the loss ln 3 is then rounded up

>>> local_odds(Fraction(1), None)
Fraction(54365636569, 20000000000)
>>> local_loss(None, Fraction(3))
Fraction(109861228866811, 100000000000000)
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ameles.accounting.interval import Interval
from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact
from ameles.mechanisms.counters.gaussian.calibration import OptionalNumber

DIGITS = 12
LARGEST = 10**DIGITS  # numerator and denominator of odds
LEAST_EPSILON = Fraction(1, 10**4)


class LocalEpsilon(OptionalNumber):
    """The privacy loss of one report.  Above 20 nothing is hidden, below 1e-4 nothing is told."""

    def __init__(self) -> None:
        super().__init__(LEAST_EPSILON, 20)


class Odds(OptionalNumber):
    """e^epsilon as an exact number: how many times likelier the truth is than another answer."""

    def __init__(self) -> None:
        super().__init__(Fraction(10**4 + 1, 10**4), 10**8)

    def check(self, value: Exact | None) -> Fraction | None:
        odds = super().check(value)
        if odds is not None and odds.numerator > LARGEST:
            raise BadInput(
                f"The '{self.name}' parameter has too many digits.",
                why="reports are drawn in whole numbers of 64 bits",
                tip="at most 12 digits, such as 3 or '2.718'",
            )
        return odds


def require_one(epsilon: Fraction | None, odds: Fraction | None) -> None:
    """Refuses both and neither."""
    if (epsilon is None) == (odds is None):
        raise BadInput(
            "Exactly one of 'epsilon' and 'odds' must be given.",
            why="the odds are e^epsilon as an exact number",
            tip="epsilon=1, or odds=3 for a coin that decides whether the answer is the truth",
        )


class EpsilonOrOdds:
    """The part of a recipe that takes exactly one of ``epsilon`` and ``odds``."""

    epsilon: Any
    odds: Any

    def __post_init__(self) -> None:
        require_one(self.epsilon, self.odds)

    @property
    def table_odds(self) -> Fraction:
        """The odds of the table: e^epsilon rounded down, or those that were given."""
        return local_odds(self.epsilon, self.odds)

    @property
    def promised(self) -> Fraction:
        """The loss of one report."""
        return local_loss(self.epsilon, self.odds)


@lru_cache(maxsize=256)
def local_odds(epsilon: Fraction | None, odds: Fraction | None) -> Fraction:
    """The odds of the table: those that were given, or e^epsilon rounded down."""
    if odds is not None:
        return odds
    return Interval.of(epsilon or 0).exp().down(DIGITS)


@lru_cache(maxsize=256)
def local_loss(epsilon: Fraction | None, odds: Fraction | None) -> Fraction:
    """The loss that is promised: the epsilon that was given, or the logarithm of the odds."""
    if epsilon is not None:
        return epsilon
    return Interval.of(odds or 1).ln().up()


@lru_cache(maxsize=256)
def root_odds(odds: Fraction) -> Fraction:
    """The square root of odds, rounded down: for a loss that two coins share.

    >>> root_odds(Fraction(9, 4)), root_odds(Fraction(3)) ** 2 < 3
    (Fraction(3, 2), True)
    """
    exact = Fraction(math.isqrt(odds.numerator), math.isqrt(odds.denominator))
    if exact**2 == odds:
        return exact
    return Interval.of(odds).sqrt().down(DIGITS)
