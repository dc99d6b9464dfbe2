"""A cascade of buffers in exact binary fractions, and what can be proven about it.

The filter takes the running sum of the noise through n sections.  Section i keeps one number
q, a moving average of its input u with the rate a, and gives u - g q:

    out = u - floor(g q),   then   q += floor(a (u - q)).

Without the roundings this is (1 - (1-x) z) / (1 - (1-a) z) with x = a (1 - g), so that the
decoder is B = product of these / (1 - z), and the encoder C = A / B has the poles 1 - x_i and
the zeros 1 - a_i.  All rates and shares are binary fractions, so C is known exactly.

Theorem      If 0 < x_1 < a_1 < x_2 < ... < x_n < a_n <= 1, then c_j = sum of w_i (1 - x_i)^(j-1)
             for j >= 1 with positive w_i (interlacing poles and zeros), and c falls from c_0 = 1,
             since c_1 = sum of (a_i - x_i) < 1.  The same holds for the first i sections alone.
Columns      for m contributions the first m steps are the worst (see ``toeplitz``), and the
             norm is a finite sum of geometric series, bounded in intervals of 60 digits
Roundings    those of section i pass (1 - z) C_i to reach the encoding, C_i of the sections up
             to i; its L1 norm is 1 + (1 - c_1) + (c_1 - c_2) + ... <= 2.  Those of q pass
             g z (1 - z) C_(i-1) / (1 - (1 - x_i) z), of norm at most
             g (2 + 2 c_1 / x_i): split C_(i-1) = 1 + (0, c_1, c_2, ...), the c of sections
             before i.  With the slow sections first, c_1 is small against x_i.
Slack        on the way to the release, those of section i pass the later sections, of norm at
             most 2, and those of q a sum of decaying powers, positive by interlacing, of
             total g / a_i times the product of 1 - g over the later sections
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, prod

import numpy as np

from ameles.accounting.interval import Interval
from ameles.core.exceptions import StoreRefused
from ameles.mechanisms.counters.gaussian import buffered_optimum
from ameles.mechanisms.counters.gaussian.buffered_optimum import Floats

# Bits of a rate's mantissa and of a share.  The optimum is flat: more would gain nothing.
PRECISION = 12
WIDEST_SHIFT = 62
NUMBERS = 3  # integers a section


@dataclass(frozen=True, slots=True)
class CascadeBuffer:
    """One buffer: the rate a = mantissa / 2^shift and the share g = part / 2^12."""

    mantissa: int
    shift: int
    part: int

    @property
    def rate(self) -> Fraction:
        """a: how much of the difference the average takes over in a step."""
        return Fraction(self.mantissa, 1 << self.shift)

    @property
    def share(self) -> Fraction:
        """g: how much of the average is taken away."""
        return Fraction(self.part, 1 << PRECISION)

    @property
    def pole(self) -> Fraction:
        """x = a (1 - g)."""
        return self.rate * (1 - self.share)


@dataclass(frozen=True)
class Cascade:
    """Sections from the slowest to the fastest."""

    sections: tuple[CascadeBuffer, ...]

    def __post_init__(self) -> None:
        order = [Fraction(0)]
        for section in self.sections:
            order += [section.pole, section.rate]
        if any(low >= high for low, high in pairwise(order)) or order[-1] > 1:
            # only a snapshot that was made up can have such numbers
            raise StoreRefused("The rates of this counter do not interlace.")

    @classmethod
    def near(cls, horizon: int, buffers: int) -> Cascade:
        """The best rates for a horizon, rounded to binary fractions."""
        return _near(horizon, buffers)

    @classmethod
    def smooth(cls, horizon: int, buffers: int) -> Cascade:
        """Rates that are good wherever a stream ends up to the horizon, likewise rounded."""
        return _smooth(horizon, buffers)

    @classmethod
    def rounded(
        cls, poles: Sequence[float | Fraction], rates: Sequence[float | Fraction]
    ) -> Cascade:
        """These poles x and rates a, from the slowest on, rounded to binary fractions."""
        sections: list[CascadeBuffer] = []
        for x, a in zip(poles, rates, strict=True):
            shift = min(PRECISION - 1 + int(1 / a).bit_length(), WIDEST_SHIFT)
            mantissa = max(1, round(a * (1 << shift)))
            rate = Fraction(mantissa, 1 << shift)
            part = round((1 - Fraction(x) / rate) * (1 << PRECISION))
            # the pole must stay above the rate before it
            before = sections[-1].rate if sections else Fraction(0)
            highest = ceil((1 - before / rate) * (1 << PRECISION)) - 1
            sections.append(CascadeBuffer(mantissa, shift, max(1, min(part, highest))))
        return cls(tuple(sections))

    @classmethod
    def read(cls, numbers: Sequence[int]) -> Cascade:
        """The cascade that ``numbers`` described."""
        whole = [int(number) for number in numbers]
        places = range(0, len(whole), NUMBERS)
        return cls(tuple(CascadeBuffer(*whole[i : i + NUMBERS]) for i in places))

    @property
    def numbers(self) -> list[int]:
        """The numbers that define this cascade: three integers for each section."""
        return [
            number
            for section in self.sections
            for number in (section.mantissa, section.shift, section.part)
        ]

    def squared_norm(self, horizon: int, contributions: int) -> Interval:
        """The square of the L2 norm of the sum of the first m columns of C."""
        return _squared_norm(self, horizon, min(horizon, contributions))

    def squared_spread(self, horizon: int, contributions: int) -> Interval:
        """An upper bound M(m) on the same whose M(m) / m does not fall with m.

        It is the sum of (m - |d|) G(d) over |d| < m, G(d) = the sum of c_j c_(j+d) over j < T:
        no entry of the Gram matrix is larger than G of its distance.
        """
        return _squared_spread(self, horizon, contributions)

    @cached_property
    def rounding(self) -> Fraction:
        """By how much, times the root of the steps, roundings can change the encoding in L2."""
        total, first = Fraction(0), Fraction(0)
        for section in self.sections:
            total += 2 + section.share * (2 + 2 * first / section.pole)
            first += section.rate - section.pole
        return total

    @cached_property
    def slack(self) -> float:
        """How far roundings can move a release, in units of the grid."""
        total, later = Fraction(0), Fraction(1)
        for section in reversed(self.sections):
            total += 2 + section.share / section.rate * later
            later *= 1 - section.share
        return float(total)

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        poles = np.array([float(section.pole) for section in self.sections])
        return poles, np.array([float(section.rate) for section in self.sections])

    def gain(self, t: int) -> float:
        """The sum of b_j^2 over j < t."""
        return buffered_optimum.decoder_gain(*self._floats, t)

    def mean_gain(self, steps: int) -> float:
        """The mean of ``gain`` over the first ``steps`` steps."""
        return buffered_optimum.decoder_mean_gain(*self._floats, steps)

    @cached_property
    def weights(self) -> list[Fraction]:
        """w of the module's text, exact."""
        poles = [section.pole for section in self.sections]
        rates = [section.rate for section in self.sections]
        return [
            prod((a - x for a in rates), start=Fraction(1))
            / prod((y - x for y in poles if y != x), start=Fraction(1))
            for x in poles
        ]

    @property
    def terms(self) -> list[tuple[Fraction, Fraction]]:
        """The pairs of w_i and 1 - x_i."""
        kept = [1 - section.pole for section in self.sections]
        return list(zip(self.weights, kept, strict=True))


