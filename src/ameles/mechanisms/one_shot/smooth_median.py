"""Smooth median: as much noise as the given table needs, not as much as the worst table needs.

Theorem      Nissim-Raskhodnikova-Smith 2007 with the constants of catalogue 43.  Pure:
             f + (S / epsilon_1) Cauchy loses epsilon_1 + beta' if S is beta'-smooth; here
             epsilon_1 = epsilon / 2 and beta' = epsilon / 2.  With delta: f + Lap(2 S / epsilon)
             and beta' = ln(1 + epsilon / (2 ln(2 / delta))) loses (epsilon, delta): a shift by S
             costs epsilon / 2; a scale that is exp(beta') smaller costs at most
             (|z| / b)(exp(beta') - 1), which exceeds epsilon / 2 with probability delta at most
Neighbours   one row is replaced; the number of rows is public and odd
Noise        S is the smooth sensitivity for beta = beta' - 2^-48, rounded up to a dyadic fraction
             by a share of at most 2^-48; so what is used is beta'-smooth (``local_sensitivity``).
             Pure: the whole number nearest to the real release, exactly.  With delta: discrete
             Laplace; its shift and its scale cost what the continuous ones do.  No table is kept
             for S, which is secret (``secret_scale``)
Error        for a table with smooth sensitivity S: P(|error| > lambda scale + 1/2) is
             1 - (2 / pi) arctan(lambda), a Cauchy variable; with delta the tail of Laplace.
             Before the table is known, the error is at most ``largest``
Memory       nothing is kept

The release is clamped to [0, largest].  A source text adds Lap(S / epsilon) with beta = epsilon and
claims 2 epsilon: its delta there is .130 for epsilon = 1.

>>> from ameles.noise import Zero
>>> recipe = SmoothMedian(epsilon=1, rows=5, largest=100, neighbours="replace")
>>> recipe.start(Zero()).step([30, 10, 40, 10, 50])
30
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours, Norm
from ameles.core.loss import Approx, Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Number, Whole
from ameles.mechanisms.one_shot import secret_scale
from ameles.mechanisms.one_shot.exact_inputs import rows_of
from ameles.mechanisms.one_shot.local_sensitivity import (
    ROUNDING,
    MedianSpread,
    smooth_sensitivity,
)
from ameles.mechanisms.one_shot.one_shot import Look
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class SmoothMedian(Look[int]):
    """The median of whole numbers from 0 to ``largest``, with noise that depends on the table.

    ``delta`` = 0 gives a pure guarantee and Cauchy noise, which has no mean; above 0 the noise is
    Laplace.

    >>> recipe = SmoothMedian(epsilon=1, rows=101, largest=1000, neighbours="replace")
    >>> [recipe.error_for(table).bound(1, 0.05) for table in ([500] * 101, [0, 990] * 50 + [500])]
    [0, 1000]
    """

    norm: ClassVar[Norm] = Norm.L1

    epsilon: Epsilon = Epsilon()
    delta: Number = Number(0, "1/2", 0)
    rows: Whole = Whole(1, 2**32)
    largest: Whole = Whole(1, 2**40)

    def __post_init__(self) -> None:
        if self.rows % 2 == 0:
            raise BadInput(
                f"The 'rows' parameter must be odd. Got {self.rows} instead.",
                why="the median of an even number of rows need not be a row",
                tip="add a row of a public value",
            )
        if self.neighbours is not Neighbours.REPLACE:
            raise BadInput(
                "A smooth median is for tables in which one row is replaced.",
                why="the number of rows is public, and its sensitivity counts replaced rows",
                tip="neighbours='replace'",
            )

    @property
    def reach(self) -> int:
        """One row may change from one end to the other."""
        return self.largest

    @property
    def loss(self) -> Pure | Approx:
        """Epsilon, with delta if there is one."""
        return Approx(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)

    @property
    def smoothing(self) -> Fraction:
        """The beta of the smooth sensitivity, which leaves room for its rounding."""
        if not self.delta:
            return self.epsilon / 2 - ROUNDING
        allowed = math.log1p(float(self.epsilon) / (2 * math.log(2 / float(self.delta))))
        return Fraction(math.floor(allowed * (1 - 1e-12) * 2**60), 2**60) - ROUNDING

    def scale_for(self, values: IntArray) -> Fraction:
        """The scale of the noise for this table: secret, if the table is."""
        return self._scale(MedianSpread(values, largest=self.largest))

    def error_for(self, values: object) -> SmoothMedianError:
        """The error on this table.  It is secret for real tables; use made-up tables for
        planning."""
        return SmoothMedianError(self, self.scale_for(rows_of(values, self.rows, self.largest)))

    @property
    def error(self) -> SmoothMedianError:
        """The error on the worst table."""
        return SmoothMedianError(self, 2 * self.largest / self.epsilon)

    def checked(self, x: object) -> IntArray:
        return rows_of(x, self.rows, self.largest)

    def release(self, x: IntArray, noise: Noise) -> int:
        spread = MedianSpread(x, largest=self.largest)
        scale = self._scale(spread)
        if not self.delta:
            return secret_scale.cauchy(
                noise, centre=spread.median, scale=scale, low=0, high=self.largest
            )
        noisy = spread.median + secret_scale.laplace(noise, scale)
        return min(max(noisy, 0), self.largest)

    def _scale(self, spread: MedianSpread) -> Fraction:
        return 2 * smooth_sensitivity(spread, self.smoothing) / self.epsilon


@dataclass(frozen=True, slots=True)
class SmoothMedianError:
    """The tail of the noise at one scale, which is the table's."""

    recipe: SmoothMedian
    scale: Fraction = field(repr=False)  # of a real table it is secret

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        """The release is this close with probability at least 1 - beta."""
        recipe = self.recipe
        if recipe.delta:
            # the least k with 2 a^(k+1) / (1 + a) <= beta, a = exp(-1 / scale); not remembered
            rest = math.log(2) - math.log1p(math.exp(-1 / float(self.scale))) - math.log(beta)
            return min(recipe.largest, max(0, math.ceil(float(self.scale) * rest - 1e-9) - 1))
        # the release is rounded: a whole number is off by at most the noise and a half
        noise = float(self.scale) / math.tan(math.pi * beta / 2)
        return min(recipe.largest, math.floor(noise * (1 + 1e-12) + 0.5))

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        """The same for this many releases together."""
        return self.bound(1, beta / steps)
