"""What the counters with Gaussian noise share: a loss in (epsilon, delta) or in rho.

Gaussian noise has no pure guarantee.  Its loss is given either as rho of zCDP or as epsilon
with a delta above zero; the latter is turned into the rho that the tight conversion allows
(catalogue 53), and the noise has the variance for that rho.  The discrete Gaussian is
sensitivity^2 / (2 variance)-zCDP in any dimension, with the sensitivity in L2
(Canonne-Kamath-Steinke 2020).

In a step one unit changes the whole vector by at most ``bound`` in L1, so also in L2; the
``GradientCounter`` promises L2 itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ameles.accounting.concentrated import zcdp_rho
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Norm
from ameles.core.loss import Approx, Concentrated
from ameles.core.parameters import Exact, Number, Parameter
from ameles.mechanisms.counters.summed import SummedCounter


class OptionalNumber(Parameter[Exact | None, Fraction | None]):
    """A rational number in a closed range, or None if another parameter is given instead."""

    def __init__(self, low: Exact, high: Exact) -> None:
        super().__init__(None)
        self._number = Number(low, high)

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self._number.name = name

    def check(self, value: Exact | None) -> Fraction | None:
        return None if value is None else self._number.check(value)


class OptionalEpsilon(OptionalNumber):
    """A privacy loss that goes with a delta."""

    def __init__(self) -> None:
        super().__init__(Fraction(1, 10**9), 1000)


class OptionalDelta(OptionalNumber):
    """The probability with which epsilon may fail: above zero, or left out."""

    def __init__(self) -> None:
        super().__init__(Fraction(1, 10**30), Fraction(1, 2))


class OptionalRho(OptionalNumber):
    """A privacy loss of zCDP."""

    def __init__(self) -> None:
        super().__init__(Fraction(1, 10**18), 10**6)


@dataclass(frozen=True, kw_only=True)
class GaussianCounter(SummedCounter):
    """A summed counter with Gaussian noise: exactly one of epsilon (with delta) or rho."""

    epsilon: OptionalEpsilon = OptionalEpsilon()
    delta: OptionalDelta = OptionalDelta()
    rho: OptionalRho = OptionalRho()

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise BadInput(
                "Exactly one of 'epsilon' (with 'delta') and 'rho' must be given.",
                tip="epsilon=1, delta=1e-6",
            )
        if (self.epsilon is None) != (self.delta is None):
            raise BadInput(
                "The 'delta' parameter must be given with 'epsilon', and only with it.",
                why="Gaussian noise has no pure guarantee, and rho needs no delta",
                tip="epsilon=1, delta=1e-6",
            )
        super().__post_init__()

    @property
    def loss(self) -> Approx | Concentrated:
        """The loss that was asked for."""
        if self.epsilon is not None and self.delta is not None:
            return Approx(self.epsilon, self.delta)
        return Concentrated(self.spend)

    @property
    def spend(self) -> Fraction:
        """The rho that the noise is calibrated to."""
        if self.epsilon is not None and self.delta is not None:
            return _allowed(self.epsilon, self.delta)
        if self.rho is None:
            raise AttributeError("rho")  # the constructor refuses this
        return self.rho

    @property
    def touched(self) -> int:
        """The most counters that one unit can change: each change is at least one."""
        in_a_step = self.bound if self.norm is Norm.L1 else self.bound**2
        return min(self.columns, self.contributions * in_a_step)


@lru_cache(maxsize=1024)
def _allowed(epsilon: Fraction, delta: Fraction) -> Fraction:
    return zcdp_rho(epsilon=epsilon, delta=delta)
