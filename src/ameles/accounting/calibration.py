"""How much noise a promise needs.

Theorem      Laplace noise of scale sensitivity/epsilon is epsilon-private, continuous or
             discrete (catalogue 0.3, 34); discrete Gaussian noise of variance
             sensitivity²/(2 rho) is rho-zCDP in any dimension, sensitivity in L2
             (Canonne-Kamath-Steinke 2020)
Rounding     scale and variance from epsilon and rho are exact; from (epsilon, delta) the
             rho that is allowed is rounded down, so the variance is rounded up

For one integer with integer noise, ``discrete_gaussian_variance`` needs less.

>>> laplace_scale(epsilon="0.1", sensitivity=1)
Fraction(10, 1)
>>> gaussian_variance(rho="0.5", sensitivity=3)
Fraction(9, 1)
>>> round(float(gaussian_variance_for(epsilon=1, delta="1e-6", sensitivity=1)) ** 0.5, 3)
4.531
"""

from __future__ import annotations

from fractions import Fraction

from ameles.accounting.arguments import positive
from ameles.accounting.concentrated import zcdp_rho
from ameles.accounting.interval import Interval
from ameles.core.exceptions import BadInput
from ameles.core.parameters import Exact

VARIANCE_DIGITS = 12


def laplace_scale(*, epsilon: Exact, sensitivity: Exact) -> Fraction:
    """The scale of (discrete) Laplace noise: L1 sensitivity / epsilon, exactly."""
    return positive(sensitivity, "sensitivity") / positive(epsilon, "epsilon")


def gaussian_variance(
    *, rho: Exact, sensitivity: Exact | None = None, squared_sensitivity: Exact | None = None
) -> Fraction:
    """The variance of discrete Gaussian noise: L2 sensitivity² / (2 rho), exactly.

    The L2 norm of an integer vector is the root of a whole number; its square can be
    given instead.
    """
    square = _square(sensitivity, squared_sensitivity)
    return square / (2 * positive(rho, "rho"))


def gaussian_variance_for(
    *,
    epsilon: Exact,
    delta: Exact,
    sensitivity: Exact | None = None,
    squared_sensitivity: Exact | None = None,
    tight: bool = True,
) -> Fraction:
    """The variance of discrete Gaussian noise that is (epsilon, delta)-private, through rho.

    It is valid in any dimension.  The noise is enough, because the allowed rho is rounded down and
    the variance up.  It has 12 digits, because samplers compute with its numerator and denominator.
    """
    square = _square(sensitivity, squared_sensitivity)
    rho = zcdp_rho(epsilon=epsilon, delta=delta, tight=tight)
    return Interval.of(square / (2 * rho)).up(VARIANCE_DIGITS)


def _square(sensitivity: Exact | None, squared_sensitivity: Exact | None) -> Fraction:
    if sensitivity is not None and squared_sensitivity is None:
        return positive(sensitivity, "sensitivity") ** 2
    if squared_sensitivity is not None and sensitivity is None:
        return positive(squared_sensitivity, "squared_sensitivity")
    raise BadInput(
        "Exactly one of 'sensitivity' and 'squared_sensitivity' must be given.",
        tip="sensitivity=1",
    )
