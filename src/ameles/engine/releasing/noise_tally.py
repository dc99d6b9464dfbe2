"""The number of noise draws in the totals of a release, if each batch of events draws one.

A counter whose state may be seized at every moment draws noise with every batch.  Nobody knows
beforehand how many batches a step will have.  That number is public: such a stream does not protect
how many events came, and when.  So the run counts its draws, and the store keeps the counts of the
last window beside the totals.  An interval then states the law of what was drawn.

The store of a stream that was launched before draws were counted has no counts.  The vault saved
every batch and every step once, so there were at most as many draws as saves.

>>> tally = NoiseTally.blank(2)
>>> tally.count(run=3, step=1, window=1), tally.count(run=5, step=2, window=1)
(3, 2)
>>> tally.count(run=6, step=3, window=2), tally.count(run=7, step=4, window=None)
(3, 7)
>>> unknown = NoiseTally.unknown(2, released=4, most=30)
>>> unknown.count(run=2, step=5, window=1), unknown.count(run=5, step=6, window=1)
(28, 3)
>>> NoiseTally.read(tally.to_bytes(), 2).count(run=9, step=5, window=1)
2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ameles.noise.arrays import IntArray


@runtime_checkable
class CountsNoises(Protocol):
    """A run that counts the noise draws in its sum."""

    @property
    def noises(self) -> int: ...


@dataclass
class NoiseTally:
    """The counts of draws in the published totals of the last steps.  They only grow."""

    totals: IntArray  # of the last steps, one at least
    run: int  # how many the run had counted at the last of them

    @classmethod
    def blank(cls, steps: int) -> NoiseTally:
        """Before the first step."""
        return cls(np.zeros(max(steps, 1), dtype=np.int64), 0)

    @classmethod
    def unknown(cls, steps: int, *, released: int, most: int) -> NoiseTally:
        """The tally of a stream whose draws were not counted, of which there were at most ``most``.

        The count of a span is then never too small.  Each step before the span had at least one
        draw, and all others may be in the span.
        """
        tally = cls.blank(steps)
        tally.totals[:] = np.maximum(released + 1 - np.arange(len(tally.totals), 0, -1), 0)
        tally.run = min(released - most, 0)
        return tally

    @classmethod
    def read(cls, stored: bytes, steps: int) -> NoiseTally:
        """Reads what ``to_bytes`` wrote."""
        run, *totals = np.frombuffer(stored, dtype="<i8").tolist()
        if len(totals) != max(steps, 1):
            raise ValueError(len(totals))
        return cls(np.array(totals, dtype=np.int64), run)

    @staticmethod
    def size(steps: int) -> int:
        """The number of bytes that it takes in the store."""
        return 8 * (1 + max(steps, 1))

    def to_bytes(self) -> bytes:
        """The tally for the store.  Nothing in it is secret."""
        return np.concatenate([[self.run], self.totals]).astype("<i8").tobytes()

    def begin(self) -> None:
        """Continues the totals of a lost run with a new run."""
        self.run = 0

    def count(self, *, run: int, step: int, window: int | None) -> int:
        """The number of draws in the span that ends with this step; ``run`` is the run's count."""
        now = int(self.totals[-1]) + run - self.run
        before = 0 if window is None or window >= step else int(self.totals[-window])
        self.totals = np.append(self.totals[1:], now)
        self.run = run
        return now - before
