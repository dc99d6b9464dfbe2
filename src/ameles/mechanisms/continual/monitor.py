"""Window monitor: "the count of the last w steps reaches h", at most c times, then it halts.

Theorem      sparse vector (catalogue 42) on the stream's own windows.  One unit changes at most
             ``contributions`` steps by ``bound``, of which a window holds min(contributions, w):
             every window's count changes by at most bound * min(contributions, w)
Neighbours   streams that differ in up to ``contributions`` steps by at most ``bound`` each;
             monotone: one unit's events, each counting zero or more, added or removed
Noise        discrete Laplace, of a threshold drawn once for the stream's life and of each window
Error        that of sparse vector, on the count of a window
Memory       the last w inputs, exact: the state is secret

A window that stays above is above at every step, and each time is one of the c.  After the
last one every step publishes "halted", and the inputs kept are overwritten.

>>> from ameles.noise import Zero
>>> recipe = WindowMonitor(epsilon=1, window=2, threshold=5, aboves=2)
>>> run = recipe.start(Zero())
>>> [str(run.step(x)) for x in [3, 1, 4, 0, 5, 9]]
['below', 'below', 'above', 'below', 'above', 'halted']
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.noise import Noise
from ameles.core.parameters import Number
from ameles.mechanisms.continual.integers import integer
from ameles.mechanisms.continual.reply import Reply
from ameles.mechanisms.continual.sparse_vector import SparseVectorRun
from ameles.mechanisms.continual.watching import LARGEST, Watch
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import SteppedRun
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class WindowMonitor(Watch["WindowMonitorRun"]):
    """Tells when the count of the last ``window`` steps reaches ``threshold``.

    ``answering`` is the share of epsilon that pays for the window's noisy count at each alert.
    ``monotone`` promises that one unit's events count zero or more, and halves the noise.
    """

    answering: Number = Number(0, "0.999", 0)

    @property
    def sensitivity(self) -> int:
        """How much one unit may change the count of a window."""
        return self.bound * min(self.contributions, self.window)

    @property
    def share_of_answers(self) -> Fraction:
        """The share of epsilon that pays for noisy counts."""
        return self.answering

    @property
    def memory(self) -> int:
        """The 64-bit integers that a run holds."""
        return self.window + self.comparison.memory

    def _run(self, state: State, noise: Noise) -> WindowMonitorRun:
        return WindowMonitorRun(self, state, noise)


class WindowMonitorRun(SteppedRun[object, Reply]):
    """A run: one count a step."""

    def __init__(self, recipe: WindowMonitor, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._window = recipe.window
        if state.parts:
            self._inputs = state.parts[0]
        else:
            self._inputs = np.zeros(recipe.window, dtype=np.int64)
        # the count of the window is exact in Python's integers
        self._count = int(self._inputs.sum(dtype=object))
        asked = State(state.run, state.step, state.parts[1:])
        self._asked = SparseVectorRun(recipe.comparison, asked, noise)

    @property
    def halted(self) -> bool:
        """Whether all aboves are used up: public, since every one of them was."""
        return self._asked.halted

    def _parts(self) -> tuple[IntArray, ...]:
        """The last inputs, exact, and the state of the comparison."""
        return self._inputs, *self._asked._parts()

    def _checked(self, x: object) -> int:
        return integer(x, "count")

    def _step(self, value: int) -> Reply:
        place = self.t % self._window
        self._t += 1
        if self.halted:
            return self._asked.step(0)
        # Clamped, not wrapped: a wrap would move a comparison by 2**64 where clamping moves two
        # neighbours no further apart.
        value = max(-LARGEST, min(LARGEST, value))
        self._count += value - int(self._inputs[place])
        self._inputs[place] = value
        reply = self._asked.step(self._count)
        if self.halted:
            self._inputs[:] = 0
            self._count = 0
        return reply
