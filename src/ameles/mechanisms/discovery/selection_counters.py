"""The selection counters of all keys that somebody's slot has named and that are not public.

The noise of every key starts at the first look, also of a key that nobody has named yet: it is
drawn when the key gets its first weight, for all looks that it missed.  If the noise began with the
key, how sure a key is would tell when somebody first named it.
"""

from __future__ import annotations

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.discovery.noise_table import NoiseTable, advance, settle
from ameles.mechanisms.discovery.selection_law import SMOOTHING_BITS, SelectionLaw
from ameles.noise.arrays import BoolArray, IntArray

# Draws of missed looks that are in memory at the same time.
DRAWS = 1 << 20
# What a smoothed value can be at most: far above any threshold, and with room in a word.
TOP_BITS = 59


class SelectionCounters:
    """One column for each key, in the order in which they were named; ``numbers`` says whose."""

    def __init__(self, law: SelectionLaw) -> None:
        self.law = law
        self._table = NoiseTable(law.noise, extra=1)
        self.numbers = np.empty(0, dtype=np.int64)

    @property
    def state(self) -> IntArray:
        """The integers of all columns."""
        return self._table.state

    def restore(self, numbers: IntArray, flat: IntArray) -> None:
        """Takes over numbers and integers of a snapshot."""
        self.numbers = numbers
        self._table.restore(flat)

    def look(self, look: int, born: IntArray, weights: IntArray, noise: Noise) -> IntArray:
        """The numbers that are found at this look, which leave.

        ``born`` are the keys that were named since the last look, ``weights`` those of all numbers.
        """
        self._join(born, look, noise)
        state = self._table.state
        decoded = advance(self.law.noise, noise, state, look)
        self._smooth(state, decoded, weights[self.numbers])
        found: BoolArray = state[-1] >= self.law.thresholds[look - 1]
        numbers = self.numbers[found]
        if numbers.size:
            self._table.keep(~found)
            self.numbers = self.numbers[~found]
        return numbers

    def _join(self, born: IntArray, look: int, noise: Noise) -> None:
        """New columns, with the noises of all looks before this one."""
        missed = look - 1
        at_a_time = max(1, DRAWS // max(missed, 1))
        for first in range(0, born.size, at_a_time):
            count = min(at_a_time, born.size - first)
            self._table.join(count)
            state = self._table.state[:, -count:]
            drawn = noise.gaussian(self.law.noise.variance, (missed, count))
            for past in range(missed):
                row = drawn[past : past + 1]
                settle(self.law.noise, row, state, past + 1)
                self._smooth(state, row[0], None)
        self.numbers = np.concatenate([self.numbers, born])

    def _smooth(self, state: IntArray, decoded: IntArray, weights: IntArray | None) -> None:
        """Moves the smoothed values towards the counts and their noise."""
        bits = self.law.noise.bits
        if weights is not None:
            decoded += np.minimum(weights, 1 << TOP_BITS - bits) << bits
        # Cutting is post-processing: no noise brings a larger count below this.
        np.minimum(decoded, 1 << TOP_BITS - 1, out=decoded)
        smooth = state[-1]
        decoded -= smooth
        rest = decoded & ((1 << SMOOTHING_BITS) - 1)
        decoded >>= SMOOTHING_BITS
        decoded *= self.law.gain
        rest *= self.law.gain
        rest >>= SMOOTHING_BITS
        decoded += rest
        smooth += decoded
