"""Tree counter: the dyadic tree of Dwork and Roth's figure 12.1, with or without its root.

Theorem      Dwork-Roth, Thm 12.5, with levels and noise matched (catalogue 7): without the root
             an item is in log2 T intervals, with it in one more
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Laplace, scale (number of levels) / epsilon for each interval; a root that the
             horizon does not reach is never published, and costs nothing
Error        popcount(t) noises; without the root, two at t = T
Memory       as many integers per counter as levels, and up to 1024 noise values taken ahead

The horizon is the next power of two.  The figure has no root and log2 T levels, its text a
root and one level more; root and log2 T together, as one may read it, would lose up to twice
the stated epsilon.  The state has exact sums, so it must stay secret.

>>> from ameles.noise import Zero
>>> run = TreeCounter(epsilon=1, horizon=8).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
>>> TreeCounter(epsilon=1, horizon=8).levels, TreeCounter(epsilon=1, horizon=8, root=True).levels
(3, 4)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ameles.core.parameters import Switch
from ameles.mechanisms.counters.digits import DigitCounter


@dataclass(frozen=True, kw_only=True)
class TreeCounter(DigitCounter):
    """Counts from the noisy intervals of a dyadic tree over the whole horizon."""

    choosable: ClassVar[bool] = False  # the trees of the other counters have smaller errors

    root: Switch = Switch(False)

    @property
    def arities(self) -> tuple[int, ...]:
        """Two intervals make one of the next level; the top level is the root or its halves."""
        depth = (self.horizon - 1).bit_length()
        return (2,) * (depth if self.root else max(0, depth - 1))
