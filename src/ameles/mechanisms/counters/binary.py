"""Binary counter: running counts whose noise grows like a power of log T.

Theorem      Chan-Shi-Song 2010, Thm 3.2 with the level count corrected (catalogue 5): an item is
             in one dyadic block of each of floor(log2 T) + 1 levels
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale (floor(log2 T) + 1) / epsilon for each block
Error        as many noises as t has binary ones: variance 2 h^2 popcount(t) / epsilon^2
Memory       h + 1 integers per counter and up to 1024 noise values taken ahead

The source text prints ceil(log2 T) levels, one too few at every power of two, where the loss
would be up to twice the stated one.

>>> from ameles.noise import Zero
>>> run = BinaryCounter(epsilon=1, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

from dataclasses import dataclass

from ameles.mechanisms.counters.digits import DigitCounter


@dataclass(frozen=True, kw_only=True)
class BinaryCounter(DigitCounter):
    """Counts from noisy dyadic blocks."""

    @property
    def arities(self) -> tuple[int, ...]:
        """Two blocks make one of the next level, up to the largest that fits."""
        return (2,) * (self.horizon.bit_length() - 1)
