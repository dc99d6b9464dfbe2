"""The noise process of a cascade: integers in, integers out, within 64 bits.

Every number is a sum of noises or an average of such sums.  The products with rates and
shares of 12 bits are taken whole where they fit into a word and in two parts where they do
not; both give the same integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.cascade import NUMBERS, PRECISION, Cascade
from ameles.mechanisms.counters.gaussian.encoded import DEVIATIONS, WORD, rounded
from ameles.noise.arrays import IntArray

# Differences and averages of sums within 64 deviations are within four times that.
ROOM = 4 * DEVIATIONS
# Up to here plain integers are quicker than arrays; beyond, this many counters fit into the cache.
FEW = 16
KEYS = 1 << 13
MASK = (1 << PRECISION) - 1


def largest_walk(variance: float, horizon: int) -> float:
    """A bound on the running sum of this many noises, and on all numbers computed from it."""
    return ROOM * math.sqrt(variance * horizon)


@dataclass
class Levels:
    """A cascade on a grid, the running sum of the noise and, below it, the averages."""

    cascade: Cascade
    bits: int
    values: IntArray = field(repr=False)  # noise

    @classmethod
    def start(cls, cascade: Cascade, bits: int, columns: int) -> Levels:
        """All zero."""
        shape = (len(cascade.sections) + 1, columns)
        return cls(cascade, bits, np.zeros(shape, dtype=np.int64))

    @classmethod
    def read(cls, numbers: IntArray, buffers: int, columns: int) -> Levels:
        """What ``numbers`` gave."""
        head = 1 + NUMBERS * buffers
        cascade = Cascade.read(numbers[1:head].tolist())
        return cls(cascade, int(numbers[0]), numbers[head:].reshape(-1, columns).copy())

    def numbers(self) -> IntArray:
        """All of it, flat."""
        head = np.array([self.bits, *self.cascade.numbers])
        return np.concatenate([head, self.values.reshape(-1)])


class CascadeProcess:
    """The running sum of the noise through the sections, rounded to whole counts."""

    def __init__(self, noise: Noise, levels: Levels, variance: Fraction, horizon: int) -> None:
        self._noise = noise
        self._levels = levels
        self._variance = variance
        self._wide = is_wide(float(variance), horizon)

    @property
    def bits(self) -> int:
        """The s of the grid."""
        return self._levels.bits

    def state(self) -> IntArray:
        return self._levels.numbers()

    def take(self, n: int) -> IntArray:
        return rounded(self.encode(n), self.bits)

    def encode(self, n: int) -> IntArray:
        """The noise of the next ``n`` encoded values, in units of the grid."""
        values = self._levels.values
        columns = values.shape[1]
        releases = self._noise.gaussian(self._variance, (n, columns))
        if columns <= FEW:
            for key in range(columns):
                self._filter_one(releases[:, key], values[:, key])
        else:
            for start in range(0, columns, KEYS):
                keys = slice(start, start + KEYS)
                filter_rows(self._levels.cascade, releases[:, keys], values[:, keys], self._wide)
        return releases

    def _filter_one(self, column: IntArray, level: IntArray) -> None:
        """The same for one counter, in Python's integers."""
        walk, *averages = level.tolist()
        sections = [
            (i, section.part, section.mantissa, section.shift)
            for i, section in enumerate(self._levels.cascade.sections)
        ]
        filtered = []
        for noise in column.tolist():
            walk += noise
            row = walk
            for i, part, mantissa, shift in sections:
                average = averages[i]
                averages[i] = average + (mantissa * (row - average) >> shift)
                row -= part * average >> PRECISION
            filtered.append(row)
        column[:] = filtered
        level[:] = [walk, *averages]


def is_wide(variance: float, horizon: int) -> bool:
    """Whether the products of the filter need more than 64 bits."""
    return math.log2(largest_walk(variance, horizon)) + PRECISION > WORD


def filter_rows(cascade: Cascade, rows: IntArray, values: IntArray, wide: bool) -> None:
    """Turns noises into the filter's output, in place, for many counters step by step.

    ``values`` has the running sum of the noise and, below it, the averages: one column a counter.
    """
    scaled = _scaled_wide if wide else _scaled
    walk, averages = values[0], values[1:]
    behind, part, spare = (np.empty_like(walk) for _ in range(3))
    for row in rows:
        walk += row
        row[:] = walk
        for section, average in zip(cascade.sections, averages, strict=True):
            np.subtract(row, average, out=behind)
            row -= scaled(average, section.part, PRECISION, part, spare)
            average += scaled(behind, section.mantissa, section.shift, behind, spare)


def _scaled(x: IntArray, factor: int, shift: int, out: IntArray, spare: IntArray) -> IntArray:
    """factor * x / 2^shift, rounded down."""
    np.multiply(x, factor, out=out)
    out >>= shift
    return out


def _scaled_wide(x: IntArray, factor: int, shift: int, out: IntArray, spare: IntArray) -> IntArray:
    """The same where the product needs more than 64 bits: in two parts of x.

    With x = high 2^12 + low the floors nest, because high 2^12 factor is a multiple of 2^12.
    """
    np.bitwise_and(x, MASK, out=spare)
    spare *= factor
    spare >>= PRECISION
    np.right_shift(x, PRECISION, out=out)
    out *= factor
    out += spare
    out >>= shift - PRECISION
    return out
