"""The noise of counters that join a stream over time: one cascade, normalised columns, one clock.

The encoded value of a counter is P(t) = the sum of M_s x(s) over s <= t and the filtered noise of
``counters/gaussian/cascade``, where M_s = (part of s) 2^bits / 2^12 (``column_scales`` beside it).
A counter that joins at step u has the noises of steps u, u + 1, ... only: its encoder has the
columns from u on.

Sensitivity  Let one unit change the inputs of K counters, and let a_k be the sum of |change| of
             counter k over all steps.  No column is longer than 2^bits, so the noises with which
             both streams give the same P differ by at most
             2^bits a_k + rounding sqrt(T) in counter k (``cascade``, again), and in all of them
             by 2^bits sqrt(sum of a_k^2) + rounding sqrt(T K).
Decoding     Within a piece with one M a count since its start is (P(t) - P(start)) / M.  M divides
             what the data add, so decoding P is the exact sum plus the decoded noise.

>>> from ameles.mechanisms.counters.gaussian.cascade import Cascade
>>> noise = EncodedNoise.of(
...     Cascade.near(100, 3), 100, change=Fraction(1), touched=1, rho=Fraction(1, 2))
>>> noise.bits, round(float(noise.std(100)), 2)
(18, 2.1)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.mechanisms.counters.gaussian.buffered_optimum import decoder_weights
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.cascade_process import is_wide, largest_walk
from ameles.mechanisms.counters.gaussian.column_scales import PART_BITS, ColumnScales
from ameles.mechanisms.counters.gaussian.encoded import Encoding, fine_bits, root_up

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class EncodedNoise:
    """Public numbers: the filter, the grid, the variance of a draw, the parts of the steps."""

    cascade: Cascade
    horizon: int
    bits: int
    variance: Fraction

    @classmethod
    def of(
        cls,
        cascade: Cascade,
        horizon: int,
        *,
        change: Fraction,
        touched: int,
        rho: Fraction,
        bits: int | None = None,
    ) -> EncodedNoise:
        """For one unit that changes ``touched`` counters by ``change`` in L2.

        ``bits`` is the grid that a run began with; None: the grid of a new one.
        """
        return _noise(cascade, horizon, change, touched, rho, bits)

    @property
    def columns(self) -> ColumnScales:
        """The parts of the steps."""
        return ColumnScales.of(self.cascade, self.horizon)

    @cached_property
    def wide(self) -> bool:
        """Whether products need more than a word."""
        return is_wide(float(self.variance), self.horizon)

    # What follows is about the error, in floats -----------------------------------------------

    @cached_property
    def _decoder(self) -> Floats:
        """b_(T-1), ..., b_1, b_0."""
        poles = np.array([float(section.pole) for section in self.cascade.sections])
        rates = np.array([float(section.rate) for section in self.cascade.sections])
        places, weights = decoder_weights(poles, rates)
        powers = (1 - places)[:, None] ** np.arange(self.horizon - 1, -1, -1)
        return weights @ powers

    def row(self, t: int) -> Floats:
        """How much of each of the first ``t`` draws is in the noise at step ``t``, times 2^bits.

        The noise is the sum over pieces of factor times the change of P within the piece; summed by
        parts, P at the end of each piece has the difference of two factors, and P(t) the last one.
        """
        columns = self.columns
        last = columns.piece(t - 1)
        factors = [(1 << PART_BITS) / part for part in columns.parts[: last + 1]]
        row = self._decoder[self.horizon - t :] * factors[last]
        for end, factor, after in zip(columns.ends[:last], factors, factors[1:], strict=False):
            row[:end] += (factor - after) * self._decoder[self.horizon - end :]
        return row

    def variances(self, t: int, before: int = 0) -> Floats:
        """The variance in counts at step ``t`` for counters that joined at steps 1, 2, ..., t.

        With ``before``, that of the difference from an earlier step.
        """
        row = self.row(t)
        if before:
            row[:before] -= self.row(before)
        squares = np.cumsum((row * row)[::-1])[::-1]
        return squares * math.ldexp(float(self.variance), -2 * self.bits)

    def std(self, t: int, since: int = 1) -> float:
        """The standard deviation at step ``t`` of a counter that joined at step ``since``."""
        return math.sqrt(self.variances(t)[since - 1])

    def slack(self, t: int) -> float:
        """How far roundings move a decoded value, in counts, and how far discrete noises are from
        normal ones."""
        largest = (1 << PART_BITS) / min(self.columns.parts)
        row = self.row(t)
        filtered = 2 * largest * self.cascade.slack + len(self.columns.ends)
        return math.ldexp(filtered + float(np.abs(row).sum()) / 2, -self.bits)

    def factor(self, t: int) -> float:
        """How much likelier t discrete noises can be than rounded normal ones."""
        return math.exp(min(t / (24 * float(self.variance)), 700.0))


@lru_cache(maxsize=256)
def _noise(
    cascade: Cascade,
    horizon: int,
    change: Fraction,
    touched: int,
    rho: Fraction,
    bits: int | None,
) -> EncodedNoise:
    rounding = cascade.rounding * root_up(horizon * touched)
    if bits is None:
        largest = largest_walk(float(change) ** 2 / (2 * float(rho)), horizon)
        bits = fine_bits(change=change, rounding=rounding, largest=largest, least=PART_BITS)
    encoding = Encoding.of(change=change, rounding=rounding, bits=bits, rho=rho)
    return EncodedNoise(cascade, horizon, bits, encoding.variance)
