"""How far the median of a table can move: after k replaced rows, and smoothed over all k.

Theorem      Nissim-Raskhodnikova-Smith 2007 (catalogue 43): for n odd, m = (n + 1) / 2, values
             sorted, 0 before the first and ``largest`` after the last, the local sensitivity within
             k replaced rows is A_k = max over t = 0..k+1 of x[m+t] - x[m+t-k-1], and
             S = max over k = 0..n of exp(-k beta) A_k is the least beta-smooth bound on it
Exactness    ``smooth_sensitivity`` gives S' with S <= S' <= S (1 + 2^-48), a dyadic fraction, and
             never less than 2^-40.  So S' is (beta + 2^-48)-smooth

>>> spread = MedianSpread([1, 2, 7], largest=10)
>>> spread.median, [spread.within(k) for k in range(4)]
(2, [5, 8, 9, 10])
>>> float(smooth_sensitivity(spread, Fraction(1)))
5.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from ameles.mechanisms.one_shot.exact_inputs import rows_of
from ameles.noise.arrays import IntArray
from ameles.noise.enclosure import exp_minus

# S' exceeds S by at most this share of it; the claim of a mechanism charges it.
ROUNDING = Fraction(1, 1 << 48)
LEAST = Fraction(1, 1 << 40)
# Logarithms of floats are right to about 1e-15 of an exponent below 1e5.
MARGIN = 1e-9


class MedianSpread:
    """The sorted values of a table of odd length, clamped to [0, largest]; what is no whole number
    counts as 0."""

    def __init__(self, values: Sequence[int] | IntArray, *, largest: int) -> None:
        inside = np.sort(rows_of(values, len(values), largest))
        self.rows = len(inside)
        self.largest = largest
        self._padded: IntArray = np.concatenate(([0], inside, [largest]))
        self._middle = (self.rows + 1) // 2

    @cached_property
    def median(self) -> int:
        """The value in the middle."""
        return int(self._padded[self._middle])

    def within(self, k: int) -> int:
        """The most by which one more row can move the median after k were replaced."""
        # pairs of places i <= m <= j with j - i = k + 1; outside of the table the ends stand
        low = np.arange(self._middle - k - 1, self._middle + 1)
        high = np.minimum(low + k + 1, self.rows + 1)
        return int((self._padded[high] - self._padded[np.maximum(low, 0)]).max())

    def distance(self, bound: int) -> int:
        """How many rows must be replaced until one more can move the median by over ``bound``."""
        low, high = 0, self.rows + 1
        while low < high:
            k = (low + high) // 2
            if self.within(k) > bound:
                high = k
            else:
                low = k + 1
        return low


def smooth_sensitivity(spread: MedianSpread, beta: Fraction) -> Fraction:
    """A dyadic fraction from S to S (1 + 2^-48), but at least 2^-40."""
    bounds = [LEAST]
    for k in _candidates(spread, float(beta)):
        # enough bits that the enclosure is narrow compared with exp(-k beta)
        bits = 64 + math.ceil(float(k * beta) * 1.5)
        bounds.append(spread.within(k) * Fraction(exp_minus(k * beta, bits)[1], 1 << bits))
    return _rounded_up(max(bounds))


def _candidates(spread: MedianSpread, beta: float) -> list[int]:
    """The k of the largest exp(-k beta) A_k, with all others that floats cannot distinguish from
    it.

    A_k grows with k, so exp(-i beta) A_j bounds all k from i to j; ranges that cannot have the
    largest are left out.
    """
    smallest = math.log(float(LEAST)) - 1  # below, the floor is the answer
    logs: dict[int, float] = {}

    def log_of(k: int) -> float:
        if k not in logs:
            logs[k] = math.log(max(spread.within(k), 1e-300))
        return logs[k]

    best, left = smallest, [(0, spread.rows)]
    while left:
        low, high = left.pop()
        if log_of(high) - low * beta < best - MARGIN:
            continue
        for k in {low, high}:
            best = max(best, log_of(k) - k * beta)
        if high - low > 1:
            middle = (low + high) // 2
            left += [(middle, high), (low, middle)]
    return [k for k, log in logs.items() if log - k * beta >= best - MARGIN]


def _rounded_up(x: Fraction) -> Fraction:
    """The next dyadic fraction of 64 bits, for x below 2^63."""
    shift = 64 - (x.numerator.bit_length() - x.denominator.bit_length())
    return Fraction(-(-(x.numerator << shift) // x.denominator), 1 << shift)
