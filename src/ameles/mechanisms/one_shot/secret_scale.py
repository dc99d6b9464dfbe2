"""Noise whose scale is secret: Cauchy and Laplace, exact, with no table for the scale.

Where a scale depends on the data, nothing may be kept for it: whoever waits for the next release
would see whether its scale was used before.  So noise of a public law is drawn first, and
multiplied by the scale in whole numbers; how much is drawn does not depend on the scale.

Theorem      tan(pi U / 2) with a random sign is Cauchy for a uniform U in (0, 1).  floor(scale E)
             is geometric for an exponential E: P(scale E >= k) = exp(-k / scale).  The difference
             of two such numbers is discrete Laplace of that scale
Noise        bits of U, or of E, are drawn until all numbers in the remaining interval give the same
             whole number, so the result is exact; the first bits nearly always suffice
Exactness    the tangent is enclosed in whole numbers, by Taylor's series with a bound on every
             rounding.  floor(2^m E) is geometric of the public scale 2^m, and its further bits y
             have probabilities proportional to exp(-y / 2^(m + 62)), as E has no memory

>>> low, high = tangent(1, 2, 64)  # tan(pi / 8) = sqrt(2) - 1
>>> round(low / 2**64, 12), high - low
(0.414213562373, 1)
>>> from ameles.noise import Tape, Zero
>>> cauchy(Zero(), centre=7, scale=Fraction(3), low=0, high=100)
7
>>> cauchy(Tape([0, 1 << 61]), centre=7, scale=Fraction(3), low=0, high=100)  # tan(pi / 4) = 1
10
>>> laplace(Tape([5 << 46, 1 << 48]), Fraction(3))  # floor(3 * 1.25) - floor(3 * 1)
0
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from ameles.core.noise import Noise

# How many bits are drawn at a time; nearly always the first ones suffice.
BITS = 62
# Bits of an exponential number behind the point that one draw of public noise has.
FIRST = 48


def cauchy(noise: Noise, *, centre: int, scale: Fraction, low: int, high: int) -> int:
    """The whole number nearest to ``centre + scale * Cauchy``, clamped to [low, high]."""
    sign = 1 - 2 * int(noise.uniform(2, 1)[0])
    angle, known = 0, 0
    while True:
        angle = angle << BITS | int(noise.uniform(1 << BITS, 1)[0])
        known += BITS
        near = Fraction(tangent(angle, known, known)[0], 1 << known)
        ends = [centre + sign * scale * near]
        if angle + 1 < 1 << known:
            far = Fraction(tangent(angle + 1, known, known)[1], 1 << known)
            ends.append(centre + sign * scale * far)
            results = {min(max(_nearest(end), low), high) for end in ends}
        else:  # the far end is infinite
            results = {min(max(_nearest(ends[0]), low), high), high if sign > 0 else low}
        if len(results) == 1:
            return results.pop()


def laplace(noise: Noise, scale: Fraction) -> int:
    """Discrete Laplace: k with probability proportional to exp(-|k| / scale)."""
    drawn = noise.laplace(Fraction(1 << FIRST), 2).tolist()
    # k or -k - 1, by a coin that is independent of the geometric k
    one, other = (_times(noise, scale, k if k >= 0 else ~k) for k in drawn)
    return one - other


def _times(noise: Noise, scale: Fraction, units: int) -> int:
    """floor(scale * E) for an exponential E that begins with these units of 2^-FIRST."""
    known = FIRST
    while True:
        known += BITS
        units = units << BITS | _further(noise, known)
        low = units * scale.numerator // (scale.denominator << known)
        # E is below the next unit: the whole number below that end, or at it
        high = -(-(units + 1) * scale.numerator // (scale.denominator << known)) - 1
        if low == high:
            return low


def _further(noise: Noise, known: int) -> int:
    """The next bits of an exponential number: y with probability proportional to
    exp(-y / 2^known)."""
    while True:
        y = int(noise.uniform(1 << BITS, 1)[0])
        if noise.bernoulli_exp(Fraction(y, 1 << known), 1)[0]:
            return y


def _nearest(x: Fraction) -> int:
    """The nearest whole number; of two, the larger."""
    return (2 * x.numerator + x.denominator) // (2 * x.denominator)


def tangent(top: int, known: int, bits: int) -> tuple[int, int]:
    """Integers around tan(pi / 2 * top / 2**known) * 2**bits, for 0 <= top < 2**known."""
    turned = 2 * top > 1 << known  # beyond pi / 4: one over the tangent of what is left
    part = (1 << known) - top if turned else top
    if part == 0:
        return 0, 0
    precision = bits + 2 * known + 32
    sine, cosine, error = sine_cosine(part, known, precision)
    if turned:
        sine, cosine = cosine, sine
    lowest = (max(sine - error, 0) << bits) // (cosine + error)
    return lowest, -((-(sine + error) << bits) // (cosine - error))


def sine_cosine(part: int, known: int, precision: int) -> tuple[int, int, int]:
    """sin and cos of x = pi / 2 * part / 2**known <= pi / 4, and how far off they may be.

    Each term of the series is rounded down once, by less than one unit, from a term that was off by
    less than its share of the earlier errors, since x < 1.  x itself is off by less than
    ``precision`` units, and no derivative exceeds 1.  So 4 units a term bound everything.
    """
    x = pi(precision) * part >> (known + 1)
    sums, term, order = [0, 0], 1 << precision, 0
    while term:
        sums[order % 2] += -term if order % 4 >= 2 else term
        # the terms of sin and cos in turn: 1, x, x^2 / 2, x^3 / 6, ...
        order += 1
        term = (term * x >> precision) // order
    return sums[1], sums[0], 4 * (order + precision)


@lru_cache(maxsize=16)
def pi(precision: int) -> int:
    """pi * 2**precision, off by less than ``precision`` units (Machin's formula)."""
    guard = 16
    one = 1 << (precision + guard)
    return (16 * _arctan_of_inverse(5, one) - 4 * _arctan_of_inverse(239, one)) >> guard


def _arctan_of_inverse(n: int, one: int) -> int:
    """arctan(1 / n) in units of 1 / ``one``, off by at most one unit a term."""
    power, total, order = one // n, 0, 1
    while power:
        total += power // order if order % 4 == 1 else -(power // order)
        power //= n * n
        order += 2
    return total
