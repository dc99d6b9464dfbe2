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
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ameles.core.noise import Noise
from ameles.core.parameters import Horizon
from ameles.mechanisms.counters.buffered import Buffers
from ameles.mechanisms.counters.cascade import NUMBERS, Cascade
from ameles.mechanisms.counters.cascade_process import CascadeProcess, Levels, largest_walk
from ameles.mechanisms.counters.column_decoder import ColumnDecoder
from ameles.mechanisms.counters.column_scales import PART_BITS, ColumnScales, squared_norm
from ameles.mechanisms.counters.encoded import EncodedCounter, Encoding, fine_bits, root_up
from ameles.mechanisms.counters.normalised_error import (
    NormalisedError,
    NormalisedFilter,
    normalised_filter,
)
from ameles.mechanisms.counters.summed import Process
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class NormalisedCounter(EncodedCounter):
    """Counts with the noise of a buffered factorisation whose columns have norm 1."""

    horizon: Horizon = Horizon()
    buffers: Buffers = Buffers()

    @property
    def steps(self) -> int:
        """The horizon."""
        return self.horizon

    @property
    def cascade(self) -> Cascade:
        """Good rates for this horizon, as exact fractions."""
        return Cascade.near(self.horizon, self.buffers)

    @property
    def filter(self) -> NormalisedFilter:
        """How much of each noise is in the counts."""
        return normalised_filter(self.cascade, self.horizon)

    @property
    def encoding(self) -> Encoding:
        """The grid and the noise."""
        change, rounding = self._sensitivity(self.cascade)
        walk = largest_walk(float(change) ** 2 / (2 * float(self.spend)), self.horizon)
        bits = fine_bits(change=change, rounding=rounding, largest=walk, least=PART_BITS)
        return self.encoding_with(self.cascade, bits)

    def encoding_with(self, cascade: Cascade, bits: int) -> Encoding:
        """The encoding by these rates on the grid of 2^-bits."""
        change, rounding = self._sensitivity(cascade)
        return Encoding.of(change=change, rounding=rounding, bits=bits, rho=self.spend)

    def _sensitivity(self, cascade: Cascade) -> tuple[Fraction, Fraction]:
        change, rounding = _sensitivity(cascade, self.horizon, self.contributions, self.touched)
        return self.bound * change, rounding

    @property
    def allowance(self) -> Fraction:
        """What the roundings of all sections can add; see ``cascade``."""
        return self._sensitivity(self.cascade)[1]

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
        if state is None:
            levels = Levels.start(self.cascade, self.encoding.bits, self.columns)
        else:
            levels = Levels.read(state[decoding:], self.buffers, self.columns)
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


@lru_cache(maxsize=256)
def _sensitivity(
    cascade: Cascade, horizon: int, contributions: int, touched: int
) -> tuple[Fraction, Fraction]:
    """By how much changes of 1 and the roundings after them move the encoding, in L2."""
    change = root_up(squared_norm(cascade, horizon, contributions))
    return change, cascade.rounding * root_up(horizon * touched)
