"""Facility location: where to build k facilities, so that people say truthfully where they live.

Theorem      Nissim-Smorodinsky-Tennenholtz 2012; Dwork-Roth, theorem 10.5, corrected
             (catalogue 58).  People live at 0, 1/m, ..., 1; an outcome has k places; the reaction
             is which facility to use; the utility is 1 minus the distance.  For k = 1 there is
             one reaction only, nobody can be punished, and the theorem fails: there the private
             median is used, which is truthful up to tanh(epsilon / 2)
Neighbours   one person says that they live elsewhere
Noise        one exact choice; with several facilities also the coin of the punishing mechanism
Error        of the median: how many more people than needed may live on one side of it
Memory       nothing is kept

>>> recipe = facility_location(places=3, facilities=2, epsilon="0.01", agents=20)
>>> recipe.outcomes, recipe.gap, recipe.truthful
(16, Fraction(1, 24), True)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Exact, Whole, whole
from ameles.mechanisms.one_shot.selection import ExponentialError
from ameles.mechanisms.truthful.punishing import PunishingMechanism, smallest_punishment
from ameles.mechanisms.truthful.reports import (
    LARGEST_TABLE,
    PrivateChoice,
    exponential_law,
    largest_gain,
    reports_of,
)
from ameles.noise.arrays import IntArray

FINEST = 1000  # punishment probabilities are multiples of one over this


def facility_location(
    *,
    places: int,
    facilities: int,
    epsilon: Exact,
    agents: int,
    punish: Exact | None = None,
    neighbours: Neighbours | str = Neighbours.REPLACE,
) -> PunishingMechanism:
    """The punishing mechanism for k facilities at ``places`` + 1 points from 0 to 1.

    ``punish`` is the smallest multiple of 1/1000 at which every lie loses, unless it is given.

    >>> facility_location(places=2, facilities=1, epsilon=1, agents=3)
    Traceback (most recent call last):
    ameles.core.exceptions.BadInput: error[input]: With one facility nobody can be punished.
      why: there is one reaction only: everybody uses that facility
      try: MedianLocation, whose lies gain at most tanh(epsilon / 2)
    """
    m = whole(places, "places", low=1, high=64)
    k = whole(facilities, "facilities", low=1, high=6)
    if k == 1:
        raise BadInput(
            "With one facility nobody can be punished.",
            why="there is one reaction only: everybody uses that facility",
            tip="MedianLocation, whose lies gain at most tanh(epsilon / 2)",
        )
    cells = (m + 1) ** (k + 1) * k
    if cells > LARGEST_TABLE:
        raise BadInput(
            f"So many places and facilities need a table of {cells} utilities. At most "
            f"{LARGEST_TABLE} are allowed.",
            why="the gap is computed exactly, over all outcomes",
            tip="fewer places or fewer facilities",
        )
    points = [Fraction(place, m) for place in range(m + 1)]
    spots = list(itertools.product(points, repeat=k))
    utilities = [
        [[1 - abs(home - spot) for spot in outcome] for outcome in spots] for home in points
    ]

    def recipe(q: Exact) -> PunishingMechanism:
        return PunishingMechanism(
            epsilon=epsilon, agents=agents, punish=q, utilities=utilities, neighbours=neighbours
        )

    if punish is not None:
        return recipe(punish)
    gap = recipe(0).gap
    least = smallest_punishment(gap, largest_gain(epsilon))
    return recipe(Fraction(min(FINEST, int(least * FINEST) + 1), FINEST))


@dataclass(frozen=True, kw_only=True)
class MedianLocation(PrivateChoice[int]):
    """One facility, at the private median of where people say that they live.

    A place scores minus the larger of the numbers of people on its two sides, which one report
    changes by at most one.

    >>> from ameles.noise import Zero
    >>> recipe = MedianLocation(epsilon=1, agents=5, places=10, neighbours="replace")
    >>> recipe.start(Zero()).step([0, 1, 7, 8, 10])
    7
    """

    epsilon: Epsilon = Epsilon()
    places: Whole = Whole(1, 2**20)

    @property
    def error(self) -> ExponentialError:
        """How many more people than needed may live on one side."""
        return ExponentialError(2 / self.epsilon, Fraction(self.places))

    def checked(self, x: object) -> IntArray:
        return reports_of(x, self.agents, self.places)

    def sides(self, reports: IntArray) -> IntArray:
        """For each place the larger of the numbers of people on its left and on its right."""
        here = np.bincount(reports, minlength=self.places + 1).astype(np.int64)
        upto = np.cumsum(here)
        return np.asarray(np.maximum(upto - here, len(reports) - upto))

    def release(self, x: IntArray, noise: Noise) -> int:
        sides = self.sides(x)
        return noise.pick(sides - sides.min(), self.epsilon / 2)

    def law(self, reports: Sequence[int]) -> list[float]:
        """The probability of each place."""
        sides = self.sides(self.checked(list(reports))).tolist()
        return exponential_law([Fraction(-side) for side in sides], self.epsilon / 2)
