"""Pan-private counter with shares by place: a tree whose early nodes get less noise than late ones.

Theorem      Dwork-Roth, the modification of figure 12.1 (catalogue 8), with a share of epsilon for
             each node: an event is in one node of each level, whose shares add up to 1.  If
             it comes before the intrusion, the opening noises of its nodes move by one, if it
             comes after it, their publication noises do; either costs epsilon.  All that is
             released or stays in the state is made of these nodes' published values, or is
             the value of an open node, which has its opening noise
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale 1 / (share epsilon), twice for each node: when it opens and
             when it is published
Error        0.39 of figure 12.2's standard deviation on average at T = 2^10, 0.41 at 2^20
Memory       3 h integers per counter, h the number of levels

A node opens with noise, before its first event.  When it ends, fresh noise is added to what is
published; the state's own value is overwritten.  Published values are combined by least squares: a
node's own value with the sum of its children's estimates.  The weights are rounded to 2**-5.  They
are applied to published values only, so they cost no privacy.

The value of an early node of a group is in more counts than that of a late one, so it gets a larger
share of epsilon.  The last of a group gets nothing, because its parent ends with it.  See
``place_shape``; ``place_search`` finds the shares with the smallest mean variance.

With ``intrusions="announced"`` (catalogue 12) the state may be seized any number of times, if
``announce()`` is called after each intrusion, before the next: every open node gets a fresh noise
of its own scale.  An event is still hidden by one noise in each of its nodes.

>>> from ameles.noise import Zero
>>> run = PanPrivatePlaceCounter(epsilon=1, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> PanPrivatePlaceCounter(epsilon=1, horizon=64)
PanPrivatePlaceCounter(unit='event', width=None, contributions=1, bound=1, epsilon=Fraction(1, 1),
                       horizon=64, radices=(9, 8), rungs=(10, 10, 9, 8, 7, 0, 0),
                       intrusions=<Intrusions.ONE: 'one'>)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Horizon
from ameles.mechanisms.counters.hats.counter import LARGEST, OptionalWholes
from ameles.mechanisms.counters.recipe import CounterRecipe, laplace_scale
from ameles.mechanisms.pan_private.intrusions import Survived
from ameles.mechanisms.pan_private.place_error import PlaceError
from ameles.mechanisms.pan_private.place_run import PanPrivatePlaceRun
from ameles.mechanisms.pan_private.place_search import best_shape
from ameles.mechanisms.pan_private.place_shape import LAST, PlaceShape
from ameles.mechanisms.snapshot import State


@dataclass(frozen=True, kw_only=True)
class PanPrivatePlaceCounter(CounterRecipe):
    """Counts from a tree with shares by place and least squares, whose state may be seized."""

    survives: ClassVar[Intrusions] = Intrusions.ANNOUNCED

    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()
    radices: OptionalWholes = OptionalWholes(1, 1 << 16)
    rungs: OptionalWholes = OptionalWholes(0, LAST)
    intrusions: Survived = Survived(Intrusions.ONE)

    def __post_init__(self) -> None:
        given = (self.radices, self.rungs)
        if given == (None, None):
            best = best_shape(self.horizon)
            self.__dict__.update(radices=best.radices, rungs=best.rungs)
        elif None in given:
            raise BadInput(
                "A counter with shares by place takes radices and rungs together, or neither.",
                tip="leave them out: the best ones for the horizon are found",
            )
        super().__post_init__()
        if self.resolution * self.error.worst_std >= LARGEST:
            raise BadInput(
                "These parameters need noise that does not fit into 64 bits with its weights.",
                tip="a larger epsilon, a smaller bound, or PanPrivateTreeCounter",
            )

    @cached_property
    def shape(self) -> PlaceShape:
        """How many children nodes have, and the shares of all places."""
        return PlaceShape(self.horizon, self.radices or (), self.rungs or ())

    @property
    def loss(self) -> Pure:
        """Pure: epsilon for all releases and what the intruder finds, together."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int:
        """The horizon."""
        return self.horizon

    @property
    def scale(self) -> Fraction:
        """The scale of the noise of a node that had all of epsilon."""
        return laplace_scale(self.contributions * self.bound, self.epsilon)

    @property
    def resolution(self) -> int:
        """Estimates are multiples of one over this."""
        return 1 << self.shape.fraction

    @property
    def error(self) -> PlaceError:
        """A weighted sum of two noises for each node that has ended; see ``error_after``."""
        return self.error_after(0)

    def error_after(self, announcements: int) -> PlaceError:
        """The error after so many announcements, each of which adds noise to a count."""
        return PlaceError(self.shape, self.scale, announcements)

    @property
    def memory(self) -> int:
        """For each level the open node, and the values and corrections of published ones."""
        return self.columns * 3 * self.shape.levels

    def _run(self, state: State, noise: Noise) -> PanPrivatePlaceRun:
        return PanPrivatePlaceRun(self, state, noise)
