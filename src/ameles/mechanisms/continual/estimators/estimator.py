"""One-shot estimators that can be made continual: what the transformation needs from them.

An estimator takes inputs into its state and can give, at any time, a whole number: its answer
in units of a grid.  ``answer`` draws nothing, keeps nothing and publishes nothing.

Sensitivity, as the transformation needs it (catalogue 14): for neighbouring inputs, and for
any two runs on them that show the same state where it is seized, the answers differ by at
most rho at *every* step.

Real answers are rounded to the grid with halves upwards.  That moves with its argument: two
values at most Delta apart are at most ceil(Delta / grid) units apart after it.  (Python's own
``round`` is not so: it takes 0.5 to 0 and 1.5 to 2.)

>>> on_grid(Fraction(3, 8), Fraction(1, 4)), on_grid(Fraction(-3, 8), Fraction(1, 4))
(2, -1)
>>> grid_units(Fraction(3, 8), Fraction(1, 4))
2
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from ameles.core.error import Error, checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Guarantee, Intrusions
from ameles.core.parameters import Parameter, refuse
from ameles.core.recipe import Recipe
from ameles.mechanisms.mechanism import Startable
from ameles.mechanisms.run import LiveRun


class EstimatorRun(LiveRun):
    """A started estimator: it takes inputs, and counts no steps."""

    @abstractmethod
    def check(self, x: object) -> None:
        """Refuses what ``add`` would refuse, whatever the state; changes nothing."""

    @abstractmethod
    def add(self, x: object) -> None:
        """Takes an input into the state; the input does not outlive the call."""

    @abstractmethod
    def answer(self) -> int:
        """The estimate from the state as it is, in units of the grid: exact, so secret."""


@dataclass(frozen=True)
class Estimator(Startable[EstimatorRun]):
    """A recipe whose runs answer; snapshots have a size that does not depend on the inputs."""

    @property
    @abstractmethod
    def state_guarantee(self) -> Guarantee:
        """What seizing the state reveals, and about whom.

        Where the state is secret, nothing: Pure(0) with no intrusions.
        """

    @property
    @abstractmethod
    def answer_error(self) -> Error:
        """How far the answers are from the truth, in units of the grid."""

    @property
    def sensitivity(self) -> int | None:
        """How far apart the answers on neighbours can be, in units of the grid; None: not said.

        A smaller one is refused where the answers are published.
        """
        return None

    @property
    def seizable(self) -> bool:
        """As the guarantee of the state says."""
        return self.state_guarantee.intrusions is not Intrusions.NONE


class Algorithm(Parameter[Estimator, Estimator]):
    """An estimator as a parameter: a recipe, so that the whole goes into the ledger.

    ``check_estimator`` checks that the recipe is an estimator: some other recipes are refused
    for a better reason first.
    """

    def check(self, value: Estimator) -> Estimator:
        if not isinstance(value, Recipe):
            raise _no_estimator(value)
        return value


def check_estimator(value: object) -> None:
    """Refuses a recipe that is not an estimator."""
    if not isinstance(value, Estimator):
        raise _no_estimator(value)


def _no_estimator(value: object) -> BadInput:
    must = "an estimator, such as ExactDistinct"
    return refuse("algorithm", must, type(value).__name__)


class Exactly:
    """The error of answers that are the truth."""

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """None."""
        return 0.0

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """None."""
        return 0.0


def on_grid(value: Fraction, grid: Fraction) -> int:
    """The nearest multiple of the grid, in units of it; halves go up."""
    return math.floor(value / grid + Fraction(1, 2))


def grid_units(distance: Fraction, grid: Fraction) -> int:
    """How many grid units apart two values can be whose distance is this, rounded up."""
    return math.ceil(distance / grid)
