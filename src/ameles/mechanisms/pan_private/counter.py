"""Pan-private counter: running counts whose state may be seized.

Theorem      Dwork-Naor-Pitassi-Rothblum 2010, Thm 4.1; Dwork-Roth, figure 12.2 (catalogue 9): one
             noise on the counter and one on each interval of a dyadic tree without its root.  An
             event before the intrusion is hidden by the counter's noise and at most log2 T
             intervals before it, an event after the intrusion by as many intervals after it
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale (1 + log2 T) / epsilon, on the counter and on each interval;
             less if T is no power of two or a unit may change several steps (``step_costs``)
Error        1 + log2 T noises at every step, always of the same law
Memory       1 + log2 T integers per counter

The horizon is the next power of two, and at least 2: with one step there is no interval that could
hide it from somebody who has seen the counter's noise.  The counter's noise is drawn before the
first event.  An interval's noise is drawn inside the release of its first step, never before: an
intruder between ``add`` and ``release`` could subtract it.  The release of its last step overwrites
it.

The scale is the most noises that hide the steps of a unit, computed for the horizon (law 2).  The
first law pays for all levels of a tree up to the next power of two, in each contributed step: 25 to
50% more after 2, 4 and 8 steps.  Without a horizon and with announced intrusions both are the same.

Without a horizon (catalogue 10) the tree is followed by one twice as long, for ever.  Each such
epoch, of 4, 8, 16, ... steps, starts with a fresh noise on the counter, which is drawn at the end
of the release before, and its noises have scale (1 + log2 of its length) / epsilon.  Epochs of one
and two steps, with which the source begins, are too short to hide an event from an intruder who
comes between two events of their first step.

With ``intrusions="announced"`` (catalogue 12) the state may be seized any number of times, if
``announce()`` is called after each intrusion, before the next: the counter gets a fresh noise, all
others are overwritten, and a new tree starts with the open step.  Two unannounced intrusions reveal
exactly what was added in between.

>>> from ameles.noise import Zero
>>> run = PanPrivateCounter(epsilon=1, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> PanPrivateCounter(epsilon=1, horizon=1024).scale
Fraction(11, 1)
>>> print(PanPrivateCounter(epsilon=1, horizon=8).guarantee)
epsilon 1 for one event: streams that differ in 1 step by at most 1 (L1), over 8 steps;
 the state may be seized once
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Law, OptionalHorizon
from ameles.mechanisms.counters.folded import FoldedCounterRun
from ameles.mechanisms.counters.recipe import CounterRecipe, laplace_scale
from ameles.mechanisms.counters.tape_order import Demands
from ameles.mechanisms.pan_private.epoch_error import EpochError
from ameles.mechanisms.pan_private.erase import wipe
from ameles.mechanisms.pan_private.intrusions import Survived, refuse_unplanned
from ameles.mechanisms.pan_private.step_costs import most_noises
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray

# log2 of the length of the first epoch and of the longest: see the module's text.
FIRST, DEEPEST = 2, 40
# How many numbers are computed at a time when many steps are fed at once.
CHUNK = 1 << 18


@dataclass(frozen=True, kw_only=True)
class PanPrivateCounter(CounterRecipe):
    """Counts whose state may be seized once, or any number of times if that is announced."""

    version: ClassVar[int] = 2
    survives: ClassVar[Intrusions] = Intrusions.ANNOUNCED

    epsilon: Epsilon = Epsilon()
    horizon: OptionalHorizon = OptionalHorizon()
    intrusions: Survived = Survived(Intrusions.ONE)
    law: Law = Law(2)

    @property
    def loss(self) -> Pure:
        """Pure: epsilon for all releases and what the intruder finds, together."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int | None:
        """The horizon; None: without end."""
        return self.horizon

    def depth(self, epoch: int = 0) -> int:
        """log2 of the length of an epoch's tree; with a horizon there is one epoch."""
        if self.horizon is None:
            return min(FIRST + epoch, DEEPEST)
        # An announcement ends a tree, so that three noises may have to hide its first event.
        least = 2 if self.intrusions is Intrusions.ANNOUNCED else 1
        return max(least, (self.horizon - 1).bit_length())

    def scale_of(self, depth: int) -> Fraction:
        """The scale of all noises of an epoch with a tree of this depth."""
        # Contributions to different epochs, or between announcements, do not share a tree.
        several = self.intrusions is Intrusions.ANNOUNCED
        if self.law == 1 or self.horizon is None or several:
            noises = self.contributions * (1 + depth)
        else:
            noises = most_noises(self.horizon, self.contributions)
        return laplace_scale(self.bound * noises, self.epsilon)

    @property
    def scale(self) -> Fraction:
        """The scale of the noises; without a horizon, of those of the first epoch."""
        return self.scale_of(self.depth())

    @property
    def error(self) -> EpochError:
        """As many noises as the tree is deep, and one for each epoch; see ``error_after``."""
        return self.error_after(0)

    def error_after(self, announcements: int) -> EpochError:
        """The error after this many announcements, each of which adds a noise to the counter."""
        return EpochError(self.depth, self.scale_of, self.horizon is not None, announcements)

    @property
    def levels(self) -> int:
        """The depth of the deepest tree."""
        return DEEPEST if self.horizon is None else self.depth()

    @property
    def memory(self) -> int:
        """The counter, a noise for each level, and where in which tree the run is."""
        return self.columns * (1 + self.levels) + 2

    def _run(self, state: State, noise: Noise) -> PanPrivateRun:
        return PanPrivateRun(self, state, noise)


