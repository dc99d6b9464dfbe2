"""A run of the pan-private counter with shares by place: its open nodes, and those published.

The recipe (``place_counter.py``) has the theorem.  Here is what happens to nodes: they open with
noise, events are added to them, and when one ends, fresh noise is added to what is published.
The estimate of a node that has ended is made of published values alone: its own, and the estimates
of its children.

An estimate is a published value less a correction, and the correction is a weight times (the
published value - the children's estimates), which has no count in it.  So counts stay whole
numbers, and only corrections, which are as small as noise, have binary digits after the point.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.folded import FoldedCounterRun
from ameles.mechanisms.counters.tape_order import Demands
from ameles.mechanisms.pan_private.erase import wipe
from ameles.mechanisms.pan_private.intrusions import refuse_unplanned
from ameles.mechanisms.pan_private.place_shape import PlaceShape, share_of
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter

# So many numbers are computed at a time when many steps are fed at once.
CHUNK = 1 << 18


class PanPrivatePlaceRun(FoldedCounterRun):
    """A run of a pan-private counter with shares by place: all that it is, is in its snapshot."""

    def __init__(self, recipe: PanPrivatePlaceCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._counter = recipe
        self._shape = recipe.shape
        self._noise = noise
        shape = (recipe.shape.levels, recipe.columns)
        self._open = np.zeros(shape, dtype=np.int64)
        # of the nodes that have ended since the last longer one: their values, and corrections
        self._published = np.zeros(shape, dtype=np.int64)
        self._corrections = np.zeros(shape, dtype=np.int64)
        if state.parts:
            buffers = (self._open, self._published, self._corrections)
            for buffer, part in zip(buffers, state.parts, strict=True):
                np.copyto(buffer, part.reshape(shape))
        else:
            self._add_noise()

    def announce(self) -> None:
        """Says that the state was seized: call it after the intrusion, before the next one.

        The error grows: see ``error_after`` of the recipe.
        """
        with Turn(self):
            refuse_unplanned(self._counter.intrusions, "PanPrivatePlaceCounter")
            if self._t < self._shape.horizon:  # after it no node is open
                self._add_noise()

    def _add_noise(self) -> None:
        """Adds a noise to every open node."""
        levels = self._shape.open_at(self._t)
        kinds = [
            self._shape.nodes(level, np.array([self._t // self._shape.spans[level]]))[1]
            for level in levels
        ]
        fresh = self._draw(np.concatenate(kinds))
        for level, noise in zip(levels, fresh, strict=True):
            self._open[level] += noise
        wipe(fresh)

    def _draw(self, kinds: IntArray) -> IntArray:
        """A row of noise for each of these nodes.

        Genuine noise is drawn scale by scale: its order is no part of the law.
        """
        drawn = np.empty((len(kinds), self._open.shape[1]), dtype=np.int64)
        if self._noise.genuine:
            runs = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
        else:
            runs = np.split(np.arange(len(kinds)), np.flatnonzero(np.diff(kinds)) + 1)
        for rows in runs:
            scale = _scale(self._counter.scale, int(kinds[rows[0]]))
            fresh = self._noise.laplace(scale, (len(rows), drawn.shape[1]))
            drawn[rows] = fresh
            wipe(fresh)
        return drawn

    def _fold(self, row: IntArray) -> None:
        for level in self._shape.open_at(self._t):
            self._open[level] += row

    def _close(self) -> IntArray:
        release = np.zeros((1, self._open.shape[1]), dtype=np.int64)
        self._advance(self._t, np.zeros_like(release), release)
        return release.reshape(-1)

    def _feed(self, rows: IntArray) -> IntArray:
        releases = np.zeros(rows.shape, dtype=np.int64)
        most = max(1, CHUNK // self._open.shape[1])
        for done in range(0, len(rows), most):
            now = slice(done, done + most)
            try:
                self._advance(self._t + done, rows[now], releases[now])
            except BaseException:
                self._t += done  # these steps are over, though their releases are lost
                raise
        return releases

    def _advance(self, t: int, rows: IntArray, releases: IntArray) -> None:
        """Steps t + 1, t + 2, ...: releases come as zeros, to be filled.

        All noise is drawn before anything changes: a step that fails has not happened.
        """
        ending = _ending(self._shape, t, len(rows))
        demands = Demands(len(rows))
        for level in ending:
            for some in (level.exist, level.reopen):
                demands.add(level.at[some], np.ones(np.count_nonzero(some), dtype=np.int64))
        total, starts = demands.places()
        kinds = np.empty(total, dtype=np.int64)
        for level, publishing, opening in zip(ending, starts[::2], starts[1::2], strict=True):
            kinds[publishing] = level.kinds[:-1][level.exist]
            kinds[opening] = level.kinds[1:][level.reopen]
        drawn = self._draw(kinds)
        sums = np.cumsum(rows, axis=0)
        shift = self._shape.fraction
        # what the releases change by, before and after the point
        wholes, parts = releases, np.zeros_like(releases)
        wholes[0] = self._published.sum(axis=0)
        parts[0] = self._corrections.sum(axis=0)
        below = np.zeros((2, len(rows), rows.shape[1]), dtype=np.int64)
        for level, publishing, opening in zip(ending, starts[::2], starts[1::2], strict=True):
            counted = self._end_nodes(level, sums, drawn[opening])
            noise = drawn[publishing]
            counted[level.exist] += noise
            # from here on numbers are public: all of them have their publication noise
            published = np.zeros(counted.shape, dtype=np.int64)
            published[level.exist] = counted[level.exist]
            wipe(counted, noise)
            below = self._estimate(level, published, below, wholes, parts)
        for depth in self._shape.open_at(t):
            if depth >= len(ending):
                self._open[depth] += sums[-1]
        wipe(sums, drawn)
        np.cumsum(wholes, axis=0, out=wholes)
        np.cumsum(parts, axis=0, out=parts)
        wholes -= parts + (1 << shift >> 1) >> shift

    def _end_nodes(self, level: _EndingNodes, sums: IntArray, opening: IntArray) -> IntArray:
        """What the nodes that end have counted, without publication noise; the next is left open.

        Where there is no node, the number says nothing and is not used.
        """
        open_, at = self._open[level.level], level.at
        fresh = np.zeros((len(at), len(open_)), dtype=np.int64)
        fresh[level.reopen] = opening
        values, before = sums[at], sums[at[:-1]]
        values[1:] -= before
        values[0] += open_
        values[1:] += fresh[:-1]
        np.copyto(open_, fresh[-1])
        if level.reopen[-1]:
            open_ += sums[-1]
            open_ -= sums[at[-1]]
        wipe(fresh, opening, before)
        return values

    def _estimate(
        self,
        level: _EndingNodes,
        values: IntArray,
        below: IntArray,
        wholes: IntArray,
        parts: IntArray,
    ) -> IntArray:
        """Estimates nodes that have ended from their published values and their children.

        ``below``: the sums of the children's values, and of their corrections.  Gives the same for
        the groups of this level that end, which longer nodes take over.
        """
        shape, depth = self._shape, level.level
        corrections = np.zeros_like(values)
        if depth:
            totals, corrected = below
            values[~level.exist] = totals[~level.exist]
            corrections += (values - totals) << shape.fraction - shape.bits
            corrections += corrected >> shape.bits
            corrections *= np.array(shape.weights[depth])[level.places, None]
        taken = [
            _taken(level, numbers, kept[depth], changes)
            for numbers, kept, changes in (
                (values, self._published, wholes),
                (corrections, self._corrections, parts),
            )
        ]
        return np.array(taken)

    def _parts(self) -> tuple[IntArray, ...]:
        return tuple(part.reshape(-1) for part in (self._open, self._published, self._corrections))


@dataclass(frozen=True, slots=True)
class _EndingNodes:
    """The nodes of one level that end within some steps, and those that open after them."""

    level: int
    at: IntArray  # the steps at which they end, counted from 0
    places: IntArray
    kinds: IntArray  # of all of them, and of the one that opens last
    exist: BoolArray  # whether there is a node at all
    reopen: BoolArray  # whether one opens after it
    last: IntArray  # which of them are the last of their groups


def _ending(shape: PlaceShape, t: int, count: int) -> list[_EndingNodes]:
    """For each level with nodes that end at steps t + 1, ..., t + count: those nodes."""
    levels = []
    for level, span in enumerate(shape.spans):
        at = np.arange(-(t + 1) % span, count, span)
        if not len(at):
            break
        first = (t + 1 + int(at[0])) // span - 1
        numbers = np.arange(first, first + len(at) + 1)
        places, kinds = shape.nodes(level, numbers)
        exist = shape.exist(level, places)
        more = t + 1 + at < shape.horizon
        top = level + 1 == shape.levels
        closing = (places[:-1] == shape.radices[level] - 1) & (not top)
        levels.append(
            _EndingNodes(
                level, at, places[:-1], kinds, exist[:-1], exist[1:] & more, np.flatnonzero(closing)
            )
        )
    return levels


def _taken(level: _EndingNodes, numbers: IntArray, kept: IntArray, changes: IntArray) -> IntArray:
    """Adds numbers of nodes to what is kept and takes out the groups that end; gives their sums."""
    changes[level.at] += numbers
    runs = np.cumsum(numbers, axis=0)
    runs += kept
    totals = runs[level.last]
    np.copyto(kept, runs[-1])
    if len(level.last):
        kept -= totals[-1]
    totals[1:] -= runs[level.last[:-1]]
    changes[level.at[level.last]] -= totals
    return totals


@lru_cache(maxsize=1024)
def _scale(scale: Fraction, kind: int) -> Fraction:
    """The scale of a node's noise, from that for all of epsilon."""
    return scale / share_of(kind)
