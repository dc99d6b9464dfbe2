"""One look at a vector: Laplace noise for a pure loss, Gaussian noise for any other.

A subclass says by how much one unit changes the whole vector, in L1 and in L2.

>>> from ameles.mechanisms.one_shot.second_moments import SecondMoments
>>> SecondMoments(epsilon=1, bounds=(1, 10), neighbours="add-remove").scale
Fraction(111, 1)
>>> SecondMoments(rho="1/2", bounds=(1, 10), neighbours="add-remove").scale is None
True
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ameles.accounting.calibration import gaussian_variance, gaussian_variance_for
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.calibration import (
    OptionalDelta,
    OptionalEpsilon,
    OptionalRho,
)
from ameles.mechanisms.one_shot.one_shot import Look, Released
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class LaplaceOrGaussian(Look[Released]):
    """A look whose loss is ``epsilon``, ``epsilon`` with ``delta``, or ``rho``."""

    epsilon: OptionalEpsilon = OptionalEpsilon()
    delta: OptionalDelta = OptionalDelta()
    rho: OptionalRho = OptionalRho()

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None) or (
            self.delta is not None and self.epsilon is None
        ):
            raise BadInput(
                "Exactly one of 'epsilon' and 'rho' must be given; 'delta' goes with 'epsilon'.",
                tip="epsilon=1, or epsilon=1, delta=1e-6, or rho=0.1",
            )

    @property
    @abstractmethod
    def largest_change(self) -> int:
        """The most that one unit changes all numbers together, in L1."""

    @property
    @abstractmethod
    def squared_change(self) -> int:
        """The square of the most that one unit changes all numbers together, in L2."""

    @property
    def loss(self) -> Loss:
        """The loss that was asked for."""
        if self.epsilon is None:
            return Concentrated(self.rho or 0)
        return Pure(self.epsilon) if self.delta is None else Approx(self.epsilon, self.delta)

    @property
    def scale(self) -> Fraction | None:
        """The scale of the Laplace noise on each number; None: the noise is Gaussian."""
        if self.epsilon is None or self.delta is not None:
            return None
        return self.largest_change / self.epsilon

    @property
    def variance(self) -> Fraction:
        """The parameter of the Gaussian noise."""
        if self.epsilon is None or self.delta is None:
            return gaussian_variance(rho=self.rho or 0, squared_sensitivity=self.squared_change)
        return _calibrated(self.epsilon, self.delta, self.squared_change)

    def measured(self, exact: IntArray, noise: Noise) -> IntArray:
        """The numbers with their noise, from which the release is computed."""
        if self.scale is None:
            return exact + noise.gaussian(self.variance, exact.size)
        return exact + noise.laplace(self.scale, exact.size)


@lru_cache(maxsize=256)
def _calibrated(epsilon: Fraction, delta: Fraction, square: int) -> Fraction:
    return gaussian_variance_for(epsilon=epsilon, delta=delta, squared_sensitivity=square)
