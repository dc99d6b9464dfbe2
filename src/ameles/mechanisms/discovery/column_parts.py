"""How much a count adds at each step, so that no column of a cascade's encoder is longer than 1.

A count at step t reaches the encoding through column t of C (``counters/cascade``), which is cut
off at the horizon T: its squared norm is S_n = c_0^2 + ... + c_(n-1)^2 with n = T - t + 1.  If a
count adds (part of t) 2^s / 2^12 units instead of 2^s, and

    part of t <= 2^12 / sqrt(S_n),

then every column has a norm of 2^s at most: the columns are normalised, with 1 / norm rounded down.
Steps with nearly as many to go share a part, the smallest of theirs.  S is bounded in intervals of
60 digits, once for each piece.

>>> from ameles.mechanisms.counters.cascade import Cascade
>>> parts = ColumnParts.of(Cascade.near(8, 2), 8)
>>> parts.ends, parts.parts[-1] == 1 << PART_BITS
((1, 2, 3, 4, 5, 6, 7, 8), True)
>>> parts.at(1) == parts.parts[0], parts.parts == tuple(sorted(parts.parts))
(True, True)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from ameles.accounting.interval import Interval
from ameles.mechanisms.counters.cascade import Cascade

PART_BITS = 12
# A piece is at most a 32nd of the steps that are left when it starts.
PIECES = 32


@dataclass(frozen=True)
class ColumnParts:
    """Pieces of a stream: the step at which each ends, and the part that its steps have."""

    ends: tuple[int, ...]
    parts: tuple[int, ...]

    @classmethod
    def of(cls, cascade: Cascade, horizon: int) -> ColumnParts:
        """The largest parts with which no column of the encoder has a norm above 1."""
        return _parts(cascade, horizon)

    def piece(self, t: int) -> int:
        """The piece of step ``t``, which counts from 1."""
        return bisect_left(self.ends, t)

    def at(self, t: int) -> int:
        """The part of step ``t``."""
        return self.parts[self.piece(t)]


def column_squares(cascade: Cascade, lengths: Sequence[int]) -> list[Interval]:
    """S_n of the module's text for each of these n."""
    terms = [(Interval.of(weight), Interval.of(kept), kept) for weight, kept in cascade.terms]
    rates = [[1 / Interval.of(1 - kept * also) for *_, also in terms] for *_, kept in terms]
    squares = []
    for length in lengths:
        if length == 1:
            squares.append(Interval.of(1))
            continue
        # what is left of each weight after the last step that counts
        left = [
            weight * ((base.ln() * (length - 1)).exp() if kept else Interval.of(0))
            for weight, base, kept in terms
        ]
        square = Interval.of(1)
        for i, (weight, *_) in enumerate(terms):
            for k, (other, *_) in enumerate(terms):
                square = square + (weight * other - left[i] * left[k]) * rates[i][k]
        squares.append(square)
    return squares


@lru_cache(maxsize=256)
def _parts(cascade: Cascade, horizon: int) -> ColumnParts:
    longest = [1]  # the steps that are left when a piece starts, from the last piece on
    while longest[-1] < horizon:
        longest.append(min(horizon, longest[-1] + max(1, longest[-1] // PIECES)))
    longest.reverse()
    ends = (*(horizon - left for left in longest[1:]), horizon)
    parts: list[int] = []
    for square in column_squares(cascade, longest):
        highest = Fraction(square.high)
        parts.append(isqrt((1 << 2 * PART_BITS) * highest.denominator // highest.numerator))
    return ColumnParts(ends, tuple(parts))
