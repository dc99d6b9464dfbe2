"""Optimal composition of k pure mechanisms: no smaller bound is true of all of them.

Theorem      k mechanisms of pure loss e are together (E, delta(E)) with
             delta(E) = sum over j of Bin(j; k, p) (1 - exp(E - (2j - k) e))_+,
             p = exp(e) / (1 + exp(e)), and k randomized responses attain it
             (Kairouz-Oh-Viswanath 2015; catalogue 51)
Form used    with w = exp(-e) and i = k - j wrong answers,
             delta(E) = (1 + w)^-k * sum over i of C(k, i) (w^i - exp(E) w^(k-i))_+,
             which is the largest of A_m - exp(E) B_m over m, where A_m and B_m are the
             sums of both parts over i <= m.  So E(delta) is the largest
             ln((A_m - delta) / B_m): no search is needed
Rounding     the first parts are summed upward, the second ones downward, and the
             quotient is rounded up: delta and E are upper bounds
Cost         k/2 steps of three multiplications: 30 ms at k = 10,000

>>> print(float(optimal_delta(each="0.1", count=3, epsilon="0.2")))
0.0137686853716883
>>> optimal_epsilon(each="0.1", count=3, delta=0)
Fraction(3, 10)
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex

from ameles.accounting.arguments import amount, positive
from ameles.accounting.interval import DOWN, UP, Interval
from ameles.accounting.search import edge
from ameles.core.parameters import Exact, refuse, whole

MOST = 10**6  # mechanisms, which take some seconds; beyond this, zCDP takes no time


def optimal_delta(*, each: Exact, count: SupportsIndex, epsilon: Exact) -> Fraction:
    """The least delta with which ``count`` pure mechanisms of loss ``each`` are private."""
    step, k = amount(each, "each"), _mechanisms(count)
    target = amount(epsilon, "epsilon")
    if target >= k * step:
        return Fraction(0)
    factor = Interval.of(target).exp().low
    total = Decimal(0)
    for likely, unlikely in _terms(step, k):
        surplus = UP.subtract(likely, DOWN.multiply(factor, unlikely))
        if surplus <= 0:
            break  # the ratio of the two parts only falls from here on
        total = UP.add(total, surplus)
    return min(Fraction(1), (Interval(total, total) / _normaliser(step, k)).up())


def optimal_epsilon(*, each: Exact, count: SupportsIndex, delta: Exact) -> Fraction:
    """The least epsilon with which ``count`` pure mechanisms of loss ``each`` are private."""
    step, k = amount(each, "each"), _mechanisms(count)
    allowed = _allowed(delta)
    if allowed == 0 or step == 0:
        return k * step
    spared = (allowed * _normaliser(step, k)).low
    above, below = Decimal(0), Decimal(0)
    ratio = Decimal(1)  # epsilon is never less than ln 1
    for likely, unlikely in _terms(step, k):
        above, below = UP.add(above, likely), DOWN.add(below, unlikely)
        ratio = max(ratio, UP.divide(UP.subtract(above, spared), below))
    if ratio == 1:
        return Fraction(0)
    # Basic composition is exact, so rounding up must not carry the result past it.
    return min(k * step, Interval(ratio, ratio).ln().up())


def optimal_each(*, count: SupportsIndex, epsilon: Exact, delta: Exact) -> Fraction:
    """The largest pure loss that each of ``count`` mechanisms may have, rounded down.

    Found by bisection to 9 digits; the returned loss was itself seen to compose to at
    most (epsilon, delta), by ``optimal_delta``.

    >>> round(float(optimal_each(count=100, epsilon=1, delta="1e-6")), 4)
    0.024
    """
    k, total, allowed = _mechanisms(count), positive(epsilon, "epsilon"), _allowed(delta)
    if allowed == 0:
        return total / k
    # Basic composition allows total / k; from there, doubling finds a loss that does not pass.
    least = total / k
    while optimal_delta(each=2 * least, count=k, epsilon=total) <= allowed:
        least *= 2
    grid = Interval.of(least).down(digits=1) / 10**9

    def passes(steps: int) -> bool:
        return optimal_delta(each=steps * grid, count=k, epsilon=total) <= allowed

    largest = grid * edge(passes, passing=least // grid, failing=-(-2 * least // grid))
    return max(least, largest)


def _terms(step: Fraction, k: int) -> Iterator[tuple[Decimal, Decimal]]:
    """C(k, i) w^i rounded up and C(k, i) w^(k-i) rounded down, for i wrong answers, i < k/2.

    From i = k/2 on the second part is the larger one, and no epsilon >= 0 lets it count.
    """
    wrong = Interval.of(-step).exp()
    right = Interval.of(step).exp()
    likely, unlikely = Decimal(1), Interval.of(-k * step).exp().low
    for i in range((k + 1) // 2):
        yield likely, unlikely
        top, bottom = Decimal(k - i), Decimal(i + 1)
        likely = UP.divide(UP.multiply(UP.multiply(likely, wrong.high), top), bottom)
        unlikely = DOWN.divide(DOWN.multiply(DOWN.multiply(unlikely, right.low), top), bottom)


def _normaliser(step: Fraction, k: int) -> Interval:
    """(1 + w)^k, by logarithms: powers of decimals are not rounded in a known direction."""
    return (k * (1 + Interval.of(-step).exp()).ln()).exp()


def _mechanisms(count: SupportsIndex) -> int:
    return whole(count, "count", low=1, high=MOST)


def _allowed(delta: Exact) -> Fraction:
    number = amount(delta, "delta")
    if number >= 1:
        raise refuse("delta", "zero or more, and below 1", delta)
    return number
