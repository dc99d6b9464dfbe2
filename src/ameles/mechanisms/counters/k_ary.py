"""k-ary counter: blocks of k, which trade the number of levels for their width.

Theorem      Chan-Shi-Song 2010, Thm 3.2, for blocks of k^i steps: an item is in one block of
             each of h levels, h the number of base-k digits of T
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale h / epsilon for each block
Error        as many noises as the base-k digits of t add up to
Memory       h + 1 integers per counter and up to 1024 noise values taken ahead

Without an arity, the one with the smallest mean variance is chosen from the formula.

>>> from ameles.noise import Zero
>>> run = KAryCounter(epsilon=1, horizon=1024).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> KAryCounter(epsilon=1, horizon=1024).arity
11
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ameles.core.parameters import OptionalWhole
from ameles.mechanisms.counters.arity import TRIED, best_arity, digit_total, digits_of
from ameles.mechanisms.counters.digits import DigitCounter

LARGEST_ARITY = 1 << 16


@dataclass(frozen=True, kw_only=True)
class KAryCounter(DigitCounter):
    """Counts from noisy blocks of 1, k, k^2, ... steps."""

    tried_arities: ClassVar[tuple[int, ...]] = TRIED

    arity: OptionalWhole = OptionalWhole(2, LARGEST_ARITY)

    def __post_init__(self) -> None:
        if self.arity is None:
            self.__dict__["arity"] = best_arity(self.horizon, plain_cost)
        super().__post_init__()

    @property
    def arities(self) -> tuple[int, ...]:
        """The same at every level."""
        k = self.arity or 2
        return (k,) * (len(digits_of(self.horizon, k)) - 1)


def plain_cost(horizon: int, k: int) -> float:
    """The mean variance over the horizon, up to a factor: h^2 times the mean digit sum."""
    levels = len(digits_of(horizon, k))
    total = sum(digit_total(horizon, k, level, lambda digit: digit) for level in range(levels))
    return levels**2 * total / horizon
