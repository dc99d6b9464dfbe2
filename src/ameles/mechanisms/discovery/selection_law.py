"""Which keys become public: the noise of a selection counter, its smoothing and its thresholds.

The clock of a selection counter has one step for each look.  The counter of a key is the sum of the
weights that users gave to it, encoded as in ``encoded_noise``.  What is compared is its smoothed
value M, with M(i) = M(i-1) + g (P(i) - M(i-1)), where P is the decoded counter and 1 / g - 1 about
a 25th of the looks: old noise averages out, and counts come a little later.

Theorem      Let a key be named by one user only.  The probability that it is found at any look is
             at most looks Q(z) e^(looks / 24v), and for all of the user's keys that times their
             number, where Q is the tail of the normal law and v the variance of a draw.
Proof        The smoothed count is at most the largest weight w.  M is a weighted sum of independent
             discrete Gaussian draws, which are at most e^(1 / 24v) times likelier than normal ones
             rounded to integers (``counters/gaussian/error``): that moves M by at most half the
             sum of the weights' sizes.  Roundings of the code raise it by at most ``raised``.  The
             threshold of look i is w + both + z SD(i), with SD rounded up (``certified_gains``).
             The union over looks and keys is their number times one tail, which is at most
             exp(-z^2 / 2) / (z sqrt(2 pi)) (Mills).

>>> law = SelectionLaw.of((4, 2, 1, 1), 100, rho=Fraction(1, 2), delta=Fraction(1, 10**9))
>>> round(float(law.z), 2), round(law.std(100) / law.std(50), 3)
(6.91, 0.947)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from ameles.accounting.interval import PI, Interval
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.column_scales import PART_BITS
from ameles.mechanisms.counters.gaussian.encoded import root_up
from ameles.mechanisms.discovery.certified_gains import smoothed_gains
from ameles.mechanisms.discovery.encoded_noise import EncodedNoise

# The lag of the smoothing, as a share of the looks: 4%.
LAG = Fraction(1, 25)
SMOOTHING_BITS = 12
# z is a whole number of these.
Z_GRID = Fraction(1, 1024)


def selection_cascade(looks: int) -> Cascade:
    """Two buffers that fit the smoothed query, for any number of looks.

    From 12 looks on the largest standard deviation is within 1% of that of the best rates.
    """
    slow = Fraction("1.49") / (looks + Fraction("1.2"))
    fast = 1 / (Fraction("1.05") + Fraction("1.46") * LAG * looks)
    between = min(Fraction("7.15") / (looks + 5), (slow + fast) / 2)
    return Cascade.rounded((slow, fast), (between, Fraction("0.98")))


@dataclass(frozen=True)
class SelectionLaw:
    """Public numbers: the noise of all looks, how it is smoothed, and the thresholds."""

    noise: EncodedNoise
    slots: tuple[int, ...]
    delta: Fraction

    @classmethod
    def of(
        cls,
        slots: tuple[int, ...],
        looks: int,
        *,
        rho: Fraction,
        delta: Fraction,
        bits: int | None = None,
    ) -> SelectionLaw:
        """For users who give these weights; ``delta`` is for keys that one user names alone."""
        return _law(slots, looks, rho, delta, bits)

    @property
    def looks(self) -> int:
        """How many looks there are."""
        return self.noise.horizon

    @property
    def gain(self) -> int:
        """g, in units of 2^-12."""
        return round((1 << SMOOTHING_BITS) / (1 + LAG * self.looks))

    @cached_property
    def z(self) -> Fraction:
        """How many standard deviations a threshold is above what one user can add."""
        v = self.noise.variance
        others = Interval.of(self.looks / (24 * v)).exp() * (self.looks * len(self.slots))

        def proven(z: Fraction) -> bool:
            tail = Interval.of(-z * z / 2).exp() / (z * (2 * PI).sqrt())
            return Fraction((others * tail).high) <= self.delta

        low, high = 0, 64 * Z_GRID.denominator
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if proven(middle * Z_GRID) else (middle, high)
        return high * Z_GRID

    @cached_property
    def _gains(self) -> list[tuple[Fraction, Fraction]]:
        return smoothed_gains(self.noise, Fraction(self.gain, 1 << SMOOTHING_BITS))

    def std(self, look: int) -> float:
        """The standard deviation of M at a look, in units of weight."""
        square = float(self._gains[look - 1][0] * self.noise.variance)
        return math.ldexp(math.sqrt(square), -self.noise.bits)

    @cached_property
    def raised(self) -> Fraction:
        """How far roundings can raise M, on the grid.

        Those of the filter move P by at most its slack; decoding multiplies by falling factors, so
        by at most the first of them.  Decoding and smoothing round down.
        """
        first = Fraction(1 << PART_BITS, self.noise.columns.parts[0])
        return first * (Fraction(self.noise.cascade.slack) + 1)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """What M must reach at each look, on the grid."""
        alone = (max(self.slots) << self.noise.bits) + self.raised
        return tuple(
            math.ceil(alone + total / 2 + self.z * root_up(squares * self.noise.variance))
            for squares, total in self._gains
        )

    def settled(self, look: int) -> float:
        """The share of a count that M shows at a look, if it was there at the first look."""
        return 1 - (1 - self.gain / (1 << SMOOTHING_BITS)) ** look


@lru_cache(maxsize=64)
def _law(
    slots: tuple[int, ...], looks: int, rho: Fraction, delta: Fraction, bits: int | None
) -> SelectionLaw:
    change = root_up(sum(weight * weight for weight in slots))
    noise = EncodedNoise.of(
        selection_cascade(looks), looks, change=change, touched=len(slots), rho=rho, bits=bits
    )
    return SelectionLaw(noise, slots, delta)
