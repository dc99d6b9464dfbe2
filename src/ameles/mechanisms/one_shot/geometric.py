"""Geometric mechanism: a whole number, or a vector of them, with discrete Laplace noise.

Theorem      Ghosh-Roughgarden-Sundararajan 2009 (catalogue 34, 35, 37): noise of scale
             Delta / epsilon on each number is exactly epsilon-private
Neighbours   stated; between them the vector changes by at most ``sensitivity`` (Delta) in L1
Noise        discrete Laplace, independent for each number
Error        P(|k| > m) = 2 a^(m+1) / (1 + a) with a = exp(-epsilon / Delta), exactly; all n numbers
             of a vector are right within m with probability (1 - P)^n
Memory       nothing is kept

>>> from ameles.noise import Zero
>>> recipe = GeometricMechanism(epsilon=1, width=3, neighbours="add-remove")
>>> recipe.start(Zero()).step([3, 1, 4])
array([3, 1, 4])
>>> recipe.error.bound(1, 0.05), recipe.error.bound_entries(0.05)
(3, 4)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ameles.core.error import checks_step
from ameles.core.guarantee import Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Width
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.one_shot.exact_inputs import added_noise, numbers
from ameles.mechanisms.one_shot.one_shot import OneShot
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class GeometricMechanism(OneShot[int | IntArray]):
    """A whole number with discrete Laplace noise, or ``width`` of them.

    >>> from ameles.noise import Zero
    >>> GeometricMechanism(epsilon=1, neighbours="add-remove").start(Zero()).step(3)
    3
    """

    norm: ClassVar[Norm] = Norm.L1

    epsilon: Epsilon = Epsilon()
    width: Width = Width()

    @property
    def scale(self) -> Fraction:
        """The scale of the noise."""
        return self.sensitivity / self.epsilon

    @property
    def loss(self) -> Pure:
        """Epsilon, exactly."""
        return Pure(self.epsilon)

    @property
    def error(self) -> GeometricError:
        """The law of the noise, which is the only error."""
        return GeometricError(self.scale, self.width or 1)

    def checked(self, x: object) -> IntArray:
        return numbers(x, self.width)

    def release(self, x: IntArray, noise: Noise) -> int | IntArray:
        return added_noise(x, noise.laplace(self.scale, x.size), self.width)


@dataclass(frozen=True, slots=True)
class GeometricError:
    """Exact tails of one discrete Laplace variable, or of several independent ones."""

    scale: Fraction
    entries: int = 1

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation of each number's noise."""
        return laplace_sum.std(1, self.scale)

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """One number is this close with probability at least 1 - beta."""
        return laplace_sum.quantile(1, self.scale, beta)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many releases together."""
        return self.bound(1, beta / steps)

    def bound_entries(self, beta: float) -> float:
        """All numbers of the vector are this close with probability at least 1 - beta."""
        # 1 - (1 - beta)^(1/n), without losing the digits of a small beta
        return self.bound(1, -math.expm1(math.log1p(-beta) / self.entries))
