"""The error of a counter with a noise for each epoch and one for each level of the open tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.laplace.confined import Band, Floats, Walk, either
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

    def walk(self, steps: int) -> Walk | None:
        """A bound: as if sums of some of a step's noises were released too.

        If such a sum leaves the band, so does the release with probability 1/2 at least, at each
        of the steps below; so little is added.
        """
        if self.announcements:
            return None
        last, place = self.place(steps)

        def leaving(band: Band) -> Floats:
            after = band.inside
            for epoch in range(last, -1, -1):
                depth = self.depth(epoch)
                count = place + 1 if epoch == last else 1 << depth
                scale = self.scale(depth)
                after = band.then(scale, either(_tree_leaving(band, depth, scale, count), after))
            return after

        scales = frozenset(self.scale(self.depth(epoch)) for epoch in range(last + 1))
        return Walk(leaving, steps, last + 1 + self.depth(last), scales)

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


def _tree_leaving(band: Band, depth: int, scale: Fraction, count: int) -> Floats:
    """Leaving within the first ``count`` steps of a tree, whose root has no noise."""
    whole = [band.then(scale, band.inside)]  # within all steps of an interval of each level
    for _ in range(1, depth):
        whole.append(band.then(scale, either(whole[-1], whole[-1])))

    def within(level: int, steps: int) -> Floats:
        """Within the first steps of two intervals of a level."""
        done, rest = divmod(min(steps, 2 << level), 1 << level)
        # the noise of the second, or of the first, and what is reached of its halves
        part = band.then(scale, within(level - 1, rest)) if rest else band.inside
        for _ in range(done):
            part = either(whole[level], part)
        return part

    return within(depth - 1, count)
