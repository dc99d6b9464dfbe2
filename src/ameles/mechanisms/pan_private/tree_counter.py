"""Pan-private tree counter: a k-ary tree whose nodes have noise when opened and when published.

Theorem      Dwork-Roth, the modification of figure 12.1 (catalogue 8), for blocks of k^i steps: an
             event is in one block of each of h levels.  An event before the intrusion is hidden
             by the opening noise of its h blocks, one after it by their publication noise
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale h / epsilon, twice for each block: h levels, k^h >= T
Error        twice as many noises as the base-k digits of t add up to
Memory       2 h integers per counter

A block opens with noise, before its first event.  When it ends, fresh noise is added to what is
published; the state's own value is overwritten.  So the state and the publications of a block
never show its count with the same noise.  Of the blocks that end at one step only the longest is
published: counts do not need the others.  Without an arity, the one with the smallest mean
variance is chosen from the formula.

>>> from ameles.noise import Zero
>>> run = PanPrivateTreeCounter(epsilon=1, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> recipe = PanPrivateTreeCounter(epsilon=1, horizon=2**16)
>>> recipe.arity, recipe.levels
(16, 4)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.core.mechanism import Noise
from ameles.core.parameters import Epsilon, Horizon, OptionalWhole
from ameles.mechanisms.counters.arity import best_arity, digit_total, digits_of
from ameles.mechanisms.counters.digits import DigitError, unshared_blocks
from ameles.mechanisms.counters.folded import FoldedRun
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.tape_order import Demands
from ameles.mechanisms.laplace_mixture import LaplaceMixture, Part
from ameles.mechanisms.pan_private.erase import wipe
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import BoolArray, IntArray

LARGEST_ARITY = 1 << 16
# So many numbers are computed at a time when many steps are fed at once.
CHUNK = 1 << 18


@dataclass(frozen=True, kw_only=True)
class PanPrivateTreeCounter(CounterRecipe):
    """Counts from blocks of 1, k, k^2, ... steps, whose state may be seized once."""

    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()
    arity: OptionalWhole = OptionalWhole(2, LARGEST_ARITY)

    def __post_init__(self) -> None:
        if self.arity is None:
            self.__dict__["arity"] = best_arity(self.horizon, published_cost)
        super().__post_init__()

    @property
    def loss(self) -> Pure:
        """Pure: epsilon for all releases and what the intruder finds, together."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int:
        """The horizon."""
        return self.horizon

    @property
    def intrusions(self) -> Intrusions:
        """One, unannounced."""
        return Intrusions.ONE

    @property
    def levels(self) -> int:
        """How many blocks an event is in."""
        return levels_of(self.horizon, self.arity or 2)

    @property
    def arities(self) -> tuple[int, ...]:
        """For each level but the top one, how many of its blocks make one of the next."""
        return (self.arity or 2,) * (self.levels - 1)

    @property
    def scale(self) -> Fraction:
        """The scale of each noise: what one unit changes in all blocks, over epsilon."""
        return self.contributions * self.bound * self.levels / Fraction(self.epsilon)

    @property
    def error(self) -> PublishedError:
        """Two noises for each block that a count is made of."""
        return PublishedError(self.scale, self.arities)

    @property
    def memory(self) -> int:
        """For each level the open block, and the sum of the published ones in use."""
        return self.columns * 2 * self.levels

    def _run(self, state: State, noise: Noise) -> PanPrivateTreeRun:
        return PanPrivateTreeRun(self, state, noise)


