"""zCDP and (epsilon, delta): each from the other, simple and tight, rounded outward.

Theorem      simple: rho-zCDP gives (rho + 2 sqrt(rho ln(1/delta)), delta)
             (Bun-Steinke 2016, Prop 1.3; catalogue 53)
             tight: for every alpha above 1 the Rényi bound alpha * rho gives
             delta = exp((alpha-1)(alpha rho - epsilon)) / (alpha-1) * (1 - 1/alpha)^alpha
             (Canonne-Kamath-Steinke 2020)
Rounding     every alpha gives a true statement, so alpha is sought on floats; the bound
             is then evaluated at exactly that alpha in intervals and rounded outward:
             epsilon and delta up, an allowed rho down
Tightness    the bound is flat at its best alpha: a relative error of 1e-12 there changes
             the result by about 1e-24

>>> float(zcdp_epsilon(rho="0.5", delta="1e-6", tight=False))
5.75652176975694
>>> float(zcdp_epsilon(rho="0.5", delta="1e-6"))
5.22153444453017
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from ameles.accounting.arguments import amount, positive, probability
from ameles.accounting.interval import Interval
from ameles.accounting.search import root
from ameles.core.parameters import Exact

# Throughout, excess stands for alpha - 1, which is what stays accurate near alpha = 1.
LOWEST_EXCESS, HIGHEST_EXCESS = 1e-150, 1e150


def zcdp_epsilon(*, rho: Exact, delta: Exact, tight: bool = True) -> Fraction:
    """An epsilon with which rho-zCDP is (epsilon, delta)-private: an upper bound.

    This is a bound because any alpha gives a valid epsilon, and the interval's upper end is
    at least the value of the formula at the alpha used.
    """
    rho, delta = amount(rho, "rho"), probability(delta, "delta")
    if rho == 0:
        return Fraction(0)
    surprise = -Interval.of(delta).ln()
    if not tight:
        return (rho + 2 * (rho * surprise).sqrt()).up()
    weight, surprise_near = float(rho), float(surprise.high)
    # The derivative's sign is that of rho x² - ln(1/delta) + ln(1 + x), which increases.
    excess = _excess(lambda x: weight * x * x - surprise_near + math.log1p(x))
    return max(Fraction(0), ((1 + excess) * rho + _penalty(excess, surprise)).up())


def zcdp_delta(*, rho: Exact, epsilon: Exact, tight: bool = True) -> Fraction:
    """A delta with which rho-zCDP is (epsilon, delta)-private: an upper bound, at most 1.

    This is a bound because any alpha gives a valid delta, and the interval's upper end is at
    least the value of the formula at the alpha used.

    >>> round(float(zcdp_delta(rho="0.5", epsilon=5)) * 1e6, 2)
    2.9
    """
    rho, epsilon = amount(rho, "rho"), amount(epsilon, "epsilon")
    if rho == 0:
        return Fraction(0)
    if not tight:
        if epsilon <= rho:
            return Fraction(1)
        return min(Fraction(1), Interval.of(-((epsilon - rho) ** 2) / (4 * rho)).exp().up())
    weight, target = float(rho), float(epsilon)
    excess = _excess(lambda x: (2 * x + 1) * weight - target - math.log1p(1 / x))
    alpha = 1 + excess
    logarithm = (
        excess * (alpha * rho - epsilon) + excess * excess.ln() - alpha * _ln_of_one_plus(excess)
    )
    return min(Fraction(1), logarithm.exp().up())


def zcdp_rho(*, epsilon: Exact, delta: Exact, tight: bool = True) -> Fraction:
    """A rho so small that rho-zCDP is (epsilon, delta)-private: rounded down.

    Nearly the largest such rho.  It is allowed because, at the alpha used, the formula
    for epsilon increases with rho, and the lower end is at most where it meets epsilon.

    >>> round(float(zcdp_rho(epsilon=1, delta="1e-6")), 5)
    0.02436
    """
    epsilon, delta = positive(epsilon, "epsilon"), probability(delta, "delta")
    surprise = -Interval.of(delta).ln()
    if not tight:
        # rho + 2 sqrt(rho L) = epsilon at sqrt(rho) = sqrt(L + epsilon) - sqrt(L); written
        # as a quotient, since the difference loses digits where epsilon is small.
        side = epsilon / ((surprise + epsilon).sqrt() + surprise.sqrt())
        return (side * side).down()
    target, surprise_near = float(epsilon), float(surprise.high)

    def slack(x: float) -> float:
        """epsilon less the best epsilon of the rho for which this x is the best one."""
        log = math.log1p(x)
        rho = (surprise_near - log) / x / x
        return target - ((1 + x) * rho + surprise_near / x - math.log1p(1 / x) - log / x)

    excess = _excess(slack)
    return max(Fraction(0), ((epsilon - _penalty(excess, surprise)) / (1 + excess)).down())


def _excess(increasing: Callable[[float], float]) -> Interval:
    """alpha - 1 at the sign change, as the exact value of a float."""
    return Interval.of(Decimal(root(increasing, low=LOWEST_EXCESS, high=HIGHEST_EXCESS)))


def _penalty(excess: Interval, surprise: Interval) -> Interval:
    """What the tight conversion adds to alpha * rho."""
    log = _ln_of_one_plus(excess)
    return (surprise - log) / excess + excess.ln() - log


def _ln_of_one_plus(excess: Interval) -> Interval:
    return (1 + excess).ln()
