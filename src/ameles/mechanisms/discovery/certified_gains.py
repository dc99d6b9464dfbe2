"""How much of each draw is in a smoothed counter: proven bounds, from the filter's own recursion.

The recursion of ``noise_table`` and the smoothing are linear but for their roundings.  Here it runs
on all unit draws at once, one column a draw, without roundings, on pairs of floats that are sure to
have the true number between them: after every operation the lower one is moved down to the next
float and the upper one up.  IEEE arithmetic rounds each operation to the nearest float, so that is
enough.

>>> from ameles.mechanisms.counters.gaussian.cascade import Cascade
>>> from ameles.mechanisms.discovery.encoded_noise import EncodedNoise
>>> noise = EncodedNoise.of(
...     Cascade.near(4, 2), 4, change=Fraction(1), touched=1, rho=Fraction(1, 2))
>>> gains = smoothed_gains(noise, gain=Fraction(1))
>>> [round(math.sqrt(squares), 3) for squares, _ in gains]
[1.22, 1.337, 1.369, 1.345]
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ameles.mechanisms.counters.gaussian.column_scales import PART_BITS
from ameles.mechanisms.discovery.encoded_noise import EncodedNoise, Floats


class Enclosed:
    """Numbers, each between two floats."""

    __slots__ = ("high", "low")

    def __init__(self, low: Floats, high: Floats) -> None:
        self.low = low
        self.high = high

    @classmethod
    def zeros(cls, size: int) -> Enclosed:
        """Exact zeros."""
        return cls(np.zeros(size), np.zeros(size))

    def __add__(self, other: Enclosed) -> Enclosed:
        return _outward(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Enclosed) -> Enclosed:
        return _outward(self.low - other.high, self.high - other.low)

    def times(self, factor: Fraction) -> Enclosed:
        """All of them times a number that is not negative."""
        near = float(factor)  # correctly rounded, so off by less than the next float on each side
        exact = Fraction(near) == factor
        low = near if exact else float(np.nextafter(near, 0.0))
        high = near if exact else float(np.nextafter(near, np.inf))
        # a negative end is further out with the larger factor
        below = np.where(self.low < 0, self.low * high, self.low * low)
        above = np.where(self.high < 0, self.high * low, self.high * high)
        return _outward(below, above)


def _outward(low: Floats, high: Floats) -> Enclosed:
    return Enclosed(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))


def smoothed_gains(noise: EncodedNoise, gain: Fraction) -> list[tuple[Fraction, Fraction]]:
    """For each step upper bounds on the sum of squares of the smoothed row, and on that of its
    absolute values."""
    steps, columns = noise.horizon, noise.columns
    averages = [Enclosed.zeros(steps) for _ in noise.cascade.sections]
    start, counted, smooth = (Enclosed.zeros(steps) for _ in range(3))
    gains = []
    for t in range(1, steps + 1):
        walk = np.zeros(steps)
        walk[:t] = 1.0  # each unit draw so far is in the running sum: exactly
        row = Enclosed(walk, walk)
        for place, section in enumerate(noise.cascade.sections):
            average = averages[place]
            averages[place] = average.times(1 - section.rate) + row.times(section.rate)
            row = row - average.times(section.share)
        piece = columns.piece(t - 1)
        decoded = counted + (row - start).times(Fraction(1 << PART_BITS, columns.parts[piece]))
        if columns.ends[piece] == t:
            start, counted = row, decoded
        smooth = smooth.times(1 - gain) + decoded.times(gain)
        gains.append(_norms(smooth, t))
    return gains


def _norms(row: Enclosed, t: int) -> tuple[Fraction, Fraction]:
    """The sum of squares and of absolute values of the first ``t``, from above."""
    largest = np.maximum(np.abs(row.low[:t]), np.abs(row.high[:t]))
    # a float sum of t numbers that are not negative is too small by at most t parts in 2^53
    room = 1 + Fraction(2 * t + 4, 1 << 52)
    squares = Fraction(math.fsum((largest * largest).tolist()))
    return squares * room, Fraction(math.fsum(largest.tolist())) * room