class PanPrivateTreeRun(FoldedRun):
    """A run of a pan-private tree counter: all that it is, is in its snapshot."""

    def __init__(self, recipe: PanPrivateTreeCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._noise = noise
        self._scale = recipe.scale
        self._arities = recipe.arities
        self._last = recipe.horizon
        shape = (recipe.levels, recipe.columns)
        self._open = np.zeros(shape, dtype=np.int64)
        self._published = np.zeros(shape, dtype=np.int64)
        if state.parts:
            for buffer, part in zip((self._open, self._published), state.parts, strict=True):
                np.copyto(buffer, part.reshape(shape))
        else:
            fresh = noise.laplace(self._scale, shape)
            np.copyto(self._open, fresh)
            wipe(fresh)

    def _fold(self, row: IntArray) -> None:
        self._open += row

    def _close(self) -> IntArray:
        level, steps = 0, self._t + 1
        while level < len(self._arities) and steps % self._arities[level] == 0:
            steps //= self._arities[level]
            level += 1
        # All noise is drawn before anything changes: a step that fails has not happened.
        opening = level + 1 if self._t + 1 < self._last else 0
        fresh = self._noise.laplace(self._scale, (1 + opening, self._open.shape[1]))
        fresh[0] += self._open[level]
        self._published[:level] = 0
        self._published[level] += fresh[0]
        # the state's values give way to the opening noise of the next blocks; after the last step
        # no event can come, and none is opened
        np.copyto(self._open[: level + 1], fresh[1:] if opening else 0)
        wipe(fresh)
        release: IntArray = self._published.sum(axis=0)
        return release

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
        """Steps t + 1, t + 2, ...: releases come as zeros and are computed by their changes."""
        count = len(rows)
        demands = Demands(count)
        demands.add(np.arange(count), np.ones(count, dtype=np.int64))
        plans = []
        size = 1
        for arity in (*self._arities, 0):
            # the steps at which a block of this level ends, and the level's digit there
            at = np.arange(-(t + 1) % size, count, size)
            digit = (t + 1 + at) // size
            if arity:
                digit %= arity
            reopened = at[at + t + 1 < self._last]
            demands.add(reopened, np.ones(len(reopened), dtype=np.int64))
            plans.append((at, digit > 0))
            size *= arity
        drawn, (publishing, *opening) = demands.draw(self._noise, self._scale, rows.shape[1])
        sums = np.cumsum(rows, axis=0)
        releases[0] = self._published.sum(axis=0)
        for level, ((at, used), where) in enumerate(zip(plans, opening, strict=True)):
            values = self._end_blocks(level, sums, at, drawn[where])
            values[used] += drawn[publishing[at[used]]]
            self._publish(level, values, at, used, releases)
            wipe(values)
        np.cumsum(releases, axis=0, out=releases)
        wipe(sums, drawn)

    def _end_blocks(self, level: int, sums: IntArray, at: IntArray, fresh: IntArray) -> IntArray:
        """What the blocks that end at these steps have counted; the next one is left open."""
        open_ = self._open[level]
        values = np.zeros((len(at), len(open_)), dtype=np.int64)
        if len(at):
            values += sums[at]
            values[1:] -= sums[at[:-1]]
            values[0] += open_
            values[1:] += fresh[: len(at) - 1]
            # at the horizon no block is opened, since no event can come
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


@dataclass(frozen=True)
class PublishedError(DigitError):
    """Two noises for each block: one from its opening, one from its publication."""

    def law(self, t: int) -> LaplaceMixture:
        return self._twice(self.terms(t))

    def worst_law(self, steps: int) -> LaplaceMixture:
        return self._twice(self.most_terms(steps))

    def between(self, before: int, t: int) -> LaplaceMixture:
        return self._twice(sum(unshared_blocks(before, t, self.arities)))

    def _twice(self, blocks: int) -> LaplaceMixture:
        return LaplaceMixture((Part(self.scale, 1.0, 2 * blocks),))


def levels_of(horizon: int, k: int) -> int:
    """The smallest h with k^h >= horizon, and at least 1."""
    return len(digits_of(horizon - 1, k))


def published_cost(horizon: int, k: int) -> float:
    """The mean variance over the horizon, up to a factor: h^2 times the mean number of blocks."""
    levels = levels_of(horizon, k)
    low = sum(digit_total(horizon, k, level, lambda digit: digit) for level in range(levels - 1))
    size: int = k ** (levels - 1)
    whole, rest = divmod(horizon, size)
    top = size * whole * (whole - 1) // 2 + whole * (rest + 1)  # the top digit has no limit
    return levels**2 * (low + top) / horizon
