"""What learners from noisy sums share: a table of integers, and a fixed number of rounds of sums.

Blum-Dwork-McSherry-Nissim 2005: each round publishes sums over all rows with noise, at an equal
share of epsilon, and computes the next model from them alone.  The number of rounds is fixed: to
stop when a model stands still would itself have to be private.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Norm
from ameles.core.loss import Pure
from ameles.core.parameters import Epsilon, Whole
from ameles.mechanisms.clamped import reports
from ameles.mechanisms.one_shot.one_shot import TWO_MOVE, Look
from ameles.noise.arrays import BoolArray, IntArray

Floats: TypeAlias = NDArray[np.float64]
Model = TypeVar("Model")


@dataclass(frozen=True, kw_only=True)
class IteratedSums(Look[Model], Generic[Model]):
    """A model that is learned from ``rounds`` rounds of noisy sums over a table."""

    norm: ClassVar[Norm] = Norm.L1

    epsilon: Epsilon = Epsilon()
    rounds: Whole = Whole(1, 1 << 16)
    features: Whole = Whole(1, 1 << 16)
    grid: Whole = Whole(1, 1 << 16)

    @property
    def reach(self) -> int:
        """The L1 norm by which one unit changes the sums of a round: of one row, or of two."""
        return self.row_norm * (2 if self.neighbours in TWO_MOVE else 1)

    @property
    @abstractmethod
    def row_norm(self) -> int:
        """The L1 norm of what one row adds to the sums of a round."""

    @property
    def loss(self) -> Pure:
        """Epsilon, for all rounds together."""
        return Pure(self.epsilon)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on each sum."""
        return self.reach * self.rounds / self.epsilon


def features_of(x: object, columns: int, low: int, high: int) -> tuple[IntArray, BoolArray]:
    """Rows of whole numbers, clamped to a range, and which of them count: odd ones do not.

    >>> rows, sound = features_of([[3, -9], [1, None]], 2, 0, 5)
    >>> rows[sound]
    array([[3, 0]])
    """
    return reports(x, low, high, width=columns, refuse=partial(_not, columns))


def labels_of(y: object, count: int) -> tuple[IntArray, BoolArray]:
    """Labels of -1 and 1: what is above zero is 1; and which of them are labels."""

    def refused(got: str) -> BadInput:
        return BadInput(f"There must be one label, true or false, for each row. Got {got} instead.")

    labels, sound = reports(y, -1, 1, count=count, refuse=refused)
    return np.where(labels > 0, 1, -1), sound


def _not(columns: int, got: str) -> BadInput:
    return BadInput(
        f"The rows must be a table of whole numbers with {columns} columns. Got {got} instead."
    )
