"""Tails of martingales: how far a fair game strays.

Theorem      Azuma (Dwork-Roth, Lemma 3.19): if every C_i is within ``bound`` of zero and its
             mean, given *all* earlier ones, is at most ``drift``, then
             P(sum of n exceeds n drift + z sqrt(n) bound) <= exp(-z²/2);
             McDiarmid: if changing the i-th of independent inputs moves f by at most c_i,
             P(f >= mean + t) <= exp(-2 t² / sum of c_i²)   (catalogue 54)
Note         a mean of zero given the last position alone does not make a martingale, and
             the bound is "at most", not "less than": with z = 0 it is attained
Rounding     tails and deviations up

>>> print(float(azuma_tail(steps=100, deviation=30)))
0.0111089965382424
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import SupportsIndex

from ameles.accounting.arguments import amount, positive, probability, repetitions
from ameles.accounting.interval import Interval
from ameles.core.parameters import Exact, refuse


def azuma_tail(*, steps: SupportsIndex, deviation: Exact, bound: Exact = 1) -> Fraction:
    """The probability that ``steps`` fair moves, each within ``bound``, end this far up.

    At most exp(-deviation² / (2 steps bound²)), rounded up.  With a drift, count the
    deviation from steps * drift.
    """
    n, far, reach = repetitions(steps, "steps"), amount(deviation, "deviation"), _bound(bound)
    return _tail(far**2 / (2 * n * reach**2))


def azuma_deviation(
    *, steps: SupportsIndex, beta: Exact, bound: Exact = 1, drift: Exact = 0
) -> Fraction:
    """A bound, rounded up, that ``steps`` bounded moves pass with probability at most beta.

    steps * drift + bound * sqrt(2 steps ln(1/beta)).

    >>> round(float(azuma_deviation(steps=100, beta="0.05")), 2)
    24.48
    """
    n, reach = repetitions(steps, "steps"), _bound(bound)
    mean = amount(drift, "drift")
    if mean > reach:
        raise refuse("drift", "at most the bound of one move", drift)
    surprise = -Interval.of(probability(beta, "beta")).ln()
    return (n * mean + reach * (2 * n * surprise).sqrt()).up()


def mcdiarmid_tail(*, effects: Sequence[Exact], deviation: Exact) -> Fraction:
    """The probability that a function of independent inputs exceeds its mean by this much.

    At most exp(-2 deviation² / sum of effects²), rounded up, where ``effects`` are the
    most that each input can move it.

    >>> round(float(mcdiarmid_tail(effects=[1] * 100, deviation=15)), 4)
    0.0111
    """
    far = amount(deviation, "deviation")
    squares = sum((amount(effect, "effects") ** 2 for effect in effects), Fraction(0))
    if squares == 0:
        raise refuse("effects", "a list in which some input has an effect", list(effects))
    return _tail(2 * far**2 / squares)


def _bound(bound: Exact) -> Fraction:
    return positive(bound, "bound")


def _tail(exponent: Fraction) -> Fraction:
    return Fraction(1) if exponent == 0 else min(Fraction(1), Interval.of(-exponent).exp().up())
