"""The base of one-shot mechanisms: one look at a data set, one release.

A recipe says which inputs it accepts (``checked``) and what it publishes about them (``release``).
Its input is an exact statistic of the data, such as counts, scores or sums on a grid; whoever
computes it promises that one unit changes it by at most ``sensitivity``, as the guarantee states.
A second look is a second run, and is paid for again.

>>> from ameles.mechanisms.one_shot.geometric import GeometricMechanism
>>> from ameles.noise import Zero
>>> recipe = GeometricMechanism(epsilon="0.5", neighbours="add-remove")
>>> print(recipe.guarantee)
epsilon 0.5 for one event: added or removed, changing 1 step by at most 1 (L1), over 1 step
>>> run = recipe.start(Zero())
>>> run.step(42)
42
>>> run.step(42)
Traceback (most recent call last):
ameles.core.exceptions.HorizonReached: error[horizon]: This run has 1 step and has taken 1; 1 more
does not fit.
  why: its noise was calibrated for its horizon
  try: a new run, with its own budget
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from ameles.core.guarantee import (
    EVENT,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Protects,
    Relation,
    Unit,
)
from ameles.core.loss import Loss
from ameles.core.noise import Noise
from ameles.core.parameters import Whole
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import SteppedRun
from ameles.noise.arrays import IntArray

Released = TypeVar("Released")
# One unit leaves and another comes: the change of one unit happens twice.
TWO_MOVE = (Neighbours.REPLACE, Neighbours.USER_SUBSTITUTION)


@dataclass(frozen=True, kw_only=True)
class Look(Mechanism["OneShotRun[Released]"], Generic[Released]):
    """A mechanism whose run takes one step, and whose parameters say how much one unit may
    change."""

    norm: ClassVar[Norm]  # in which one unit changes the input by at most ``reach``

    neighbours: Relation = Relation()
    unit: Protects = Protects(EVENT.tag)

    @property
    @abstractmethod
    def reach(self) -> int:
        """The most by which one unit changes the input."""

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What the release reveals."""

    @abstractmethod
    def checked(self, x: object) -> Any:
        """The input as it is used, or an error that does not reveal its value."""

    @abstractmethod
    def release(self, x: Any, noise: Noise) -> Released:
        """What is published about a checked input."""

    @property
    def guarantee(self) -> Guarantee:
        """The loss, about one unit, of one look."""
        return Guarantee(
            loss=self.loss,
            unit=Unit.tagged(self.unit),
            neighbours=self.neighbours,
            contribution=Contribution(steps=1, bound=self.reach, norm=self.norm),
            horizon=1,
            intrusions=Intrusions.NONE,
        )

    def _run(self, state: State, noise: Noise) -> OneShotRun[Released]:
        return OneShotRun(self, state, noise)


@dataclass(frozen=True, kw_only=True)
class OneShot(Look[Released]):
    """A look at a statistic whose sensitivity is declared."""

    sensitivity: Whole = Whole(1, 2**40, 1)

    @property
    def reach(self) -> int:
        """The sensitivity."""
        return self.sensitivity


class OneShotRun(SteppedRun[object, Released]):
    """A run that has one release, and keeps nothing."""

    _recovers = True  # a step that fails is counted

    def __init__(self, recipe: Look[Released], state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._noise = noise

    def _parts(self) -> tuple[IntArray, ...]:
        return ()

    def _checked(self, x: object) -> Any:
        return self._recipe.checked(x)

    def _step(self, x: Any) -> Released:
        self._t += 1  # counted first: a step that fails inside is not tried again
        return self._recipe.release(x, self._noise)
