"""From one currency of privacy loss to another.

Theorem      pure epsilon is epsilon²/2-zCDP (Bun-Steinke 2016, Prop 1.4)
             epsilon-bounded range is epsilon²/8-zCDP (Dong-Durfee-Rogers 2020,
             Cesar-Rogers 2021); the exponential mechanism has bounded range
             Gaussian noise, continuous or discrete, is sensitivity²/(2 variance)-zCDP
             (Bun-Steinke 2016, Prop 1.6; Canonne-Kamath-Steinke 2020)
Rounding     these three are exact; the way back to (epsilon, delta) rounds up
One way      there is no way from (epsilon, delta) with delta above zero to zCDP, nor from
             zCDP to pure: the tails that the stronger currency needs are not promised

>>> from ameles.core.loss import Pure
>>> to_concentrated(Pure(1))
Concentrated(rho=Fraction(1, 2))
>>> print(to_approx(Pure(1), delta="1e-6"))
epsilon 1, delta 1e-06
"""

from __future__ import annotations

from fractions import Fraction

from ameles.accounting.arguments import amount, positive, probability
from ameles.accounting.concentrated import zcdp_epsilon
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Loss
from ameles.core.parameters import Exact, refuse


def zcdp_of_pure(*, epsilon: Exact) -> Concentrated:
    """The zCDP of any mechanism with this pure epsilon: epsilon²/2, exactly.

    >>> print(zcdp_of_pure(epsilon=1))
    rho 0.5
    """
    return Concentrated(amount(epsilon, "epsilon") ** 2 / 2)


def zcdp_of_bounded_range(*, epsilon: Exact) -> Concentrated:
    """The zCDP of a mechanism whose log-ratios span at most epsilon: epsilon²/8, exactly.

    Bounded range asks more than pure privacy: between any two outcomes the log-ratio may
    differ by epsilon, not by 2 epsilon as between the answers of randomized response.

    >>> print(zcdp_of_bounded_range(epsilon=1))
    rho 0.125
    """
    return Concentrated(amount(epsilon, "epsilon") ** 2 / 8)


def zcdp_of_gaussian(*, sensitivity: Exact, variance: Exact) -> Concentrated:
    """The zCDP of (discrete) Gaussian noise: L2 sensitivity² / (2 variance), exactly.

    >>> print(zcdp_of_gaussian(sensitivity=1, variance=4))
    rho 0.125
    """
    shift, spread = amount(sensitivity, "sensitivity"), positive(variance, "variance")
    return Concentrated(shift**2 / (2 * spread))


def to_concentrated(loss: Loss) -> Concentrated:
    """This loss as a zCDP loss; raises if it implies none.

    An ``Approx`` with delta 0 is a pure loss under another name.
    """
    if isinstance(loss, Concentrated):
        return loss
    if isinstance(loss, Approx) and loss.delta > 0:
        raise BadInput(
            f"A loss of {loss} cannot be expressed as zCDP.",
            why="delta allows a failure of any size, and zCDP bounds failures of every size",
            tip="keep this total in (epsilon, delta) and bring the others to it with to_approx",
        )
    return zcdp_of_pure(epsilon=loss.epsilon)


def to_approx(loss: Loss, *, delta: Exact) -> Approx:
    """This loss as an approximate one, with this delta.

    zCDP goes through the tight conversion, rounded up.  Pure and approximate losses keep
    their epsilon; delta must then be at least what they already have.
    """
    if isinstance(loss, Concentrated):
        target = probability(delta, "delta", why="zCDP alone promises no epsilon at delta 0")
        return Approx(zcdp_epsilon(rho=loss.rho, delta=target), target)
    allowed = amount(delta, "delta")
    least = loss.delta if isinstance(loss, Approx) else Fraction(0)
    if not least <= allowed < 1:
        raise refuse("delta", f"at least {least}, what the loss already has, and below 1", delta)
    return Approx(loss.epsilon, allowed)