@lru_cache(maxsize=256)
def _near(horizon: int, buffers: int) -> Cascade:
    return Cascade.rounded(*buffered_optimum.best_rates(horizon, buffers))


@lru_cache(maxsize=64)
def _smooth(horizon: int, buffers: int) -> Cascade:
    return Cascade.rounded(*buffered_optimum.smooth_rates(horizon, buffers))


def _power(base: Fraction, n: int) -> Interval:
    if base == 0 or n == 0:
        return Interval.of(int(n == 0))
    return (Interval.of(base).ln() * n).exp()


def _series(base: Fraction, n: int) -> Interval:
    """The sum of base^j over j < n."""
    return (1 - _power(base, n)) / (1 - base)


@lru_cache(maxsize=1024)
def _squared_norm(cascade: Cascade, horizon: int, m: int) -> Interval:
    # the sum of m neighbouring c: growing for m steps, then falling for T - m
    totals = [(weight / (1 - kept), kept) for weight, kept in cascade.terms]
    limit = 1 + sum((v for v, _ in totals), Fraction(0))
    falling = [(v * (1 - _power(kept, m)), kept) for v, kept in totals]
    square = Interval.of(m * limit**2)
    for v, kept in totals:
        square = square - 2 * limit * v * _series(kept, m)
        for other, also in totals:
            square = square + v * other * _series(kept * also, m)
    for height, kept in falling:
        for other_height, also in falling:
            square = square + height * other_height * _series(kept * also, horizon - m)
    return square


@lru_cache(maxsize=1024)
def _squared_spread(cascade: Cascade, horizon: int, m: int) -> Interval:
    diagonal = Interval.of(1)  # G(0), then G(d) = sum of slopes * kept^(d-1)
    square = Interval.of(0)
    for weight, kept in cascade.terms:
        slope = Interval.of(weight)
        for other, also in cascade.terms:
            shared = weight * other * _series(kept * also, horizon - 1)
            diagonal = diagonal + shared
            slope = slope + shared * kept
        # the sum of (m - d) kept^(d-1) over 0 < d < m
        distances = (m - _series(kept, m)) / (1 - kept)
        square = square + 2 * slope * distances
    return square + m * diagonal
