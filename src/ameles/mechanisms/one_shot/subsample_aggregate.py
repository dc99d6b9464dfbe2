"""Subsample and aggregate: any statistic, computed on blocks of units, and a private median of
them.

Theorem      Nissim-Raskhodnikova-Smith 2007 with the exponential mechanism (catalogue 39, 66):
             units are split into k blocks, each unit in one.  One unit changes the answer of one
             block, by any amount, so the rank of any value changes by at most 1.
             A value v is published with weight exp(-epsilon r(v) / 2), r(v) the larger of how many
             answers are below and above v
Neighbours   stated; one unit changes one answer
Noise        exact: values between two answers have the same weight and are picked as one
Error        with probability 1 - beta, r of the release exceeds the least by at most
             (2 / epsilon) ln((largest + 1) / beta) blocks
Memory       nothing is kept

It needs no sensitivity of the statistic.  It is accurate if blocks of n / k units agree with each
other.  For their mean, give the sum of the answers to a ``GeometricMechanism`` whose sensitivity is
``largest``.

>>> from ameles.noise import Zero
>>> recipe = SubsampleAggregate(epsilon=1, blocks=5, largest=1000, neighbours="add-remove")
>>> recipe.start(Zero()).step([480, 510, 500, 0, 490])
490
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ameles.core.error import checks_step
from ameles.core.guarantee import Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Whole
from ameles.mechanisms.one_shot.exact_inputs import rows_of
from ameles.mechanisms.one_shot.one_shot import Look
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class SubsampleAggregate(Look[int]):
    """A value in the middle of the answers of disjoint blocks of units, from 0 to ``largest``.

    >>> recipe = SubsampleAggregate(epsilon=1, blocks=100, largest=1000, neighbours="add-remove")
    >>> round(recipe.error.bound(1, 0.05))  # blocks
    20
    """

    norm: ClassVar[Norm] = Norm.L1

    epsilon: Epsilon = Epsilon()
    blocks: Whole = Whole(1, 2**32)
    largest: Whole = Whole(1, 2**40)

    @property
    def reach(self) -> int:
        """One answer may change from one end to the other."""
        return self.largest

    @property
    def loss(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon)

    @property
    def rate(self) -> Fraction:
        """What one more rank costs in the exponent."""
        return self.epsilon / 2

    @property
    def error(self) -> RankError:
        """How far from the middle the release may be, in blocks."""
        return RankError(self.epsilon, self.largest)

    def checked(self, x: object) -> IntArray:
        return np.sort(rows_of(x, self.blocks, self.largest))

    def release(self, x: IntArray, noise: Noise) -> int:
        places = np.unique(x)
        # each answer, and before each and after the last the values between
        starts = np.concatenate(([0], places + 1))
        lengths = np.concatenate((places, [self.largest + 1])) - starts
        first = np.stack((starts[:-1], places), axis=1).ravel()
        first = np.concatenate((first, starts[-1:]))
        weights = np.stack((lengths[:-1], np.ones_like(places)), axis=1).ravel()
        weights = np.concatenate((weights, lengths[-1:]))
        below = np.searchsorted(x, first, side="left")
        above = len(x) - np.searchsorted(x, first, side="right")
        ranks = np.maximum(below, above)
        possible = weights > 0
        first, weights, ranks = first[possible], weights[possible], ranks[possible]
        place = noise.pick(ranks - ranks.min(), self.rate, weights)
        return int(first[place]) + int(noise.uniform(int(weights[place]), 1)[0])


@dataclass(frozen=True, slots=True)
class RankError:
    """How many more answers than needed may be on one side of the release."""

    epsilon: Fraction
    largest: int

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The rank is this close to the best one with probability at least 1 - beta."""
        return 2 * math.log((self.largest + 1) / beta) / float(self.epsilon)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many releases together."""
        return self.bound(1, beta / steps)
