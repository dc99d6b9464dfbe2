"""Trees with Laplace noise: an epsilon, a horizon, and noise by the number of levels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from ameles.core.loss import Pure
from ameles.core.parameters import Epsilon, Horizon
from ameles.mechanisms.counters.summed import SummedCounter


@dataclass(frozen=True, kw_only=True)
class PureTreeCounter(SummedCounter):
    """A summed counter in which every item is in one block of each level."""

    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()

    @property
    @abstractmethod
    def levels(self) -> int:
        """How many blocks an item is in."""

    @property
    def loss(self) -> Pure:
        """Pure: epsilon for all releases together."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int:
        """The horizon."""
        return self.horizon

    @property
    def scale(self) -> Fraction:
        """The scale of each block's noise: what one unit changes in all blocks, over epsilon."""
        return self.contributions * self.bound * self.levels / self.epsilon
