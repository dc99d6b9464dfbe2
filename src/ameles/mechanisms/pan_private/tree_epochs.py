"""Trees that follow one another in a stream without end, each k times as long as the one before.

The first tree has one level and k steps.  The next has two levels and lasts up to step k^2, the
next has three and lasts up to k^3: blocks begin and end where the base-k digits of t say.  With
a horizon there is one tree.

>>> endless = TreeEpochs(arity=3, levels=20, horizon=None)
>>> [endless.depth(t) for t in (1, 3, 4, 9, 10)]
[1, 1, 2, 2, 3]
>>> endless.start(3), endless.end(3)
(9, 27)
"""

from __future__ import annotations

from dataclasses import dataclass

from ameles.mechanisms.counters.arity import digits_of

# No run gets so far: the last step of the deepest tree.
NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class TreeEpochs:
    """Which tree each step is in; a tree is known by its depth, the number of its levels."""

    arity: int
    levels: int  # of the deepest tree
    horizon: int | None

    def depth(self, t: int) -> int:
        """The depth of the tree that step t is in."""
        endless = self.horizon is None
        return min(self.levels, levels_of(t, self.arity)) if endless else self.levels

    def arities(self, depth: int) -> tuple[int, ...]:
        """For each level of a tree but its top, how many blocks make one of the next."""
        return (self.arity,) * (depth - 1)

    def start(self, depth: int) -> int:
        """The last step before a tree."""
        first = self.horizon is not None or depth == 1
        return 0 if first else self.arity ** (depth - 1)

    def end(self, depth: int) -> int:
        """The last step of a tree."""
        if self.horizon is not None:
            return self.horizon
        return NEVER if depth == self.levels else self.arity**depth


def levels_of(horizon: int, k: int) -> int:
    """The smallest h with k^h >= horizon, and at least 1."""
    return len(digits_of(horizon - 1, k))
