"""Noisy top k: the k candidates with the highest noisy scores, in order.

Theorem      Dwork-Roth 2014, by its proof (catalogue 41): noise of scale 2 k Delta / epsilon on
             each score (k Delta / epsilon if they are monotone) is epsilon-private.  Shift the
             noise of each of the k that are listed so that its noisy score rises by Delta; the
             others rise by at most Delta, so the list stays
Neighbours   stated; between them every score changes by at most ``sensitivity`` (Delta)
Noise        discrete Laplace, independent for each score; ties are broken by a fair draw
Error        with probability 1 - beta, no listed one is more than 2 m below the k-th best, and
             all more than 2 m above it are listed; m is the exact bound on n noises together
Memory       nothing is kept

Only indices are released: the scores themselves would need a scale of n Delta / epsilon.

>>> from ameles.noise import Zero
>>> recipe = NoisyTopK(epsilon=1, candidates=4, k=2, neighbours="add-remove", monotone=True)
>>> recipe.start(Zero()).step([3, 14, 15, 9])
array([2, 1])
>>> recipe.error.bound(1, 0.05)
18
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.error import checks_step
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Whole
from ameles.mechanisms.one_shot.geometric import GeometricError
from ameles.mechanisms.one_shot.noisy_max import one_of
from ameles.mechanisms.one_shot.selection import Selection, check_scale
from ameles.mechanisms.one_shot.top_k import check_k
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class NoisyTopK(Selection[IntArray]):
    """The indices of the k highest noisy scores, the highest first.

    >>> from ameles.noise import Zero
    >>> recipe = NoisyTopK(epsilon=1, candidates=3, k=2, neighbours="replace")
    >>> recipe.start(Zero()).step([3, 14, 15])
    array([2, 1])
    """

    epsilon: Epsilon = Epsilon()
    k: Whole = Whole(1, 2**31)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_k(self.k, self.candidates)
        check_scale(self.scale)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise."""
        return self.k * self.spread / self.epsilon

    @property
    def loss(self) -> Pure:
        """Epsilon."""
        return Pure(self.epsilon)

    @property
    def error(self) -> NoisyTopKError:
        """By the law of the largest of n noises."""
        return NoisyTopKError(self.scale, self.candidates)

    def release(self, x: IntArray, noise: Noise) -> IntArray:
        noisy = x + noise.laplace(self.scale, x.size)
        last = np.partition(noisy, x.size - self.k)[x.size - self.k]
        left = np.flatnonzero(noisy >= last)
        chosen = np.empty(self.k, dtype=np.int64)
        for place in range(self.k):
            among = noisy[left]
            chosen[place] = one_of(left[among == among.max()], noise)
            left = left[left != chosen[place]]
        return chosen


@dataclass(frozen=True, slots=True)
class NoisyTopKError:
    """How far the list may be from the true top k, in points of score."""

    scale: Fraction
    candidates: int

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The list is right up to this much, with probability at least 1 - beta."""
        return 2 * GeometricError(self.scale, self.candidates).bound_entries(beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many lists together."""
        return self.bound(1, beta / steps)
