"""Gaussian mechanism: a whole number, or a vector of them, with discrete Gaussian noise.

Theorem      Canonne-Kamath-Steinke 2020 (catalogue 38): discrete noise of variance s^2 / (2 rho) is
             rho-zCDP in any dimension, s in L2.  For (epsilon, delta) one number gets the variance
             of its own exact law, and a vector that of the rho which (epsilon, delta) allows.  The
             classical formula sqrt(2 ln(1.25 / delta)) s / epsilon is not used: it is proved for
             epsilon < 1, and false from 8.42 on at delta 1e-5
Neighbours   stated; between them the vector changes by at most ``sensitivity`` (s) in L2, or by at
             most ``squared_sensitivity`` (s^2), which is whole: the number of counts that change
             by one
Noise        discrete Gaussian, independent for each number
Error        that of the noise, by tails that are never below the true ones
Memory       nothing is kept

>>> from ameles.noise import Zero
>>> recipe = GaussianMechanism(epsilon=1, delta="1e-5", neighbours="add-remove")
>>> recipe.start(Zero()).step(42)
42
>>> round(recipe.error.std(1), 3), recipe.error.bound(1, 0.05)
(3.74, 7)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from ameles.accounting.calibration import gaussian_variance, gaussian_variance_for
from ameles.accounting.discrete_gaussian import discrete_gaussian_variance
from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Contribution, Guarantee, Norm
from ameles.core.loss import Approx, Concentrated
from ameles.core.noise import Noise
from ameles.core.parameters import OptionalWhole, Width
from ameles.mechanisms.counters.gaussian.calibration import (
    OptionalDelta,
    OptionalEpsilon,
    OptionalRho,
)
from ameles.mechanisms.counters.gaussian.error import discrete_variance, quantile, sum_factor
from ameles.mechanisms.one_shot.exact_inputs import added_noise, numbers
from ameles.mechanisms.one_shot.one_shot import Look
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class GaussianMechanism(Look[int | IntArray]):
    """A whole number with discrete Gaussian noise, or ``width`` of them.

    Exactly one of epsilon (with delta) or rho is given.

    >>> from ameles.noise import Zero
    >>> recipe = GaussianMechanism(
    ...     rho="0.5", squared_sensitivity=3, width=4, neighbours="user-presence", unit="user")
    >>> recipe.start(Zero()).step([3, 1, 4, 1]), recipe.variance
    (array([3, 1, 4, 1]), Fraction(3, 1))
    """

    norm: ClassVar[Norm] = Norm.L2

    epsilon: OptionalEpsilon = OptionalEpsilon()
    delta: OptionalDelta = OptionalDelta()
    rho: OptionalRho = OptionalRho()
    sensitivity: OptionalWhole = OptionalWhole(1, 2**40)
    squared_sensitivity: OptionalWhole = OptionalWhole(1, 2**40)
    width: Width = Width()

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None) or (
            (self.epsilon is None) != (self.delta is None)
        ):
            raise BadInput(
                "Exactly one of 'epsilon' with 'delta' and 'rho' must be given.",
                why="Gaussian noise has no pure guarantee, and rho needs no delta",
                tip="epsilon=1, delta=1e-6",
            )
        if self.sensitivity is not None and self.squared_sensitivity is not None:
            raise BadInput(
                "At most one of 'sensitivity' and 'squared_sensitivity' may be given.",
                why="each says how much one unit may change; without both it is 1",
            )

    @property
    def reach(self) -> int:
        """The sensitivity, or its square if that is what was declared."""
        return self.squared_sensitivity or self.sensitivity or 1

    @property
    def loss(self) -> Approx | Concentrated:
        """The loss that was asked for."""
        if self.epsilon is not None and self.delta is not None:
            return Approx(self.epsilon, self.delta)
        return Concentrated(self.rho or 0)

    @property
    def guarantee(self) -> Guarantee:
        """As for every look; a squared sensitivity is stated as such."""
        norm = Norm.L2 if self.squared_sensitivity is None else Norm.SQUARED
        contribution = Contribution(steps=1, bound=self.reach, norm=norm)
        return replace(super().guarantee, contribution=contribution)

    @property
    def variance(self) -> Fraction:
        """The parameter of the noise."""
        square = self.squared_sensitivity or self.reach**2
        if self.epsilon is None or self.delta is None:
            return gaussian_variance(rho=self.rho or 0, squared_sensitivity=square)
        if self.width is None:
            # a whole number whose square is at most ``square``
            return _of_one(self.epsilon, self.delta, math.isqrt(square))
        return _of_many(self.epsilon, self.delta, square)

    @property
    def error(self) -> GaussianLookError:
        """The law of the noise, which is the only error."""
        return GaussianLookError(float(self.variance), self.width or 1)

    def checked(self, x: object) -> IntArray:
        return numbers(x, self.width)

    def release(self, x: IntArray, noise: Noise) -> int | IntArray:
        return added_noise(x, noise.gaussian(self.variance, x.size), self.width)


@lru_cache(maxsize=256)
def _of_one(epsilon: Fraction, delta: Fraction, sensitivity: int) -> Fraction:
    return discrete_gaussian_variance(epsilon=epsilon, delta=delta, sensitivity=sensitivity)


@lru_cache(maxsize=256)
def _of_many(epsilon: Fraction, delta: Fraction, square: int) -> Fraction:
    return gaussian_variance_for(epsilon=epsilon, delta=delta, squared_sensitivity=square)


@dataclass(frozen=True, slots=True)
class GaussianLookError:
    """Tails of one discrete Gaussian variable, or of several independent ones."""

    variance: float
    entries: int = 1

    @checks_step
    def std(self, t: int) -> float:
        """The standard deviation of each number's noise."""
        return math.sqrt(discrete_variance(self.variance))

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """One number is this close with probability at least 1 - beta."""
        return quantile(self.variance, beta, factor=sum_factor(1, self.variance))

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many releases together."""
        return self.bound(1, beta / steps)

    def bound_entries(self, beta: float) -> float:
        """All numbers of the vector are this close with probability at least 1 - beta."""
        return self.bound(1, -math.expm1(math.log1p(-beta) / self.entries))
