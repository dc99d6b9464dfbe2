"""The shared part of mechanisms that choose among candidates by their scores.

Each of a public number of candidates has a score, a whole number; higher is better.  One unit may
change every score, each by at most ``sensitivity``.  Scores are *monotone* if one unit moves all of
them in the same direction, as counts do when a row is added; they need half the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Generic, TypeVar

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours, Norm
from ameles.core.parameters import Switch, Whole
from ameles.mechanisms.one_shot.exact_inputs import scores
from ameles.mechanisms.one_shot.one_shot import OneShot
from ameles.noise.arrays import IntArray

Chosen = TypeVar("Chosen")
ONE_WAY = (Neighbours.ADD_REMOVE, Neighbours.USER_PRESENCE)
# Noise of this scale exceeds 2**60 with probability exp(-2**10), so scores with noise do not wrap.
LARGEST_SCALE = 1 << 50
# Bounds are computed in floats; this much is added to what they are compared with.
GUARD = 1e-9


@dataclass(frozen=True, kw_only=True)
class Selection(OneShot[Chosen], Generic[Chosen]):
    """Chooses among ``candidates`` by their scores."""

    norm: ClassVar[Norm] = Norm.MAX

    candidates: Whole = Whole(1, 2**31)
    monotone: Switch = Switch(False)

    def __post_init__(self) -> None:
        if self.monotone and self.neighbours not in ONE_WAY:
            raise BadInput(
                "Scores can be monotone only where rows or users are added or removed.",
                why="a replaced row may move one score up and another down",
                tip="monotone=False, which doubles the noise",
            )

    @property
    def spread(self) -> int:
        """By how much one unit can change the difference of two scores."""
        return self.sensitivity if self.monotone else 2 * self.sensitivity

    def checked(self, x: object) -> IntArray:
        return scores(x, self.candidates)


def check_scale(scale: Fraction) -> None:
    """Refuses noise that could wrap in a comparison."""
    if scale > LARGEST_SCALE:
        raise BadInput(
            "These parameters need noise that does not fit into 64 bits.",
            why="its scale is the change of a score over epsilon",
            tip="a larger epsilon or a smaller sensitivity",
        )


@dataclass(frozen=True, slots=True)
class ExponentialError:
    """How much worse than the best the chosen candidate may be.

    The worst case is one candidate at the top and all others at the same distance below it.
    ``odds`` is the weight of those others in units of the top's.
    """

    scale: Fraction
    odds: Fraction

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The score is this close to the best, with probability at least 1 - beta."""
        # P(distance >= s) = odds e^(-s/scale) / (1 + odds e^(-s/scale)) in the worst case
        odds = float(self.odds) * (1 - beta) / beta
        if odds <= 1:
            return 0
        return max(0, math.ceil(float(self.scale) * math.log(odds) * (1 + GUARD)) - 1)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many choices together."""
        return self.bound(1, beta / steps)

    @property
    def mean(self) -> float:
        """The expected distance from the best is at most this."""
        return float(self.scale) * math.log1p(float(self.odds))
