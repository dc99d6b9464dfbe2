"""What monitors of windows share: a count of the last w steps, asked whether it reaches h."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import (
    EVENT,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Protects,
    Unit,
)
from ameles.core.loss import Pure
from ameles.core.parameters import Bound, Contributions, Epsilon, OptionalHorizon, Switch, Whole
from ameles.mechanisms.continual.sparse_vector import SparseVector, above_threshold
from ameles.mechanisms.continual.threshold_error import ThresholdError
from ameles.mechanisms.counters.recipe import EVENTS
from ameles.mechanisms.mechanism import Mechanism
from ameles.mechanisms.stepped import SteppedRun

# The inputs of a window lie in memory; a longer one is a counter with an alert on it.
LONGEST = 1 << 24
# No count is beyond this, so that its distance from a threshold fits into 64 bits.
LARGEST = 1 << 61

WatchT = TypeVar("WatchT", bound=SteppedRun[Any, Any], covariant=True)


@dataclass(frozen=True, kw_only=True)
class Watch(Mechanism[WatchT]):
    """A recipe that tells when the count of the last ``window`` steps reaches ``threshold``."""

    epsilon: Epsilon = Epsilon()
    window: Whole = Whole(1, LONGEST)
    threshold: Whole = Whole(-LARGEST, LARGEST)
    aboves: Whole = Whole(1, 2**40)
    monotone: Switch = Switch(False)
    unit: Protects = Protects(EVENT.tag)
    contributions: Contributions = Contributions()
    bound: Bound = Bound()
    horizon: OptionalHorizon = OptionalHorizon()

    def __post_init__(self) -> None:
        if EVENTS * self.bound + 64 * self.comparison.query_scale >= 1 << 62:
            raise BadInput(
                "These parameters need noise or counts that do not fit into 64 bits.",
                why=f"2**40 events of size {self.bound} and their noise could reach 2**63",
                tip="a larger epsilon, fewer aboves or a smaller bound",
            )

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """How much one unit may change what is compared."""

    @property
    def share_of_answers(self) -> Fraction:
        """The share of epsilon that pays for noisy counts; without them, none."""
        return Fraction(0)

    @property
    def neighbours(self) -> Neighbours:
        """Some steps changed or, where everything counts zero or more, a unit came or went."""
        if not self.monotone:
            return Neighbours.STEP
        event = Unit.tagged(self.unit) == EVENT
        return Neighbours.ADD_REMOVE if event else Neighbours.USER_PRESENCE

    @cached_property
    def comparison(self) -> SparseVector:
        """The sparse vector that a window's counts are asked."""
        return above_threshold(
            epsilon=self.epsilon,
            aboves=self.aboves,
            neighbours=self.neighbours,
            threshold=self.threshold,
            sensitivity=self.sensitivity,
            monotone=self.monotone,
            answering=self.share_of_answers,
            unit=self.unit,
            horizon=self.horizon,
        )

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon for everything that is published in the stream's whole life."""
        return Guarantee(
            loss=Pure(self.epsilon),
            unit=Unit.tagged(self.unit),
            neighbours=self.neighbours,
            contribution=Contribution(steps=self.contributions, bound=self.bound, norm=Norm.L1),
            horizon=self.horizon,
            intrusions=Intrusions.NONE,
        )

    @property
    def error(self) -> ThresholdError:
        """How far on the wrong side of the threshold a window's count may be."""
        return self.comparison.error
