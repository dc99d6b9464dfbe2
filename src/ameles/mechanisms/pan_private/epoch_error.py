"""The error of a counter with a noise for each epoch and one for each level of the open tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.laplace.mixture import LaplaceMixture, LaplacePart


@dataclass(frozen=True)
class EpochError(LaplaceError):
    """The noises on the counter, one for each epoch so far, and those of the open intervals.

    Announcements add noises to the counter.  When they were made is not asked: without a
    horizon, and for intervals of steps, the law is then that of the worst times.
    """

    depth: Callable[[int], int]  # of an epoch's tree
    scale: Callable[[int], Fraction]  # of all noises of a tree of a depth
    bounded: bool  # there is one epoch, the first
    announcements: int = 0

    def law(self, t: int) -> LaplaceMixture:
        epoch, _ = self.place(t)
        depth = self.depth(epoch)
        counts = self._counters(0, epoch + 1)
        counts[depth] += depth + self.announcements
        return self._mixture(counts)

    def worst_law(self, steps: int) -> LaplaceMixture:
        # noises only become more, and those with a larger scale have heavier tails
        return self.law(steps)

    def between(self, before: int, t: int) -> LaplaceMixture:
        if not before:
            return self.law(t)
        (old, start), (new, end) = self.place(before), self.place(t)
        first, last = self.depth(old), self.depth(new)
        counts = self._counters(old + 1, new + 1)
        shared = 0
        if old == new and not self.announcements:
            # levels whose intervals have both steps: their noise cancels, and the counter's too
            shared = last - min(last, (start ^ end).bit_length())
        for depth in (first, last):
            counts[depth] = counts.get(depth, 0) + depth - shared
        counts[last] += self.announcements
        return self._mixture(counts)

    def place(self, t: int) -> tuple[int, int]:
        """The epoch of step t, and the step's place in it, both from 0."""
        epoch, place = 0, t - 1
        while not self.bounded and place >= 1 << self.depth(epoch):
            place -= 1 << self.depth(epoch)
            epoch += 1
        return epoch, place

    def _counters(self, first: int, end: int) -> dict[int, int]:
        """How many of the epochs first, ..., end - 1 have each depth."""
        counts: dict[int, int] = {}
        for epoch in range(first, end):
            counts[self.depth(epoch)] = counts.get(self.depth(epoch), 0) + 1
        return counts

    def _mixture(self, counts: dict[int, int]) -> LaplaceMixture:
        parts = (
            LaplacePart(self.scale(depth), 1.0, count) for depth, count in counts.items() if count
        )
        return LaplaceMixture(tuple(parts))
