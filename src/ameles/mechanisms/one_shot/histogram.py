"""Histogram: how many rows fall into each of some public bins.

Theorem      Dwork-McSherry-Nissim-Smith 2006, with the relation stated (catalogue 36): a row is in
             one bin at most.  Added or removed, it moves one count by one: noise of scale
             1 / epsilon on every count.  Replaced, it moves two: 2 / epsilon.  A unit with up to r
             rows needs r times that
Neighbours   stated, with the number of rows (``max_rows``) that one unit may have
Noise        discrete Laplace, independent for each bin
Error        exact tails of the noise, of one bin and of all bins together
Memory       nothing is kept

Bins are public and fixed in advance.  If they were found in the data, each would reveal that
somebody is in it; ``KeySelection`` is for such bins.

>>> from ameles.noise import Zero
>>> recipe = HistogramMechanism(epsilon=1, bins=3, neighbours="replace")
>>> recipe.start(Zero()).step([3, 1, 4])
array([3, 1, 4])
>>> recipe.scale, recipe.error.bound(1, 0.05), recipe.error.bound_entries(0.05)
(Fraction(2, 1), 6, 8)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ameles.core.guarantee import Norm
from ameles.core.loss import Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Whole
from ameles.mechanisms.one_shot.exact_inputs import numbers
from ameles.mechanisms.one_shot.geometric import GeometricError
from ameles.mechanisms.one_shot.one_shot import TWO_MOVE, Look
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class HistogramMechanism(Look[IntArray]):
    """Counts of disjoint public bins, each with discrete Laplace noise.

    >>> from ameles.noise import Zero
    >>> recipe = HistogramMechanism(epsilon=1, bins=2, max_rows=5, neighbours="user-presence",
    ...                             unit="user")
    >>> recipe.start(Zero()).step([3, 1]), recipe.scale
    (array([3, 1]), Fraction(5, 1))
    """

    norm: ClassVar[Norm] = Norm.L1

    epsilon: Epsilon = Epsilon()
    bins: Whole = Whole(1, 2**31)
    max_rows: Whole = Whole(1, 2**39, 1)

    @property
    def reach(self) -> int:
        """By how much one unit changes all counts together."""
        return self.max_rows * (2 if self.neighbours in TWO_MOVE else 1)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise."""
        return self.reach / self.epsilon

    @property
    def loss(self) -> Pure:
        """Epsilon, exactly."""
        return Pure(self.epsilon)

    @property
    def error(self) -> GeometricError:
        """The law of the noise, which is the only error."""
        return GeometricError(self.scale, self.bins)

    def checked(self, x: object) -> IntArray:
        return numbers(x, self.bins)

    def release(self, x: IntArray, noise: Noise) -> IntArray:
        noisy: IntArray = x + noise.laplace(self.scale, x.size)
        return noisy
