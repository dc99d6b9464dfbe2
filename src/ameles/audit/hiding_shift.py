"""The shift of filtered noise that hides a change, and its length if a unit changes several steps.

A filter B with ones on its diagonal turns the noise z into B z.  The shift that hides a change by
one at the first step is the only e with B e = 2^s (1, 1, 1, ...); at a later step it is the same,
later and cut off.  Numbers are integers in units of 2^-192, with a bound on their error.

Error        Let every equation of B e = 2^s (1, 1, ...) hold up to d for the e that is computed.
             The true e is off by at most d times the L1 norm of B^-1, whose column is the
             difference of neighbouring e, over 2^s.
From above   Let f(t) be the largest |e(u)| over u >= t, so that f falls.  Of any m steps the i-th
             is not before step i, and two of them are at least as far apart as two of the first m.
             So each product of two shifts is at most that of two f among the first m, whatever
             the signs, and m steps by at most 1 shift the noise by at most the length of the sum
             of the first m f.  Where e >= 0 falls, f = e, and the first m steps reach it.
Scales       If a count adds u instead of 2^s units at a step, its shift is u / 2^s times as long.
             Then the largest product of two shifts at least d steps apart, over all pairs of steps,
             bounds each product of the i-th and the (i + d)-th of m steps
From below   the first m steps, all in one direction or in turn up and down

>>> one = HidingShift.of(FilterColumn((ONE, ONE // 2), 0), bits=0)
>>> [value / ONE for value in one.values], one.error
([1.0, 0.5], 0)
>>> one.length((1, -1)) < one.length((1, 1)) <= one.longest(2)
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from operator import mul

from ameles.audit.observation import NotLinear

DIGITS = 192  # binary
ONE = 1 << DIGITS


@dataclass(frozen=True)
class FilterColumn:
    """What a filter gives at each step for a draw of one at the first, in units of 2^-192."""

    values: tuple[int, ...]
    error: int  # how far each may be off


@dataclass(frozen=True)
class HidingShift:
    """The e of the module's text, in units of 2^-192."""

    values: tuple[int, ...]
    error: int  # how far each may be off

    @classmethod
    def of(cls, column: FilterColumn, *, bits: int) -> HidingShift:
        """Solves B e = 2^bits (1, 1, ...)."""
        shift: list[int] = []
        backwards = column.values[::-1]
        cut = False
        for t in range(len(column.values)):
            past = sum(map(mul, backwards[-1 - t : -1], shift))
            cut = cut or bool(past & (ONE - 1))
            shift.append((ONE << bits) - (past >> DIGITS))
        size = sum(map(abs, shift))
        off = int(cut) + _up(column.error * size, DIGITS)  # d of the module's text
        if 4 * len(shift) * off > ONE << bits:
            raise NotLinear("the filter of the noise has too many digits")
        spread = sum(abs(b - a) for a, b in zip([0, *shift], shift, strict=False))
        return cls(tuple(shift), _up(2 * off * spread, DIGITS + bits))

    def longest(self, count: int) -> Fraction:
        """An upper bound on the L2 norm of the shifts of any ``count`` steps, each by at most 1."""
        largest = list(accumulate((abs(e) for e in reversed(self.values)), max))[::-1]
        safe = tuple(e + self.error for e in largest)
        return Fraction(_root_up(_square(safe, (1,) * count)), ONE)

    def longest_scaled(self, count: int, units: Sequence[int]) -> Fraction:
        """The same times 2^s, if a count adds these units at each step: see the module's text."""
        largest = list(accumulate((abs(e) for e in reversed(self.values)), max))[::-1]
        safe = tuple(e + self.error for e in largest)
        return Fraction(_root_up(_scaled_square(safe, tuple(units), count)), ONE)

    def length(self, signs: Sequence[int]) -> Fraction:
        """A lower bound on the norm of the shift of the first steps, by these amounts."""
        off = self.error * sum(map(abs, signs)) * _root_up(len(self.values))
        return Fraction(max(0, math.isqrt(_square(self.values, tuple(signs))) - off), ONE)


@lru_cache(maxsize=4096)
def _square(values: tuple[int, ...], signs: tuple[int, ...]) -> int:
    """The squared norm of the sum of the first columns, with these signs."""
    if set(signs) in ({1}, {-1}):  # a window that slides
        sums = [0, *accumulate(values)]
        ends = range(1, len(sums))
        return sum((sums[t] - sums[max(0, t - len(signs))]) ** 2 for t in ends)
    total = 0
    for t in range(len(values)):
        total += sum(s * values[t - i] for i, s in enumerate(signs[: t + 1])) ** 2
    return total


@lru_cache(maxsize=256)
def _scaled_square(values: tuple[int, ...], units: tuple[int, ...], count: int) -> int:
    """A bound on the squared norm of any ``count`` scaled columns of falling positive values."""
    steps = len(values)
    largest = 0  # of the products of columns that are at least so far apart
    total = 0
    for apart in range(steps - 1 if count > 1 else 0, -1, -1):
        products = accumulate(map(mul, values, values[apart:]))
        last = steps - apart - 1  # the first column of the pair that ends at the last step
        for overlap, product in enumerate(products):
            first = last - overlap
            largest = max(largest, units[first] * units[first + apart] * product)
        if apart < count:
            total += (count if apart == 0 else 2 * (count - apart)) * largest
    return total


def _root_up(square: int) -> int:
    root = math.isqrt(square)
    return root + (root * root < square)


def _up(value: int, bits: int) -> int:
    """value / 2^bits, rounded up."""
    return -(-value >> bits)
