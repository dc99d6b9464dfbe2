"""Normalised counter: a buffered counter whose encoder has columns of equal norm.

Theorem      Henzinger-Kalinin-Upadhyay 2025 normalise the columns of the square root; the same for
             a buffered Toeplitz encoder (``buffered``), with binary fractions that the code
             certifies: ``encoded``, ``cascade`` and ``column_scales`` make it exact
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Gaussian on a grid of 2^-s counts; at step t a count adds M_t units, such that
             every column of the encoder has a norm of 2^s at most
Error        at T = 2^20 worst 5.29 sigma: 1.035 times the lower bound for any factorisation
Memory       one integer per buffer, four sums, and up to 1024 noise values taken ahead

The encoded value is P(t) = the sum of M_s x(s) over s <= t, and the filtered noise of ``cascade``,
so a change of x(s) by d is hidden by the shift that hides M_s d there.  Decoding it is
post-processing (``column_decoder``).

>>> from ameles.noise import Zero
>>> run = NormalisedCounter(epsilon=1, delta=1e-6, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ameles.accounting.interval import Interval
from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.cascade import NUMBERS, Cascade
from ameles.mechanisms.counters.gaussian.cascade_counter import CascadeCounter
from ameles.mechanisms.counters.gaussian.cascade_process import CascadeProcess
from ameles.mechanisms.counters.gaussian.column_decoder import ColumnDecoder
from ameles.mechanisms.counters.gaussian.column_scales import PART_BITS, ColumnScales, squared_norm
from ameles.mechanisms.counters.gaussian.normalised_error import (
    NormalisedError,
    NormalisedFilter,
    normalised_filter,
)
from ameles.mechanisms.counters.summed import Process
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class NormalisedCounter(CascadeCounter):
    """Counts with the noise of a buffered factorisation whose columns have norm 1."""

    least_bits: ClassVar[int] = PART_BITS

    @staticmethod
    def squared_norm(cascade: Cascade, horizon: int, contributions: int) -> Interval:
        """That of columns which are divided by their norms."""
        return squared_norm(cascade, horizon, contributions)

    @property
    def filter(self) -> NormalisedFilter:
        """How much of each noise is in the counts."""
        return normalised_filter(self.cascade, self.horizon)

    def units(self, steps: int) -> list[int]:
        """What a count adds to the encoded sum at each of the first steps, in units of the grid."""
        return ColumnScales.of(self.cascade, self.horizon).units(steps, self.encoding.bits)

    def decoder(self) -> ColumnDecoder:
        """What turns encoded values into counts, from the first step on."""
        scales = ColumnScales.of(self.cascade, self.horizon)
        return ColumnDecoder(scales, bits=self.encoding.bits, columns=self.columns)

    @property
    def error(self) -> NormalisedError:
        """A weighted sum of discrete Gaussian variables, rounded to whole counts."""
        encoding = self.encoding
        return NormalisedError(self.filter, encoding.bits, float(encoding.variance))

    @property
    def memory(self) -> int:
        """The sums of counts and noise, two of the piece, the buffers, noise ahead, the rates."""
        return self.columns * (4 + self.ahead + self.buffers) + NUMBERS * self.buffers + 3

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        decoding = 1 + 2 * self.columns
        levels = self.levels(None if state is None else state[decoding:])
        variance = self.encoding_with(levels.cascade, levels.bits).variance
        decoder = ColumnDecoder(
            ColumnScales.of(levels.cascade, self.horizon),
            bits=levels.bits,
            columns=self.columns,
            state=None if state is None else state[:decoding],
        )
        return NormalisedProcess(CascadeProcess(noise, levels, variance, self.horizon), decoder)


class NormalisedProcess:
    """The noise of a cascade, decoded as the encoded values are."""

    def __init__(self, cascade: CascadeProcess, decoder: ColumnDecoder) -> None:
        self._cascade = cascade
        self._decoder = decoder

    def state(self) -> IntArray:
        return np.concatenate([self._decoder.state(), self._cascade.state()])

    def take(self, n: int) -> IntArray:
        return self._decoder.decode(self._cascade.encode(n))

    def encode(self, n: int) -> IntArray:
        """The noise of the next ``n`` encoded values, in units of the grid."""
        encoded = self._cascade.encode(n)
        self._decoder.decode(encoded)
        return encoded
