"""Scales of the steps that make every column of a cascade's encoder have the same norm.

A count at step t reaches the encoding through column t of C.  Only the first column is whole: one
with n steps to go is cut off after n numbers.  So later steps are hidden better than they need
be.  If a count at step t adds M_t = (part of t) 2^s / 2^12 units instead of 2^s, and

    part of t <= 2^12 / sqrt(S_n),    S_n = c_0^2 + ... + c_(n-1)^2,    n = T - t + 1,

then every column has norm 2^s at most, and the decoder multiplies less for later steps.

Theorem      c is a sequence of moments: c_j = the sum of v_i k_i^j over j >= 0 with v_i > 0 and
             0 <= k_i < 1, where one k may be 0.  (``cascade`` has it for j >= 1.  The weights
             w_i / k_i of those add up to 1 - (product of (1 - a) / (1 - x)), at most c_0 = 1.)  So
             c_(j+d) / c_j does not fall with j (Cauchy-Schwarz).
Angles       Let r(t, d) be the cosine of the angle of columns t and t + d, and n = T - t - d + 1.
             Then r = sqrt(S_n / S_(n+d)) f, where f is the mean of c_(j+d) / c_j over j < n with
             weights c_j^2.  Both factors grow with n, so r falls with t.  With t fixed, n falls
             with d, and so does c_(j+d): r falls with d.
Several      Of any m steps the i-th is not before step i, and the i-th and the l-th are at least
             |i - l| apart.  So the squared norm for m changes by 1 is at most the sum of r over the
             first m columns.  That is at most m + twice the sum of (m - d) r(1, d) over 0 < d < m,
             and at most the squared norm of the first m columns of C over S_(T-m+1), since no part
             among the first m is larger than the last one's
Pieces       Steps with nearly as many to go share a part, the smallest of theirs.  S is bounded in
             intervals of 60 digits, once for each piece

>>> from ameles.mechanisms.counters.gaussian.cascade import Cascade
>>> scales = ColumnScales.of(Cascade.near(8, 2), 8)
>>> scales.ends
(1, 2, 3, 4, 5, 6, 7, 8)
>>> scales.parts[-1] == 1 << PART_BITS, scales.parts == tuple(sorted(scales.parts))
(True, True)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from ameles.accounting.interval import Interval
from ameles.mechanisms.counters.gaussian.cascade import Cascade

# A part is a whole number of 2^-12.
PART_BITS = 12
# A piece is at most a 16th of the steps that are left when it starts: norms differ by at most 0.3%.
PIECES = 16
# Up to this many contributions the angles are added up one by one.
MOST_ANGLES = 32


@dataclass(frozen=True)
class ColumnScales:
    """Pieces of a stream: the step at which each ends, and the part that its steps have."""

    ends: tuple[int, ...]
    parts: tuple[int, ...]

    @classmethod
    def of(cls, cascade: Cascade, horizon: int) -> ColumnScales:
        """The largest parts with which no column of the encoder has a norm above 1."""
        return _scales(cascade, horizon)

    def piece(self, t: int) -> int:
        """The piece of the step that follows ``t`` steps."""
        return bisect_right(self.ends, t)

    def units(self, steps: int, bits: int) -> list[int]:
        """What a count adds to the encoded sums at each of the first steps, if one is 2^bits."""
        units: list[int] = []
        for end, part in zip(self.ends, self.parts, strict=True):
            units += [part << bits - PART_BITS] * (min(end, steps) - len(units))
        return units


def squared_norm(cascade: Cascade, horizon: int, contributions: int) -> Interval:
    """A bound on the squared L2 norm of ``contributions`` columns, each divided by its norm."""
    return _squared_norm(cascade, horizon, min(horizon, contributions))


def column_squares(cascade: Cascade, lengths: Sequence[int]) -> list[Interval]:
    """S_n of the module's text for each of these n."""
    terms = [(Interval.of(weight), kept) for weight, kept in cascade.terms]
    logarithms = [Interval.of(kept).ln() for _, kept in terms]
    rates = [[1 / Interval.of(1 - kept * also) for _, also in terms] for _, kept in terms]
    squares = []
    for length in lengths:
        if length == 1:
            squares.append(Interval.of(1))
            continue
        # what is left of each weight after the last step that counts
        left = [
            weight * (log * (length - 1)).exp()
            for (weight, _), log in zip(terms, logarithms, strict=True)
        ]
        square = Interval.of(1)
        for i, (weight, _) in enumerate(terms):
            for k, (other, _) in enumerate(terms[: i + 1]):
                shared = (weight * other - left[i] * left[k]) * rates[i][k]
                square = square + (shared if i == k else 2 * shared)
        squares.append(square)
    return squares


@lru_cache(maxsize=256)
def _scales(cascade: Cascade, horizon: int) -> ColumnScales:
    longest = [1]  # the steps that are left when a piece starts, from the last piece on
    while longest[-1] < horizon:
        longest.append(min(horizon, longest[-1] + max(1, longest[-1] // PIECES)))
    longest.reverse()
    ends = (*(horizon - left for left in longest[1:]), horizon)
    parts: list[int] = []
    for square in column_squares(cascade, longest):
        highest = Fraction(square.high)
        parts.append(isqrt((1 << 2 * PART_BITS) * highest.denominator // highest.numerator))
    return ColumnScales(ends, tuple(parts))


@lru_cache(maxsize=1024)
def _squared_norm(cascade: Cascade, horizon: int, m: int) -> Interval:
    if m == 1:
        return Interval.of(1)
    last = column_squares(cascade, [horizon - m + 1])[0]
    square = cascade.squared_norm(horizon, m) / last
    if m > MOST_ANGLES:
        return square
    lengths = [horizon - d for d in range(m)]
    norms = [each.sqrt() for each in column_squares(cascade, lengths)]
    angles = Interval.of(m)
    for d in range(1, m):
        angles = angles + 2 * (m - d) * _product(cascade, horizon, d) / (norms[0] * norms[d])
    return min(square, angles, key=lambda bound: bound.high)


def _product(cascade: Cascade, horizon: int, d: int) -> Interval:
    """The inner product of the first column and the one ``d`` steps later."""
    terms = cascade.terms
    total = sum((weight * kept ** (d - 1) for weight, kept in terms), Fraction(0))
    product = Interval.of(total)
    for weight, kept in terms:
        for other, also in terms:
            both = kept * also
            power = (Interval.of(both).ln() * (horizon - d - 1)).exp()
            product = product + weight * other * also**d * (1 - power) / (1 - both)
    return product