class PanPrivateRun(FoldedCounterRun):
    """A run of a pan-private counter; its snapshot has all of its state."""

    def __init__(self, recipe: PanPrivateCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._pan_private = recipe
        self._noise = noise
        self._counter = np.zeros(recipe.columns, dtype=np.int64)
        self._open = np.zeros((recipe.levels, recipe.columns), dtype=np.int64)
        self._position = 0
        self._depth = recipe.depth()
        if state.parts:
            place, counter, opened = state.parts
            self._position, self._depth = (int(number) for number in place)
            np.copyto(self._counter, counter)
            np.copyto(self._open, opened.reshape(self._open.shape))
        else:
            self._start_tree(self._depth, self._counter_noise(self._depth))

    def announce(self) -> None:
        """Says that the state was seized: call it after the intrusion, before the next one.

        The error grows: see ``error_after`` of the recipe.
        """
        with Turn(self):
            refuse_unplanned(self._pan_private.intrusions, "PanPrivateCounter")
            fresh = self._counter_noise(self._depth)
            self._open.fill(0)
            self._start_tree(self._depth, fresh)

    def _counter_noise(self, depth: int) -> IntArray:
        return self._noise.laplace(self._pan_private.scale_of(depth), (1, len(self._counter)))

    def _start_tree(self, depth: int, fresh: IntArray) -> None:
        """A new tree that starts with the open step, and the noise on the counter before it."""
        self._counter += fresh[0]
        wipe(fresh)
        self._depth = depth
        self._position = 0

    def _noise_after(self, steps: int) -> IntArray | None:
        """The counter's noise for the epoch after these steps, if they end one.

        All noise is drawn before anything changes: a step that fails has not happened.
        """
        if self._position + steps < 1 << self._depth or self._pan_private.horizon is not None:
            return None
        return self._counter_noise(min(self._depth + 1, DEEPEST))

    def _fold(self, row: IntArray) -> None:
        self._counter += row

    def _close(self) -> IntArray:
        starting = _aligned(self._position, self._depth)
        scale = self._pan_private.scale_of(self._depth)
        fresh = self._noise.laplace(scale, (starting, len(self._counter)))
        following = self._noise_after(1)
        np.copyto(self._open[:starting], fresh)
        wipe(fresh)
        release: IntArray = self._open.sum(axis=0)
        release += self._counter
        self._end_steps(1, following)
        return release

    def _end_steps(self, count: int, following: IntArray | None) -> None:
        """Overwrites the noise of intervals that have ended; after the last, a new epoch."""
        self._position += count
        self._open[: _aligned(self._position, self._depth)] = 0
        if following is not None:
            self._start_tree(min(self._depth + 1, DEEPEST), following)

    def _feed(self, rows: IntArray) -> IntArray:
        releases = np.empty(rows.shape, dtype=np.int64)
        most = max(1, CHUNK // len(self._counter))
        done = 0
        while done < len(rows):
            count = min(len(rows) - done, most, (1 << self._depth) - self._position)
            try:
                self._advance(rows[done : done + count], releases[done : done + count])
            except BaseException:
                self._t += done  # these steps are over, though their releases are lost
                raise
            done += count
        return releases

    def _advance(self, rows: IntArray, releases: IntArray) -> None:
        """Many steps within one tree."""
        demands = Demands(len(rows))
        starts = []
        for level in range(self._depth):
            at = np.arange(-self._position % (1 << level), len(rows), 1 << level)
            demands.add(at, np.ones(len(at), dtype=np.int64))
            starts.append(at)
        scale = self._pan_private.scale_of(self._depth)
        drawn, places = demands.draw(self._noise, scale, len(self._counter))
        following = self._noise_after(len(rows))
        changes = np.zeros(rows.shape, dtype=np.int64)
        changes[0] = self._open.sum(axis=0)
        for open_, at, place in zip(self._open, starts, places, strict=False):
            if len(at):
                fresh = drawn[place]
                changes[at] += fresh
                changes[at[1:]] -= fresh[:-1]
                changes[at[0]] -= open_
                np.copyto(open_, fresh[-1])
                wipe(fresh)
        np.cumsum(changes, axis=0, out=changes)
        np.cumsum(rows, axis=0, out=releases)
        releases += self._counter
        np.copyto(self._counter, releases[-1])
        releases += changes
        wipe(changes, drawn)
        self._end_steps(len(rows), following)

    def _parts(self) -> tuple[IntArray, ...]:
        place = np.array([self._position, self._depth], dtype=np.int64)
        return place, self._counter, self._open.reshape(-1)


def _aligned(position: int, depth: int) -> int:
    """How many levels have an interval that starts at this position, and one that ended."""
    zeros = (position & -position).bit_length() - 1
    return depth if position == 0 else min(depth, zeros + 1)
