"""From encoded values to counts, if a count adds another number of units at each step.

The encoded value of step t is P(t) = the sum of M_s x(s) over s <= t, and noise.  Within a piece
of steps with one M the counts since its start are (P(t) - P(start)) / M.  So the running count is
the sum of these over all pieces, rounded: a function of P alone.  Divisions are rounded down once
a piece, on the grid, and once more for the whole count.

    Decoding M_s x(s) with the noise is the exact sum plus the decoded noise,

because M divides what the data add to P within a piece.  So a run decodes the noise alone, and
adds the exact sum.

>>> import numpy as np
>>> scales = ColumnScales((2, 3), (1 << 11, 1 << 12))
>>> decoder = ColumnDecoder(scales, bits=12, columns=1)
>>> units = scales.units(3, bits=12)
>>> decoder.decode(np.cumsum([5 * units[0], 1 * units[1], 7 * units[2]])[:, None])[:, 0]
array([ 5,  6, 13])
"""

from __future__ import annotations

import numpy as np

from ameles.mechanisms.counters.gaussian.column_scales import PART_BITS, ColumnScales
from ameles.mechanisms.counters.gaussian.encoded import rounded
from ameles.noise.arrays import IntArray


class ColumnDecoder:
    """Decodes step after step; between steps it keeps two numbers a counter."""

    def __init__(
        self, scales: ColumnScales, *, bits: int, columns: int, state: IntArray | None = None
    ) -> None:
        self._scales = scales
        self._bits = bits
        self._t = 0
        # at the start of the piece: the encoded value, and the count in units of 2^-bits
        self._start = np.zeros((2, columns), dtype=np.int64)
        if state is not None:
            self._t = int(state[0])
            self._start = state[1:].reshape(2, columns).copy()

    def state(self) -> IntArray:
        """The steps so far, and the start of the piece."""
        return np.concatenate([np.array([self._t]), self._start.reshape(-1)])

    def decode(self, encoded: IntArray) -> IntArray:
        """The counts of the next steps, one row a step."""
        counts = np.empty_like(encoded)
        done = 0
        while done < len(encoded):
            piece = self._scales.piece(self._t)
            count = min(len(encoded) - done, self._scales.ends[piece] - self._t)
            rows = encoded[done : done + count]
            grown = self._start[1] + divided(rows - self._start[0], self._scales.parts[piece])
            counts[done : done + count] = grown
            self._t += count
            done += count
            if self._t == self._scales.ends[piece]:
                self._start = np.stack([rows[-1], grown[-1]])
        return rounded(counts, self._bits)


def divided(values: IntArray, part: int) -> IntArray:
    """values 2^12 / part, rounded down: the quotient and the rest by themselves fit into words."""
    quotients = values // part
    rests = values - quotients * part
    quotients <<= PART_BITS
    rests <<= PART_BITS
    rests //= part
    quotients += rests
    return quotients
