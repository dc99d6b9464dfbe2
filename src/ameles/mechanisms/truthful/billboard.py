"""Billboard: public running counts of what agents do, one after another, with noise.

Agents take turns.  In a turn an agent looks at the published counts and at their own type, and may
change the counts.  Whatever agents do from then on depends on others only through what was
published, so by the billboard lemma everything told to the others is private in an agent's type, if
the published counts are.  An agent who reports another type takes back all their acts and does
others, perhaps in other turns: ``change`` bounds the L1 norm of both together, over all turns.

What an agent does depends on earlier noise.  So the counts come from the binary counter, whose
blocks are independent Laplace mechanisms: those compose also where later inputs depend on earlier
outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Billboard:
    """So many counts over so many turns; a false report moves them by at most ``change``."""

    epsilon: Fraction
    columns: int
    turns: int
    change: int

    @property
    def counter(self) -> BinaryCounter:
        """The counter that publishes the counts."""
        return BinaryCounter(
            epsilon=self.epsilon,
            horizon=self.turns,
            width=self.columns,
            bound=self.change,  # in one turn or in many: Laplace noise hides the sum
        )

    def start(self, noise: Noise) -> OpenBillboard:
        """A billboard before the first turn."""
        return OpenBillboard(self, noise)

    def off_by(self, beta: float) -> float:
        """All counts are this close in all turns, with probability at least 1 - beta."""
        return self.counter.error.bound_all(self.turns, beta / self.columns)


class OpenBillboard:
    """The published counts, as they stand."""

    def __init__(self, board: Billboard, noise: Noise) -> None:
        self._run = board.counter.start(noise)
        self.seen: IntArray = np.zeros(board.columns, dtype=np.int64)

    def act(self, change: IntArray) -> None:
        """One turn: the change of the counts by one agent, or zeros."""
        self.seen = np.asarray(self._run.step(change), dtype=np.int64)
