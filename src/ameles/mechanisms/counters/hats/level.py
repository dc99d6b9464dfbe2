"""One level of a Hats counter: its residuals, each a hat's noise less what is below it."""

from __future__ import annotations

import numpy as np

from ameles.noise.arrays import IntArray

BEFORE = -2  # the number of the cell that a level is in before the first step


class Level:
    """The hats of one level: the residuals of its cell, and noises that are not yet in any."""

    def __init__(self, sums: IntArray, shift: int = 0) -> None:
        self.cell = BEFORE
        self.shift = shift  # residuals are rounded by so many bits
        # the residuals before the cell, of its two hats, and what is left over for the next one
        self.sums = sums
        self.waiting = np.empty((0, sums.shape[1]), dtype=np.int64)

    def own(self, count: int, fresh: IntArray) -> IntArray:
        """The noises of the hats of the next ``count`` cells, of which some have been drawn."""
        noises = np.concatenate([self.waiting, fresh]) if len(fresh) else self.waiting
        if len(noises) < count:  # the last knot of the top level has no noise, and its weight is 0
            missing = np.zeros((count - len(noises), noises.shape[1]), dtype=np.int64)
            noises = np.concatenate([noises, missing])
        self.waiting = noises[count:]
        return noises[:count]

    def enter_next(self, falling: IntArray, end: IntArray, own: IntArray, k: int) -> None:
        """Enters one cell, in place; for the arguments see ``enter``."""
        before, left, right, over = self.sums
        before += left
        left[:] = right
        np.subtract(own[0], falling, out=right)
        right -= over
        if self.shift:
            right >>= self.shift
        np.multiply(end, k, out=over)
        over -= falling
        self.cell += 1

    def enter(
        self, falling: IntArray, ends: IntArray, own: IntArray, k: int
    ) -> tuple[IntArray, IntArray]:
        """Enters cells, given of each the noises below, and those of their own hats.

        ``ends`` are the sums of the k noises of a cell, ``falling`` those with the weights k,
        k - 1, ..., 1.  Returns the sum of all residuals before each cell, the present one first,
        and the residuals themselves, with those of two more hats.
        """
        count, columns = falling.shape
        rising = ends * k - falling  # weights 0, 1, ..., k - 1
        before, left, right, over = self.sums
        residuals = np.empty((count + 2, columns), dtype=np.int64)
        residuals[:2] = left, right
        np.subtract(own, falling, out=residuals[2:])
        residuals[2] -= over
        residuals[3:] -= rising[:-1]
        if self.shift:
            residuals[2:] >>= self.shift
        passed = np.empty((count + 1, columns), dtype=np.int64)
        passed[0] = before
        passed[1:] = residuals[:count]
        np.cumsum(passed, axis=0, out=passed)
        self.cell += count
        self.sums[:] = passed[-1], residuals[-2], residuals[-1], rising[-1]
        return passed, residuals
