"""A run of the pan-private tree counter: its open blocks, each with noise, and those published.

The recipe (``tree_counter.py``) has the theorem.  Here is what happens to blocks: they open with
noise, events are added to them, and when one ends, fresh noise is added to what is published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.folded import FoldedCounterRun
from ameles.mechanisms.counters.tape_order import Demands
from ameles.mechanisms.pan_private.erase import wipe
from ameles.mechanisms.pan_private.intrusions import refuse_unplanned
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter

# So many numbers are computed at a time when many steps are fed at once.
CHUNK = 1 << 18


class PanPrivateTreeRun(FoldedCounterRun):
    """A run of a pan-private tree counter: all that it is, is in its snapshot."""

    def __init__(self, recipe: PanPrivateTreeCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._tree = recipe
        self._epochs = recipe.epochs
        self._noise = noise
        shape = (recipe.levels, recipe.columns)
        self._open = np.zeros(shape, dtype=np.int64)
        self._published = np.zeros(shape, dtype=np.int64)
        if state.parts:
            for buffer, part in zip((self._open, self._published), state.parts, strict=True):
                np.copyto(buffer, part.reshape(shape))
        else:
            self._open_all(self._noise_on_all(self._epochs.depth(1)))

    def announce(self) -> None:
        """Says that the state was seized: call it after the intrusion, before the next one.

        The error grows: see ``error_after`` of the recipe.
        """
        with Turn(self):
            refuse_unplanned(self._tree.intrusions, "PanPrivateTreeCounter")
            fresh = self._noise_on_all(self._epochs.depth(self._t + 1))
            self._open[: len(fresh)] += fresh
            wipe(fresh)

    def _noise_on_all(self, depth: int) -> IntArray:
        """A noise for the open block of every level of a tree."""
        return self._noise.laplace(self._tree.scale_of(depth), (depth, self._open.shape[1]))

    def _noise_after(self, t: int) -> IntArray | None:
        """The opening noise of the tree after step t, if one ends there and another follows.

        All noise is drawn before anything changes: a step that fails has not happened.
        """
        depth = self._epochs.depth(t)
        follows = self._tree.horizon is None and self._epochs.end(depth) == t
        return self._noise_on_all(depth + 1) if follows else None

    def _open_all(self, fresh: IntArray) -> None:
        np.copyto(self._open[: len(fresh)], fresh)
        wipe(fresh)

    def _follow(self, fresh: IntArray | None) -> None:
        """Opens the tree that follows, with what was published so far on its top level."""
        if fresh is not None:
            top = len(fresh) - 1
            np.copyto(self._published[top], self._published[top - 1])
            self._published[top - 1] = 0
            self._open_all(fresh)

    def _fold(self, row: IntArray) -> None:
        # deeper levels have no noise yet, and no block
        self._open[: self._epochs.depth(self._t + 1)] += row

    def _close(self) -> IntArray:
        now = self._t + 1
        depth = self._epochs.depth(now)
        level, steps = 0, now
        while level < depth - 1 and steps % self._epochs.arity == 0:
            steps //= self._epochs.arity
            level += 1
        # After the last step of a tree none of its blocks is opened.
        opening = level + 1 if now < self._epochs.end(depth) else 0
        scale = self._tree.scale_of(depth)
        fresh = self._noise.laplace(scale, (1 + opening, self._open.shape[1]))
        following = self._noise_after(now)
        fresh[0] += self._open[level]
        self._published[:level] = 0
        self._published[level] += fresh[0]
        # the state's values give way to the opening noise of the next blocks
        np.copyto(self._open[: level + 1], fresh[1:] if opening else 0)
        wipe(fresh)
        self._follow(following)
        release: IntArray = self._published.sum(axis=0)
        return release

    def _feed(self, rows: IntArray) -> IntArray:
        releases = np.zeros(rows.shape, dtype=np.int64)
        most = max(1, CHUNK // self._open.shape[1])
        done = 0
        while done < len(rows):
            t = self._t + done
            left = self._epochs.end(self._epochs.depth(t + 1)) - t
            now = slice(done, done + min(most, left, len(rows) - done))
            try:
                self._advance(t, rows[now], releases[now])
            except BaseException:
                self._t = t  # these steps are over, though their releases are lost
                raise
            done = now.stop
        return releases

    def _advance(self, t: int, rows: IntArray, releases: IntArray) -> None:
        """Steps t + 1, t + 2, ... of a tree: releases come as zeros, to be filled with changes."""
        count = len(rows)
        depth = self._epochs.depth(t + 1)
        demands = Demands(count)
        demands.add(np.arange(count), np.ones(count, dtype=np.int64))
        plans = []
        size = 1
        for arity in (*self._epochs.arities(depth), 0):
            # the steps at which a block of this level ends, and the level's digit there
            at = np.arange(-(t + 1) % size, count, size)
            digit = (t + 1 + at) // size
            if arity:
                digit %= arity
            reopened = at[at + t + 1 < self._epochs.end(depth)]
            demands.add(reopened, np.ones(len(reopened), dtype=np.int64))
            plans.append((at, digit > 0))
            size *= arity
        scale = self._tree.scale_of(depth)
        drawn, (publishing, *opening) = demands.draw(self._noise, scale, rows.shape[1])
        following = self._noise_after(t + count)
        sums = np.cumsum(rows, axis=0)
        releases[0] = self._published.sum(axis=0)
        for level, ((at, used), where) in enumerate(zip(plans, opening, strict=True)):
            values = self._end_blocks(level, sums, at, drawn[where])
            values[used] += drawn[publishing[at[used]]]
            self._publish(level, values, at, used, releases)
            wipe(values)
        np.cumsum(releases, axis=0, out=releases)
        wipe(sums, drawn)
        self._follow(following)

    def _end_blocks(self, level: int, sums: IntArray, at: IntArray, fresh: IntArray) -> IntArray:
        """What the blocks that end at these steps have counted; the next one is left open."""
        open_ = self._open[level]
        values = np.zeros((len(at), len(open_)), dtype=np.int64)
        if len(at):
            values += sums[at]
            values[1:] -= sums[at[:-1]]
            values[0] += open_
            values[1:] += fresh[: len(at) - 1]
            # at the end of the tree no block is opened
            np.copyto(open_, fresh[-1] if len(fresh) == len(at) else 0)
            open_ -= sums[at[-1]]
        if not len(at) or len(fresh) == len(at):
            open_ += sums[-1]
        else:
            open_.fill(0)
        wipe(fresh)
        return values

    def _publish(
        self, level: int, values: IntArray, at: IntArray, used: BoolArray, changes: IntArray
    ) -> None:
        """Adds the published blocks of a level, and takes them back where a longer one ends."""
        changes[at[used]] += values[used]
        sums = np.zeros((len(at) + 1, values.shape[1]), dtype=np.int64)
        ended = np.flatnonzero(~used)
        values[ended] = 0
        np.cumsum(values, axis=0, out=sums[1:])
        sums += self._published[level]
        totals = sums[ended]
        totals[1:] -= sums[ended[:-1]]
        changes[at[ended]] -= totals
        np.copyto(self._published[level], sums[-1] - (sums[ended[-1]] if len(ended) else 0))

    def _parts(self) -> tuple[IntArray, ...]:
        return self._open.reshape(-1), self._published.reshape(-1)
