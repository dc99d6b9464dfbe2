"""Exponential mechanism: chooses a candidate; a better score makes a candidate likelier.

Theorem      McSherry-Talwar 2007 (catalogue 39): candidate r with probability proportional to
             gamma(r) exp(epsilon q(r) / (2 Delta)) is epsilon-private; if the scores are
             monotone, so is exp(epsilon q(r) / Delta).  gamma is public
Neighbours   stated; between them every score q changes by at most ``sensitivity`` (Delta)
Noise        one exact choice
Error        the score is below the best by s or more with probability at most
             o / (o + e^(s / b)), b = 2 Delta / epsilon (monotone: Delta / epsilon), o = n - 1 or,
             with a measure, gamma(all others) / gamma(the lightest); its mean is at most
             b ln(1 + o).  The bound that is usually stated is b (ln n + ln(1 / beta))
Memory       nothing is kept

>>> from ameles.noise import Zero
>>> recipe = ExponentialMechanism(epsilon=1, candidates=3, neighbours="replace")
>>> recipe.start(Zero()).step([3, 14, 15])
2
>>> recipe.error.bound(1, 0.05), round(recipe.error.mean, 2)
(7, 2.2)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Exact, Parameter, exact, refuse
from ameles.mechanisms.one_shot.selection import ExponentialError, Selection
from ameles.noise.arrays import IntArray
from ameles.noise.system import LARGEST_WEIGHT


class CandidateWeights(Parameter[Sequence[Exact] | None, tuple[Fraction, ...] | None]):
    """A weight above zero for each candidate; None: all weigh the same."""

    def __init__(self) -> None:
        super().__init__(None)

    def check(self, value: Sequence[Exact] | None) -> tuple[Fraction, ...] | None:
        if value is None:
            return None
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise refuse(self.name, "a list with one number for each candidate", value)
        weights = tuple(exact(weight, self.name) for weight in value)
        if not all(weight > 0 for weight in weights):
            raise BadInput(
                f"Each of the '{self.name}' must be above 0.",
                why="a candidate with weight 0 could never be chosen",
            )
        return weights


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism(Selection[int]):
    """The index of a candidate, chosen by exponential weights.

    ``weights`` are the base measure, for candidates that stand for more or less than others.

    >>> from ameles.noise import Zero
    >>> recipe = ExponentialMechanism(
    ...     epsilon=1, candidates=2, neighbours="replace", weights=["0.9", "0.1"])
    >>> recipe.start(Zero()).step([3, 14])
    1
    """

    epsilon: Epsilon = Epsilon()
    weights: CandidateWeights = CandidateWeights()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights is None:
            return
        if len(self.weights) != self.candidates:
            raise refuse("weights", f"{self.candidates} numbers", f"{len(self.weights)} of them")
        if max(_whole(self.weights)) >= LARGEST_WEIGHT:
            raise BadInput(
                "The 'weights' must be whole numbers below 2**62 over one common denominator.",
                tip="weights that are rounded to a few digits",
            )

    @property
    def rate(self) -> Fraction:
        """One more point of score makes a candidate e^rate times likelier."""
        return self.epsilon / self.spread

    @property
    def loss(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon)

    @property
    def error(self) -> ExponentialError:
        """The worst case over all scores."""
        if self.weights is None:
            return ExponentialError(1 / self.rate, Fraction(self.candidates - 1))
        return ExponentialError(1 / self.rate, sum(self.weights) / min(self.weights) - 1)

    def release(self, x: IntArray, noise: Noise) -> int:
        weights = None
        if self.weights is not None:
            weights = np.array(_whole(self.weights), dtype=np.int64)
        return noise.pick(-x, self.rate, weights)


@lru_cache(maxsize=16)
def _whole(weights: tuple[Fraction, ...]) -> tuple[int, ...]:
    """The weights over their common denominator."""
    common = math.lcm(*(weight.denominator for weight in weights))
    return tuple(int(weight * common) for weight in weights)
