"""The states of counters that join over time: a matrix of integers, one column a counter.

Its rows are the running sum of the noise, the averages of the cascade, the encoded value at the
start of the piece, and the decoded value there.
"""

from __future__ import annotations

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.cascade_process import filter_rows
from ameles.mechanisms.counters.gaussian.column_decoder import divided
from ameles.mechanisms.discovery.encoded_noise import EncodedNoise
from ameles.noise.arrays import BoolArray, IntArray

# This many columns at a time stay in the cache.
AT_A_TIME = 1 << 13


class NoiseTable:
    """Columns that advance together; new ones join at the end."""

    def __init__(self, law: EncodedNoise, extra: int = 0) -> None:
        self.law = law
        self._rows = len(law.cascade.sections) + 3 + extra
        self._matrix = np.zeros((self._rows, 16), dtype=np.int64)
        self.width = 0

    @property
    def state(self) -> IntArray:
        """All columns; a view."""
        return self._matrix[:, : self.width]

    def restore(self, flat: IntArray) -> None:
        """Takes over what ``state`` was, flattened."""
        self.width = 0
        self.append(flat.reshape(self._rows, -1))

    def append(self, columns: IntArray) -> None:
        """These columns join."""
        width = self.width + columns.shape[1]
        if width > self._matrix.shape[1]:
            grown = np.zeros((self._rows, max(width, 2 * self._matrix.shape[1])), dtype=np.int64)
            grown[:, : self.width] = self.state
            self._matrix = grown
        self._matrix[:, self.width : width] = columns
        self.width = width

    def join(self, count: int) -> None:
        """New columns, without any noise so far."""
        self.append(np.zeros((self._rows, count), dtype=np.int64))

    def keep(self, kept: BoolArray) -> None:
        """Removes all other columns."""
        left = int(kept.sum())
        for row in self._matrix:
            row[:left] = row[: self.width][kept]
        self.width = left


def advance(law: EncodedNoise, noise: Noise, state: IntArray, t: int) -> IntArray:
    """Step ``t`` of all columns: draws their noises; the decoded noise, in units of 2^-bits."""
    decoded = noise.gaussian(law.variance, (1, state.shape[1]))
    settle(law, decoded, state, t)
    row: IntArray = decoded[0]
    return row


def settle(law: EncodedNoise, drawn: IntArray, state: IntArray, t: int) -> None:
    """Turns one row of draws into decoded noise, in place."""
    sections = len(law.cascade.sections)
    columns = law.columns
    piece = columns.piece(t - 1)
    ends, part = columns.ends[piece] == t, columns.parts[piece]
    for first in range(0, state.shape[1], AT_A_TIME):
        chosen = slice(first, first + AT_A_TIME)
        rows, values = drawn[:, chosen], state[:, chosen]
        filter_rows(law.cascade, rows, values[: sections + 1], law.wide)
        row, start, counted = rows[0], values[sections + 1], values[sections + 2]
        encoded = row.copy() if ends else row
        row[:] = divided(row - start, part)
        row += counted
        if ends:
            start[:] = encoded
            counted[:] = row
