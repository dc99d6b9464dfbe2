"""Smooth counter: Gaussian counts without an end whose error is good wherever one stops.

Theorem      as ``segments``, with one long segment first and rates that suit all of its steps.  In
             that segment the encoder is a buffered Toeplitz matrix whose columns fall faster than
             those of the square root, by a slowly growing factor (Jacobsen-Fawaz 2025 have a power
             of a logarithm there): the noise is for all steps to come, and yet early ones have
             little of it
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Gaussian on a grid, as ``segments``
Error        at most 1.2 times the deviation of a ``BufferedCounter`` for a stream that ends there,
             if it ends after 2^8 to 2^24 steps; then segments that grow by 64, up to 2^30 steps
Memory       as ``segments``: one integer per buffer and three sums, however long the stream is

The square root for T steps has c_j^2 of about 1 / (pi j), so each doubling of T costs the same.  If
the sum of c_j^2 over all j is to be small, c must fall faster.  In u = log t the best trade-off for
all ends at once is c_j^2 proportional to 1 / (j u): it costs a factor that grows like log u.  A few
buffers fit it: ``buffered_optimum`` minimises the largest ratio.

>>> from ameles.noise import Zero
>>> run = SmoothCounter(epsilon=1, delta=1e-6).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ameles.core.parameters import Number, Whole
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter


@dataclass(frozen=True, kw_only=True)
class SmoothCounter(SegmentedCounter):
    """Counts without an end, from one long segment whose rates suit all of its steps."""

    first: Whole = Whole(2, 2**30, 2**24)
    share: Number = Number(Fraction(1, 1000), Fraction(999, 1000), Fraction(1, 50))

    def filter(self, segment: int) -> Cascade:
        """The rates of the counter inside a segment."""
        return Cascade.smooth(self.cuts.inside(segment), self.buffers)
