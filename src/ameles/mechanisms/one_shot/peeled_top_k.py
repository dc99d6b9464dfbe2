"""Peeled top k: k exponential mechanisms, one after the other, each without those already chosen.

Theorem      composition of k exponential mechanisms of epsilon / k each (catalogue 41).  The list
             has the law of one-shot Gumbel noise of scale 2 k Delta / epsilon on each score, in
             order.  A mechanism of epsilon_0 is epsilon_0^2 / 8 - zCDP (Dong-Durfee-Rogers 2020,
             Cesar-Rogers 2021), so k of them are k epsilon_0^2 / 8: far less for long lists
Neighbours   stated; between them every score changes by at most ``sensitivity`` (Delta)
Noise        k exact choices; with rho, epsilon_0 = sqrt(8 rho / k) is rounded down
Error        with probability 1 - beta, no listed one is more than s below the k-th best, and
             all more than s above it are listed; s is the error of one choice at beta / k.  The
             bound that is usually stated is (2 k Delta / epsilon) (ln n + ln(k / beta))
Memory       nothing is kept

>>> from ameles.noise import Zero
>>> recipe = PeeledTopK(epsilon=1, candidates=4, k=2, neighbours="add-remove", monotone=True)
>>> recipe.start(Zero()).step([3, 14, 15, 9])
array([2, 1])
>>> recipe.error.bound(1, 0.05)
9
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.loss import Concentrated, Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Whole
from ameles.mechanisms.counters.gaussian.calibration import OptionalEpsilon, OptionalRho
from ameles.mechanisms.one_shot.selection import ExponentialError, Selection
from ameles.mechanisms.one_shot.top_k import check_k
from ameles.noise.arrays import IntArray

ROOT_DIGITS = 10**18


@dataclass(frozen=True, kw_only=True)
class PeeledTopK(Selection[IntArray]):
    """The indices of k candidates, chosen one after the other; exactly one of epsilon or rho.

    >>> from ameles.noise import Zero
    >>> recipe = PeeledTopK(rho="0.5", candidates=3, k=2, neighbours="replace")
    >>> recipe.start(Zero()).step([3, 14, 15])
    array([2, 1])
    """

    epsilon: OptionalEpsilon = OptionalEpsilon()
    rho: OptionalRho = OptionalRho()
    k: Whole = Whole(1, 2**31)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_k(self.k, self.candidates)
        if (self.epsilon is None) == (self.rho is None):
            raise BadInput("Exactly one of 'epsilon' and 'rho' must be given.", tip="epsilon=1")

    @property
    def round_epsilon(self) -> Fraction:
        """The epsilon of each choice."""
        if self.epsilon is not None:
            return self.epsilon / self.k
        if self.rho is None:
            raise AttributeError("rho")  # the constructor refuses this
        square = 8 * self.rho / self.k
        return Fraction(math.isqrt(int(square * ROOT_DIGITS**2)), ROOT_DIGITS)

    @property
    def rate(self) -> Fraction:
        """One more point of score makes a candidate e^rate times likelier in each choice."""
        return self.round_epsilon / self.spread

    @property
    def loss(self) -> Pure | Concentrated:
        """The loss that was asked for."""
        if self.epsilon is not None:
            return Pure(self.epsilon)
        return Concentrated(self.rho or 0)

    @property
    def error(self) -> PeeledTopKError:
        """That of the worst of k choices."""
        one = ExponentialError(1 / self.rate, Fraction(self.candidates - 1))
        return PeeledTopKError(one, self.k)

    def release(self, x: IntArray, noise: Noise) -> IntArray:
        left = np.arange(x.size)
        chosen = np.empty(self.k, dtype=np.int64)
        for place in range(self.k):
            index = noise.pick(-x[left], self.rate)
            chosen[place] = left[index]
            left = np.delete(left, index)
        return chosen


@dataclass(frozen=True, slots=True)
class PeeledTopKError:
    """How far a listed candidate, or a missing one, may be from the k-th best score.

    A missing candidate was available in every choice, so it is above the worst listed one by at
    most the error of one choice; and the worst listed one is not above the k-th best.
    """

    one: ExponentialError
    k: int

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The list is right up to this much, with probability at least 1 - beta."""
        return self.one.bound_all(self.k, beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many lists together."""
        return self.bound(1, beta / steps)
