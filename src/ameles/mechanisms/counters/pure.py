"""Counters with Laplace noise for an epsilon and a horizon; trees have noise by their levels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from ameles.core.loss import Pure
from ameles.core.parameters import Epsilon, Horizon
from ameles.mechanisms.counters.summed import SummedCounter


@dataclass(frozen=True, kw_only=True)
class PureCounter(SummedCounter):
    """A summed counter with a pure loss and an end."""

    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()

    @property
    def loss(self) -> Pure:
        """Pure: epsilon for all releases together."""
        return Pure(self.epsilon)

    @property
    def steps(self) -> int:
        """The horizon."""
        return self.horizon

    def scale_for(self, change: int) -> Fraction:
        """The scale of the noise on numbers that one unit changes by so much, in L1."""
        return change / self.epsilon


@dataclass(frozen=True, kw_only=True)
class PureTreeCounter(PureCounter):
    """A counter in which every item is in one block of each level."""

    @property
    @abstractmethod
    def levels(self) -> int:
        """How many blocks an item is in."""

    @property
    def scale(self) -> Fraction:
        """The scale of each block's noise: what one unit changes in all blocks, over epsilon."""
        return self.scale_for(self.contributions * self.bound * self.levels)
