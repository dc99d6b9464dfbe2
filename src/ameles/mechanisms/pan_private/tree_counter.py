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

Without a horizon (catalogue 10) trees follow one another: one of one level up to step k, one of
two levels up to k^2, and so on.  Each has noise by its own number of levels, and opens before its
first event.  An event is in one tree alone, whose noises hide it; what a tree has published stays
in all later counts.

With ``intrusions="announced"`` (catalogue 12) the state may be seized any number of times, if
``announce()`` is called after each intrusion, before the next: every open block gets a fresh noise.
It takes the place of the opening noise for events after the announcement, and of the publication
noise for those between the intrusion and the announcement; no noise is in the state by itself, so
the tree goes on.  An event is still hidden by one noise in each of its h blocks.

>>> from ameles.noise import Zero
>>> run = PanPrivateTreeCounter(epsilon=1, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> recipe = PanPrivateTreeCounter(epsilon=1, horizon=2**16)
>>> recipe.arity, recipe.levels
(16, 4)
>>> endless = PanPrivateTreeCounter(epsilon=1)
>>> endless.arity, [endless.depth(t) for t in (1, 16, 17, 2**16)]
(16, [1, 1, 2, 4])
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, OptionalHorizon, OptionalWhole
from ameles.mechanisms.counters.arity import best_arity
from ameles.mechanisms.counters.recipe import CounterRecipe, laplace_scale
from ameles.mechanisms.pan_private.intrusions import Survived
from ameles.mechanisms.pan_private.tree_epochs import TreeEpochs, levels_of
from ameles.mechanisms.pan_private.tree_error import PublishedError, published_cost
from ameles.mechanisms.pan_private.tree_run import PanPrivateTreeRun
from ameles.mechanisms.snapshot import State

# With this arity the tree has one level for ever: a noise when a step opens, one when it closes.
LARGEST_ARITY = 1 << 40
# Without a horizon: the best for the mean over 2^16 and over 2^20 steps.
ENDLESS_ARITY = 16
# The deepest tree of a stream without end begins before this step.
DEEPEST = 1 << 40


@dataclass(frozen=True, kw_only=True)
class PanPrivateTreeCounter(CounterRecipe):
    """Counts from blocks of 1, k, k^2, ... steps, whose state may be seized."""

    survives: ClassVar[Intrusions] = Intrusions.ANNOUNCED
    tried_arities: ClassVar[tuple[int, ...]] = (*range(2, 21), 24, 28, 32)

    epsilon: Epsilon = Epsilon()
    horizon: OptionalHorizon = OptionalHorizon()
    arity: OptionalWhole = OptionalWhole(2, LARGEST_ARITY)
    intrusions: Survived = Survived(Intrusions.ONE)

    def __post_init__(self) -> None:
        if self.arity is None:
            best = best_arity(self.horizon, published_cost) if self.horizon else ENDLESS_ARITY
            self.__dict__["arity"] = best
        super().__post_init__()

    @property
    def loss(self) -> Pure:
        """Pure: epsilon for all releases and what the intruder finds, together."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int | None:
        """The horizon; None: without end."""
        return self.horizon

    @property
    def levels(self) -> int:
        """How many blocks an event is in, in the deepest tree."""
        return levels_of(self.horizon or DEEPEST, self.arity or 2)

    @property
    def epochs(self) -> TreeEpochs:
        """Where trees begin and end."""
        return TreeEpochs(self.arity or 2, self.levels, self.horizon)

    def depth(self, t: int = 1) -> int:
        """How many blocks an event of step t is in."""
        return self.epochs.depth(t)

    def scale_of(self, depth: int) -> Fraction:
        """The scale of all noises of a tree: what one unit changes in all blocks, over epsilon."""
        return laplace_scale(self.contributions * self.bound * depth, self.epsilon)

    @property
    def scale(self) -> Fraction:
        """The scale of each noise; without a horizon, of those of the first tree."""
        return self.scale_of(self.depth())

    @property
    def error(self) -> PublishedError:
        """Two noises for each block that a count is made of; see ``error_after``."""
        return self.error_after(0)

    def error_after(self, announcements: int) -> PublishedError:
        """The error after so many announcements, each of which adds one noise to a count."""
        return PublishedError(self.epochs, self.scale_of, announcements)

    @property
    def memory(self) -> int:
        """For each level the open block, and the sum of the published ones in use."""
        return self.columns * 2 * self.levels

    def _run(self, state: State, noise: Noise) -> PanPrivateTreeRun:
        return PanPrivateTreeRun(self, state, noise)
