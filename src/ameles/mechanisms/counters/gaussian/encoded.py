"""Encoded counters: a linear filter of discrete Gaussian noise on a fine grid, exactly private.

The factorisations with the least error have real coefficients: counts A x are released as
A x + B z, where B C = A and z is noise for the columns of C.  In floats that leaks: the
lattice of B z can reveal x.  Here it is an encoding instead.  With counts in units of
2^-s and integer noises Z(t), the encoded value of step t is the integer

    P(t) = 2^s (x(1) + ... + x(t)) + Z(t) + h_t(Z(1), ..., Z(t-1)),

where h is any integer-valued function: here the filter B, rounded.  What is released is P(t)
rounded to a whole count: post-processing.

Theorem      Let two streams differ by d, and let e(t) = Z'(t) - Z(t) for the noises with which
             both give the same P.  If the sum of e(t)^2 is at most D^2, whatever P is, then
             P is D^2 / (2 variance)-zCDP, for inputs chosen adaptively as well.
Proof        Given the stream and P(1..t-1), all earlier noises are known, so P(t) is a discrete
             Gaussian around an integer; for the other stream it is around one that is e(t) away,
             and the Rényi divergence of order a is a e(t)^2 / (2 variance).  Divergences add up
             over the steps, and their sum is bounded on every path (Feldman-Zrnic 2021).
Sensitivity  Let h be B - 1 with numbers rounded down on the way by r_k < 1, which pass through
             filters F_k to P.  Then e = -2^s C d + (1 - z) C sum of F_k (r'_k - r_k), where 1 - z
             is the difference of neighbouring steps.  So D is at most 2^s |C d| + sqrt(T) times
             the sum of the L1 norms of (1 - z) C F_k; where one unit can touch K counters,
             sqrt(T K).
Grid         s is so large that the second term is below 0.05% of the first, unless 64 bits do
             not allow it.

Because P is a multiple of 2^s plus a function of the noise, the release is the exact running
sum plus an integer that depends on the noise alone: the summed shape, with its exact truth,
its wrap and its speed.  No float and no rounding ever meets the data.

The filter is not linear modulo 2^64, so its numbers must stay within 64 bits.  They have room
for 64 standard deviations.  The probability of exceeding it is below 1e-800 for a whole run, and
the word *exactly* means up to that.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from ameles.accounting.calibration import VARIANCE_DIGITS
from ameles.accounting.interval import Interval
from ameles.core.error import checks_step
from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.gaussian.calibration import GaussianCounter
from ameles.mechanisms.counters.gaussian.error import (
    GaussianError,
    GaussianSum,
    quantile,
    rounded_variance,
)
from ameles.noise.arrays import IntArray

DEVIATIONS = 64
WORD = 62
# The roundings may cost 2^-11 of the sensitivity; if words are short, at most an eighth.
FINE = 11
COARSEST = 8


class NoiseFilter(Protocol):
    """What the error needs to know about a filter; its coefficients are b_0, b_1, ..."""

    def gain(self, t: int) -> float:
        """The sum of b_j^2 over j < t: the variance at t, in units of that of one noise."""
        ...

    def mean_gain(self, steps: int) -> float:
        """The mean of ``gain`` over the first ``steps`` steps."""
        ...

    @property
    def slack(self) -> float:
        """How far the roundings can move a release, in units of the grid."""
        ...


@dataclass(frozen=True, slots=True)
class Encoding:
    """The public numbers of an encoded counter: its grid and its noise."""

    bits: int
    variance: Fraction

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, *, change: Fraction, rounding: Fraction, bits: int, rho: Fraction) -> Encoding:
        """For a filter that one unit changes by ``change`` counts, and by ``rounding`` units of
        the grid more, both in L2."""
        sensitivity = (change * (1 << bits)) + rounding
        return cls(bits, Interval.of(sensitivity**2 / (2 * rho)).up(VARIANCE_DIGITS))


def fine_bits(*, change: Fraction, rounding: Fraction, largest: float, least: int = 0) -> int:
    """The s of the grid: fine enough, ``least`` or more, and such that numbers up to ``largest``
    counts fit."""
    wanted = max(least, math.ceil(math.log2(rounding / change)) + FINE)
    bits = min(wanted, WORD - math.ceil(math.log2(largest)))
    if bits < least or COARSEST * rounding > change * (1 << bits):
        raise BadInput(
            "These parameters need noise or counts that do not fit into 64 bits.",
            why="the filter of the noise would need a finer grid than that leaves room for",
            tip="a larger epsilon, a shorter horizon or a smaller bound",
        )
    return bits


@lru_cache(maxsize=1024)
def root_up(square: Interval | Fraction | int) -> Fraction:
    """A square root, rounded up."""
    return (square if isinstance(square, Interval) else Interval.of(square)).sqrt().up()


def rounded(encoded: IntArray, bits: int) -> IntArray:
    """Encoded values as whole counts, in place."""
    encoded += 1 << bits >> 1
    encoded >>= bits
    return encoded


class Decoder(Protocol):
    """What turns encoded values into counts."""

    def decode(self, encoded: IntArray) -> IntArray:
        """The counts of the next steps, one row a step."""
        ...


@dataclass(frozen=True, slots=True)
class EvenDecoder:
    """The decoder if a count adds 2^bits at every step."""

    bits: int

    def decode(self, encoded: IntArray) -> IntArray:
        """The counts of the next steps, one row a step."""
        return rounded(encoded.copy(), self.bits)


@dataclass(frozen=True, kw_only=True)
class EncodedCounter(GaussianCounter):
    """A counter whose noise is a filter of discrete Gaussian noise."""

    @property
    @abstractmethod
    def filter(self) -> NoiseFilter:
        """The filter B."""

    @property
    @abstractmethod
    def encoding(self) -> Encoding:
        """The grid and the noise."""

    @property
    @abstractmethod
    def allowance(self) -> Fraction:
        """By how much roundings may change the encoded values, in L2 and in units of the grid."""

    def units(self, steps: int) -> list[int]:
        """What a count adds to the encoded sum at each of the first steps, in units of the grid."""
        return [1 << self.encoding.bits] * steps

    def decoder(self) -> Decoder:
        """What turns encoded values into counts, from the first step on; the audit compares it with
        the releases."""
        return EvenDecoder(self.encoding.bits)

    @property
    def error(self) -> EncodedError:
        """A weighted sum of discrete Gaussian variables, rounded to whole counts."""
        encoding = self.encoding
        return EncodedError(self.filter, encoding.bits, float(encoding.variance))


@dataclass(frozen=True, slots=True)
class EncodedError(GaussianError):
    """The noise at t: the sum of b_j Z(t - j) over j < t, rounded."""

    filter: NoiseFilter
    bits: int
    variance: float  # of Z, in units of the grid
    _gains: dict[int, float] = field(default_factory=dict, init=False, compare=False, repr=False)

    def gain(self, t: int) -> float:
        """That of the filter, computed once for each t; before the first step, zero."""
        if t not in self._gains:
            self._gains[t] = self.filter.gain(t) if t else 0.0
        return self._gains[t]

    def normal_variance(self, t: int) -> float:
        """The variance before it is rounded, in counts."""
        return math.ldexp(self.variance, -2 * self.bits) * self.gain(t)

    def factor(self, t: int) -> float:
        """How much likelier t discrete noises can be than rounded normal ones."""
        return math.exp(min(t / (24 * self.variance), 700.0))

    def slack(self, t: int) -> float:
        """How far roundings can move the sum: those of the filter, and of the normal noises
        that stand for the discrete ones, at most half the sum of b_j."""
        normal = math.sqrt(t * self.gain(t)) / 2
        return math.ldexp(self.filter.slack + normal, -self.bits)

    @checks_step
    def std(self, t: int) -> float:
        return math.sqrt(rounded_variance(self.normal_variance(t)))

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        return quantile(self.normal_variance(t), beta, factor=self.factor(t), slack=self.slack(t))

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        # the variance grows with t, so the last step's tail is the largest
        return self.bound(steps, beta / steps)

    def between(self, before: int, t: int) -> GaussianSum:
        """A bound on the noise of a total over steps before + 1, ..., t.

        With a = b_(before - s) and b = b_(t - s), the weights of noise s: b_j is positive and
        does not grow, so (a - b)^2 <= a^2 - b^2 where both have it, and the sums are gains.
        """
        fresh, old, new = (self.gain(n) for n in (t - before, before, t))
        variance = math.ldexp(self.variance, -2 * self.bits) * (2 * fresh + old - new)
        slack = self.slack(t) + (self.slack(before) if before else 0.0)
        return GaussianSum(variance + 1 / 6, self.factor(t), slack + 1)

    def rms(self, steps: int) -> float:
        """The root mean square of the error over the first ``steps`` steps."""
        mean = math.ldexp(self.variance, -2 * self.bits) * self.filter.mean_gain(steps)
        return math.sqrt(rounded_variance(mean))
