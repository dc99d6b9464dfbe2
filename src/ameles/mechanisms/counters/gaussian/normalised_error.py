"""The error of a normalised counter: how much of each noise is in its counts.

Let P(t) be the noise of a cascade at t, and N the factor 2^12 / part of a piece of steps.  The
noise of the counts in a piece is

    W(t) = N P(t) + the sum of (N_p - N_(p+1)) P(end of p) over the pieces p before,

so its law follows from that of P.  With P(t) = the sum of b_(t-s) Z(s) and b_j = the sum of
u_i k_i^j, both u_i and N_p - N_(p+1) positive, all sums are of positive terms: the covariance of
P(v) with W(t) is, for v >= t, the sum of u_i k_i^(v-t) V_i(t) with V_i(t) = the sum of
(weight of Z(s) in W(t)) k_i^(t-s), which each piece passes on to the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ameles.core.error import checks_step
from ameles.mechanisms.counters.gaussian.buffered_optimum import Floats, decoder_weights, powers
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.column_scales import PART_BITS, ColumnScales
from ameles.mechanisms.counters.gaussian.encoded import EncodedError
from ameles.mechanisms.counters.gaussian.error import GaussianSum, quantile
from ameles.noise.arrays import IntArray

# Means and maxima over longer streams are taken at this many places of each piece.
PLACES = 16


@dataclass(frozen=True)
class NormalisedFilter:
    """The law of the noise in units of that of one draw, from the pieces of the stream."""

    cascade: Cascade
    scales: ColumnScales

    def gain(self, t: int) -> float:
        """The variance at t."""
        return float(self.gains(np.array([t]))[0])

    def gains(self, at: IntArray) -> Floats:
        """The variance at each of these steps."""
        piece = np.searchsorted(self._ends, at - 1, side="right")
        factor, kept = self._factors[piece], self._kept(at - self._starts[piece])
        fixed, passed = self._passed
        crossed = np.vecdot(self._outputs * kept, passed[piece])
        gains: Floats = fixed[piece] + 2 * factor * crossed + factor**2 * self._plain(at)
        return gains

    def between(self, before: int, t: int) -> float:
        """The variance of the difference of two steps."""
        if before == 0:
            return self.gain(t)
        piece, last = (self.scales.piece(step - 1) for step in (before, t))
        factors, outputs = self._factors, self._outputs
        held = self._kept(np.array([before - self._starts[piece]]))[0] * self._passed[1][piece]
        held = held + factors[piece] * (powers(self._pairs, before) @ outputs)
        # covariances with W(before): of P at the ends of pieces, and of P(t) and P(before)
        crossed = np.array([before, *self._ends[piece:last], t])
        with_before = self._kept(crossed - before) @ (outputs * held)
        weights = np.array([-factors[piece], *-np.diff(factors[piece : last + 1]), factors[last]])
        # W(t) = W(before) + the sum of these, so that their difference is that sum
        moved = float(weights @ with_before)
        return max(0.0, self.gain(t) - self.gain(before) - 2 * moved)

    def mean_gain(self, steps: int) -> float:
        """The mean of ``gain`` over the first ``steps`` steps."""
        places = self._spread(steps)
        lengths = np.diff(places, prepend=0)
        if len(places) == steps:
            return float(self.gains(places).mean())
        # a step stands for the steps up to it: the mean with the one before, the first by itself
        gains = self.gains(places)
        means = np.concatenate([gains[:1], (gains[1:] + gains[:-1]) / 2])
        return float(means @ lengths) / steps

    def largest(self, steps: int) -> float:
        """A bound on the variance at each of the first ``steps`` steps.

        Within a piece the noise of earlier pieces fades, and that of its own filter grows.
        """
        last = self._spread(steps)
        first = np.concatenate([[1], last[:-1] + 1])
        pieces = np.searchsorted(self._ends, last - 1, side="right")
        return float((self.gains(first) + self._own(last, pieces) - self._own(first, pieces)).max())

    @property
    def slack(self) -> float:
        """How far the roundings can move a release, in units of the grid."""
        return float(self._factors[0]) * self.cascade.slack + len(self.scales.ends)

    def _own(self, at: IntArray, pieces: IntArray) -> Floats:
        return self._factors[pieces] ** 2 * self._plain(at)

    def _spread(self, steps: int) -> IntArray:
        """Steps up to the last, some of each piece; of a short stream all."""
        ends = np.minimum(self._ends, steps)
        starts = np.minimum(self._starts, steps)
        lengths = (ends - starts)[:, None]
        places = starts[:, None] + -(-lengths * np.arange(1, PLACES + 1) // PLACES)
        return np.unique(places[places > 0])

    @cached_property
    def _ends(self) -> IntArray:
        return np.array(self.scales.ends)

    @cached_property
    def _starts(self) -> IntArray:
        return np.concatenate([[0], self._ends[:-1]])

    @cached_property
    def _factors(self) -> Floats:
        factors: Floats = (1 << PART_BITS) / np.array(self.scales.parts, dtype=np.float64)
        return factors

    @cached_property
    def _rates(self) -> tuple[Floats, Floats]:
        """1 - k_i and u_i of the module's text."""
        poles = np.array([float(section.pole) for section in self.cascade.sections])
        rates = np.array([float(section.rate) for section in self.cascade.sections])
        return decoder_weights(poles, rates)

    @property
    def _outputs(self) -> Floats:
        return self._rates[1]

    @cached_property
    def _pairs(self) -> Floats:
        """1 - k_i k_l."""
        rates = self._rates[0]
        return rates[:, None] + rates - rates[:, None] * rates

    def _kept(self, steps: IntArray) -> Floats:
        """k_i to the power of each of these."""
        with np.errstate(divide="ignore"):
            logarithms = np.log1p(-self._rates[0])
        logarithms = np.maximum(logarithms, -800.0)  # as good as zero, and 0 times it is 0
        kept: Floats = np.exp(steps[:, None] * logarithms)
        return kept

    def _plain(self, at: IntArray) -> Floats:
        """The variance of P at each of these steps."""
        outputs = self._outputs
        logarithms = np.log1p(-np.minimum(self._pairs, 1 - 1e-16))
        safe = np.where(self._pairs == 0, 0.5, self._pairs)
        sums = -np.expm1(at[:, None, None] * logarithms) / safe
        sums = np.where(self._pairs == 0, at[:, None, None].astype(np.float64), sums)
        plain: Floats = (sums @ outputs) @ outputs
        return plain

    @cached_property
    def _passed(self) -> tuple[Floats, Floats]:
        """For each piece the variance that earlier pieces left, and V_i without its own part."""
        fixed, passed = 0.0, np.zeros(len(self._outputs))
        all_fixed, all_passed = [], []
        steps = -np.diff(self._factors, append=self._factors[-1])
        kept, plain = self._kept(self._ends - self._starts), self._plain(self._ends)
        for piece, end in enumerate(self.scales.ends):
            all_fixed.append(fixed)
            all_passed.append(passed)
            moved = kept[piece] * passed
            fixed += (
                2 * steps[piece] * float(self._outputs @ moved) + steps[piece] ** 2 * plain[piece]
            )
            passed = moved + steps[piece] * (powers(self._pairs, end) @ self._outputs)
        return np.array(all_fixed), np.array(all_passed)


@lru_cache(maxsize=64)
def normalised_filter(cascade: Cascade, horizon: int) -> NormalisedFilter:
    """The law of a normalised counter's noise, computed once."""
    return NormalisedFilter(cascade, ColumnScales.of(cascade, horizon))


@dataclass(frozen=True, slots=True)
class NormalisedError(EncodedError):
    """As that of encoded counters; but the variance need not grow with t."""

    filter: NormalisedFilter

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        variance = math.ldexp(self.variance, -2 * self.bits) * self.filter.largest(steps)
        slack = math.ldexp(
            self.filter.slack + math.sqrt(steps * self.filter.largest(steps)) / 2, -self.bits
        )
        return quantile(variance, beta / steps, factor=self.factor(steps), slack=slack)

    def between(self, before: int, t: int) -> GaussianSum:
        """A bound on the noise of a total over steps before + 1, ..., t."""
        variance = math.ldexp(self.variance, -2 * self.bits) * self.filter.between(before, t)
        slack = self.slack(t) + (self.slack(before) if before else 0.0)
        return GaussianSum(variance + 1 / 6, self.factor(t), slack + 1)
