"""The noise of a Hats counter with an end, or of one for windows, and its state."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.hats.cells import HatsCells
from ameles.mechanisms.counters.hats.draws import NodeDraws
from ameles.mechanisms.counters.hats.level import Level
from ameles.mechanisms.counters.hats.shape import HatsShape
from ameles.mechanisms.counters.hats.weights import weight_tables
from ameles.noise.arrays import IntArray


class HatsProcess(HatsCells):
    """A process whose shape is the same from the first step to the last."""

    def __init__(
        self,
        noise: Noise,
        shape: HatsShape,
        scale: Fraction,
        columns: int,
        state: IntArray | None,
    ) -> None:
        super().__init__(columns)
        self._adopt(shape, NodeDraws(noise, shape, scale, columns), weight_tables(shape))
        k = shape.radices[0]
        self._sums = np.zeros((len(shape.radices), 4, columns), dtype=np.int64)
        self._levels = [Level(sums) for sums in self._sums]
        self._next = np.zeros((k, columns), dtype=np.int64)
        self._rows = np.zeros((k, columns), dtype=np.int64)
        if state is not None:
            self._restore(state)

    def state(self) -> IntArray:
        parts = [np.array([self._t]), self._before, self._next, self._rows]
        for level in self._levels:
            parts += [level.sums, level.waiting]
        return np.concatenate([part.reshape(-1) for part in parts])

    def _restore(self, state: IntArray) -> None:
        columns, k = self._columns, self._shape.radices[0]
        self._t = int(state[0])
        rows = state[1:].reshape(-1, columns)
        self._before[:], self._next[:], self._rows[:] = rows[0], rows[1 : 1 + k], rows[1 + k :][:k]
        if not self._t:
            return
        at = 1 + 2 * k
        cells = self._shape.cells(self._t - 1)
        for number, level in enumerate(self._levels, start=1):
            level.cell = cells[number - 1]
            level.sums[:] = rows[at : at + 4]
            waiting = max(0, self._nodes.end(number, cells) - level.cell - 2)
            level.waiting = rows[at + 4 : at + 4 + waiting].copy()
            at += 4 + waiting
