"""Two-level counter: blocks of about sqrt(T) steps, and single steps within the open block.

Theorem      Chan-Shi-Song 2010, 3.4 (catalogue 4): an item is in one block and one single step
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale 2 / epsilon; 1 / epsilon where there is one level only
Error        floor(t / B) + t mod B noises at step t
Memory       3 integers per counter and up to 1024 noise values taken ahead

>>> from ameles.noise import Zero
>>> run = TwoLevelCounter(epsilon=1, horizon=16).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> TwoLevelCounter(epsilon=1, horizon=16).error.most_terms(16)
6
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ameles.core.parameters import OptionalWhole
from ameles.mechanisms.counters.digits import DigitCounter


@dataclass(frozen=True, kw_only=True)
class TwoLevelCounter(DigitCounter):
    """Counts from noisy blocks of ``block`` steps, by default sqrt(T), and single steps."""

    block: OptionalWhole = OptionalWhole(1, 1 << 40)

    def __post_init__(self) -> None:
        if self.block is None:
            self.__dict__["block"] = math.isqrt(self.horizon)
        super().__post_init__()

    @property
    def arities(self) -> tuple[int, ...]:
        """One block size; none if blocks would be single steps or never end."""
        block = self.block or 1
        return (block,) if 1 < block <= self.horizon else ()
