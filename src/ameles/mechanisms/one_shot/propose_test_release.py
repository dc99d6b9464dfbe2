"""Propose, test, release: little noise, if a private test finds the table far from all bad tables.

Theorem      Dwork-Lei 2009 (catalogue 66): propose a bound b on how far one unit can move f.  Let d
             be the number of units that must change before that bound could fail.  Publish f with
             noise for b only if d with noise exceeds T.  Half of epsilon is for the test, half for
             the release; delta is the chance that a table with d = 0 passes
Neighbours   stated; between them d changes by at most 1, and f by at most b if d > 0 for one of
             them
Noise        discrete Laplace of scale 2 / epsilon on d, and of scale 2 b / epsilon on f
Error        T is the least whole number with a^(T+1) / (1 + a) <= delta, a = exp(-epsilon / 2).
             With d >= ``needs(beta)`` the release is made with probability 1 - beta; a release is
             within the exact quantile of its noise
Memory       nothing is kept

If d = 0 for both of two neighbours, their f may differ by any amount; then only delta protects
them.

>>> from ameles.noise import Zero
>>> recipe = ProposeTestRelease(epsilon=1, delta="1e-6", proposed=10, neighbours="replace")
>>> recipe.threshold
26
>>> [recipe.start(Zero()).step((500, distance)) for distance in (27, 26)]
[500, None]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ameles.core.guarantee import Norm
from ameles.core.loss import Approx
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Number, Whole
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.linear_queries import pair
from ameles.mechanisms.one_shot.geometric import GeometricError
from ameles.mechanisms.one_shot.one_shot import Look
from ameles.mechanisms.stepped import integer
from ameles.noise.sampler import wrapped


@dataclass(frozen=True, kw_only=True)
class ProposeTestRelease(Look[int | None]):
    """A whole number with noise for a proposed sensitivity, or None if the private test fails.

    The input is the exact number and its distance: how many units must change until one more could
    move the number by more than ``proposed``.

    >>> from ameles.mechanisms.one_shot.local_sensitivity import MedianSpread
    >>> from ameles.noise import Zero
    >>> spread = MedianSpread([500] * 101, largest=1000)
    >>> recipe = ProposeTestRelease(epsilon=1, delta="1e-6", proposed=1, neighbours="replace")
    >>> recipe.start(Zero()).step((spread.median, spread.distance(recipe.proposed)))
    500
    """

    norm: ClassVar[Norm] = Norm.L1

    epsilon: Epsilon = Epsilon()
    delta: Number = Number(Fraction(1, 10**39), "1/2")
    proposed: Whole = Whole(1, 2**40)

    @property
    def reach(self) -> int:
        """What was proposed."""
        return self.proposed

    @property
    def loss(self) -> Approx:
        """Epsilon and delta."""
        return Approx(self.epsilon, self.delta)

    @property
    def test_scale(self) -> Fraction:
        """The scale of the noise on the distance."""
        return 2 / self.epsilon

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on the number."""
        return 2 * self.proposed / self.epsilon

    @property
    def threshold(self) -> int:
        """The number that the noisy distance must exceed."""
        rate = float(self.epsilon) / 2
        # rounded up: 1e-9 of it is more than all rounding errors of the floats
        least = -(math.log(float(self.delta)) + math.log1p(math.exp(-rate))) / rate
        return max(0, math.ceil(least * (1 + 1e-9)) - 1)

    @property
    def error(self) -> GeometricError:
        """The noise of a release."""
        return GeometricError(self.scale)

    def needs(self, beta: float) -> int:
        """From this distance on, a release is made with probability at least 1 - beta."""
        return self.threshold + laplace_sum.quantile(1, self.test_scale, beta) + 1

    def checked(self, x: object) -> tuple[int, int]:
        value, distance = pair(x, "the exact number", "its distance")
        return wrapped(integer(value, "number")), integer(distance, "distance")

    def release(self, x: tuple[int, int], noise: Noise) -> int | None:
        value, distance = x
        if distance + int(noise.laplace(self.test_scale, 1)[0]) <= self.threshold:
            return None
        return wrapped(value + int(noise.laplace(self.scale, 1)[0]))
