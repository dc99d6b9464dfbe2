"""Where the segments of a stream without an end are cut: each longer than the last, up to a limit.

>>> cuts = Cuts(first=4, growth=2)
>>> [cuts.before(segment) for segment in range(4)], cuts.locate(9)
([0, 4, 8, 16], (2, 1))
"""

from __future__ import annotations

from dataclasses import dataclass

# Half a lifetime of seconds; a longer segment would need more than 64 bits for its noise.
LONGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class Cuts:
    """Segments that end at first * growth^k, none longer than 2^30."""

    first: int
    growth: int

    def before(self, segment: int) -> int:
        """The steps before a segment, counted from 0."""
        end, place = 0, 0
        following = self.first
        while place < segment and following - end <= LONGEST:
            end, following, place = following, following * self.growth, place + 1
        return end + (segment - place) * LONGEST

    def inside(self, segment: int) -> int:
        """The steps of a segment without its last."""
        return self.before(segment + 1) - self.before(segment) - 1

    def locate(self, t: int) -> tuple[int, int]:
        """How many segments are finished after t steps, and the steps in the open one."""
        segment = 0
        while (end := self.before(segment + 1)) <= t:
            if self.inside(segment) + 1 == LONGEST:
                more, rest = divmod(t - end, LONGEST)
                return segment + 1 + more, rest
            segment += 1
        return segment, t - self.before(segment)
