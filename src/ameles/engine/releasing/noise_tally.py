"""How many noises the totals of a release have in them, where each batch of events draws one.

A counter whose state may be seized at every moment draws a noise with every batch, and how many
batches a step has is not known before.  It is public: how many events came, and when, is not what
such a stream protects.  So the run counts its noises, and the store keeps the totals' counts for
the last window, beside the totals.  An interval then states the law of what was drawn.

A stream that was launched before noises were counted has none in its store.  Every batch and every
step was saved in the vault once, so there were at most as many noises as saves.

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
    """A run that knows how many noises are in its sum."""

    @property
    def noises(self) -> int: ...


@dataclass
class NoiseTally:
    """The numbers of noises in the published totals of the last steps, which only grow."""

    totals: IntArray  # of the last steps, one at least
    run: int  # how many the run had counted at the last of them

    @classmethod
    def blank(cls, steps: int) -> NoiseTally:
        """Before the first step."""
        return cls(np.zeros(max(steps, 1), dtype=np.int64), 0)

    @classmethod
    def unknown(cls, steps: int, *, released: int, most: int) -> NoiseTally:
        """Of a stream whose noises were not counted, and were at most so many.

        Those of a span are then too many, and never too few: each step before it had one at least,
        and all others may be in it.
        """
        tally = cls.blank(steps)
        tally.totals[:] = np.maximum(released + 1 - np.arange(len(tally.totals), 0, -1), 0)
        tally.run = min(released - most, 0)
        return tally

    @classmethod
    def read(cls, stored: bytes, steps: int) -> NoiseTally:
        """What ``to_bytes`` gave."""
        run, *totals = np.frombuffer(stored, dtype="<i8").tolist()
        if len(totals) != max(steps, 1):
            raise ValueError(len(totals))
        return cls(np.array(totals, dtype=np.int64), run)

    @staticmethod
    def size(steps: int) -> int:
        """How many bytes it has in the store."""
        return 8 * (1 + max(steps, 1))

    def to_bytes(self) -> bytes:
        """For the store: nothing of it is secret."""
        return np.concatenate([[self.run], self.totals]).astype("<i8").tobytes()

    def begin(self) -> None:
        """A new run goes on from the totals of one that was lost."""
        self.run = 0

    def count(self, *, run: int, step: int, window: int | None) -> int:
        """How many noises the span that ends with this step has, of which the run has so many."""
        now = int(self.totals[-1]) + run - self.run
        before = 0 if window is None or window >= step else int(self.totals[-window])
        self.totals = np.append(self.totals[1:], now)
        self.run = run
        return now - before
