"""Segmented counter: Gaussian counts for a stream without an end.

Theorem      Chan-Shi-Song 2010, section 4 (catalogue 6), with Gaussian noise: the stream is cut
             into segments that grow by a factor.  A share of rho pays for one noisy total of
             each finished segment, the rest for a buffered counter inside the open one.  An
             item is in one segment: share * rho + (1 - share) * rho.
Neighbours   streams that differ in up to ``contributions`` steps, by at most ``bound`` each
Noise        discrete Gaussian: variance (contributions * bound)^2 / (2 share rho) for a total,
             and inside on a grid of its own for each segment
Error        variance (finished segments) / share + the buffered counter's / (1 - share)
Memory       as a buffered counter, and one sum more

The last step of a segment is released from the total and is not in the counter inside.

Contributions may be spread over segments, m_1 + m_2 + ... = m.  The totals then cost
share * rho times the sum of (m_k / m)^2, which is at most 1.  Inside, a segment's noise is for
(sqrt(M(m)) + sqrt(m) r)^2, where r is what roundings add and M is ``squared_spread``: M(k) / k
does not fall, so k contributions cost at most (sqrt(k M(m) / m) + r)^2, which is at most k / m
of that, and k / m adds up to 1.

Segments end at first, first * growth, first * growth^2, ...; none is longer than 2^30 steps.

>>> from ameles.noise import Zero
>>> run = SegmentedCounter(epsilon=1, delta=1e-6).start(Zero())
>>> [run.step(x) for x in [1, 0, 1, 1]]
[1, 1, 2, 3]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from ameles.accounting.calibration import gaussian_variance
from ameles.core.error import checks_step
from ameles.core.noise import Noise
from ameles.core.parameters import Number, OptionalHorizon, Whole
from ameles.mechanisms.counters.gaussian.calibration import GaussianCounter
from ameles.mechanisms.counters.gaussian.cascade import NUMBERS, Cascade
from ameles.mechanisms.counters.gaussian.cascade_counter import Buffers, cascade_bits
from ameles.mechanisms.counters.gaussian.cascade_process import CascadeProcess, Levels
from ameles.mechanisms.counters.gaussian.encoded import EncodedError, Encoding, root_up, rounded
from ameles.mechanisms.counters.gaussian.error import (
    GaussianError,
    GaussianSum,
    discrete_variance,
    quantile,
    rounded_variance,
    sum_factor,
)
from ameles.mechanisms.counters.gaussian.segment_cuts import Cuts
from ameles.mechanisms.counters.summed import Process
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class SegmentedCounter(GaussianCounter):
    """Counts without an end, from noisy totals and a buffered counter in the open segment.

    With the default cuts and share the error is within 1.5 times the lower bound for any
    factorisation that knows its horizon, from 2^8 to 2^30 steps.
    """

    only_endless: ClassVar[bool] = True

    horizon: OptionalHorizon = OptionalHorizon()
    first: Whole = Whole(2, 2**30, 2**13)
    growth: Whole = Whole(2, 2**30, 64)
    share: Number = Number(Fraction(1, 1000), Fraction(999, 1000), Fraction(3, 20))
    buffers: Buffers = Buffers()

    @property
    def steps(self) -> int | None:
        """The horizon; None: without end."""
        return self.horizon

    @property
    def cuts(self) -> Cuts:
        """Where the segments end."""
        return Cuts(self.first, self.growth)

    @property
    def variance(self) -> Fraction:
        """The parameter of the noise of a total."""
        change = self.contributions * self.bound
        return gaussian_variance(rho=self.share * self.spend, sensitivity=change)

    def filter(self, segment: int) -> Cascade:
        """The rates of the counter inside a segment."""
        return Cascade.near(self.cuts.inside(segment), self.buffers)

    def encoding(self, segment: int) -> Encoding:
        """The grid and the noise inside a segment."""
        change, rounding = self._sensitivity(segment, self.filter(segment))
        bits = cascade_bits(self.cuts.inside(segment), change, rounding, self._rest)
        return self.encoding_with(segment, self.filter(segment), bits)

    def encoding_with(self, segment: int, cascade: Cascade, bits: int) -> Encoding:
        """The encoding inside a segment by these rates on the grid of 2^-bits."""
        change, rounding = self._sensitivity(segment, cascade)
        return Encoding.of(change=change, rounding=rounding, bits=bits, rho=self._rest)

    @property
    def _rest(self) -> Fraction:
        return (1 - self.share) * self.spend

    def _sensitivity(self, segment: int, cascade: Cascade) -> tuple[Fraction, Fraction]:
        m, inside = self.contributions, self.cuts.inside(segment)
        change = self.bound * root_up(cascade.squared_spread(inside, m))
        return change, cascade.rounding * root_up(m * inside * self.touched)

    def allowance(self, segment: int) -> Fraction:
        """By how much roundings inside a segment may change it, in L2 and in units of its grid."""
        steps = self.cuts.inside(segment)
        return self.filter(segment).rounding * root_up(steps * self.touched)

    @property
    def error(self) -> SegmentedError:
        """The totals' noise and that inside the open segment."""
        return SegmentedError(self)

    @property
    def memory(self) -> int:
        """A buffered counter's, the noise of the totals, and the place in the stream."""
        return self.columns * (3 + self.ahead + self.buffers) + NUMBERS * self.buffers + 3

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return SegmentedProcess(self, noise, state)


class SegmentedProcess:
    """The sum of the finished totals' noises, and a process for the open segment."""

    def __init__(self, recipe: SegmentedCounter, noise: Noise, state: IntArray | None) -> None:
        self._recipe = recipe
        self._noise = noise
        self._t = 0
        self._totals = np.zeros(recipe.columns, dtype=np.int64)
        self._open: CascadeProcess | None = None
        if state is not None:
            self._t = int(state[0])
            self._totals = state[1 : 1 + recipe.columns].copy()
            inner = state[1 + recipe.columns :]
            if inner.size:
                levels = Levels.read(inner, recipe.buffers, recipe.columns)
                self._open = self._inside(levels)

    def state(self) -> IntArray:
        inner = [] if self._open is None else [self._open.state()]
        return np.concatenate([np.array([self._t]), self._totals, *inner])

    def take(self, n: int) -> IntArray:
        parts = [np.empty((0, self._recipe.columns), dtype=np.int64)]
        parts += [rounded(inner, bits) + totals for inner, bits, totals in self._pieces(n)]
        return np.concatenate(parts)

    def encode(self, n: int) -> IntArray:
        """The noise of the next ``n`` encoded values: inside a segment in units of its grid, at the
        end of one in whole counts.  Only the audit asks for it, so its integers have no end."""
        pieces = self._pieces(n)
        return np.concatenate([inner + (t.astype(object) << bits) for inner, bits, t in pieces])

    def _pieces(self, n: int) -> Iterator[tuple[IntArray, int, IntArray]]:
        """Noise of the next ``n`` steps from within a segment, its grid, and that of the totals."""
        while n:
            segment, place = self._recipe.cuts.locate(self._t)
            left = self._recipe.cuts.inside(segment) - place
            if left:
                count = min(n, left)
                if self._open is None:
                    self._open = self._inside(self._levels(segment))
                piece = self._open.encode(count), self._open.bits, self._totals
            else:
                count = 1
                fresh = self._noise.gaussian(self._recipe.variance, (1, self._recipe.columns))
                self._totals = self._totals + fresh[0]
                self._open = None
                piece = np.zeros_like(fresh), 0, self._totals
            self._t += count
            n -= count
            yield piece

    def _levels(self, segment: int) -> Levels:
        recipe = self._recipe
        levels = Levels.start(recipe.filter(segment), recipe.encoding(segment).bits, recipe.columns)
        # The audit resumes with integers that have no end, in order to see the filter exactly.
        levels.values = levels.values.astype(self._totals.dtype)
        return levels

    def _inside(self, levels: Levels) -> CascadeProcess:
        segment, _ = self._recipe.cuts.locate(self._t)
        encoding = self._recipe.encoding_with(segment, levels.cascade, levels.bits)
        inside = self._recipe.cuts.inside(segment)
        return CascadeProcess(self._noise, levels, encoding.variance, inside)


@dataclass(frozen=True)
class SegmentedError(GaussianError):
    """Independent noises of the finished totals, and the error of the counter inside."""

    recipe: SegmentedCounter

    def inside(self, segment: int) -> EncodedError:
        """The error of the counter inside a segment."""
        if segment not in self._errors:
            encoding = self.recipe.encoding(segment)
            variance = float(encoding.variance)
            self._errors[segment] = EncodedError(
                self.recipe.filter(segment), encoding.bits, variance
            )
        return self._errors[segment]

    @cached_property
    def _errors(self) -> dict[int, EncodedError]:
        """The errors of the counters inside that were asked for so far."""
        return {}

    @cached_property
    def _variance(self) -> float:
        return float(self.recipe.variance)

    @checks_step
    def std(self, t: int) -> float:
        finished, place = self.recipe.cuts.locate(t)
        total = finished * discrete_variance(self._variance)
        inner = self.inside(finished).normal_variance(place) if place else 0.0
        return math.sqrt(total + rounded_variance(inner))

    @checks_step
    def bound(self, t: int, beta: float) -> float:
        finished, place = self.recipe.cuts.locate(t)
        variance = self._variance
        total, factor, slack = finished * variance, sum_factor(finished, variance), 0.0
        if place:
            inner = self.inside(finished)
            total += inner.normal_variance(place)
            factor *= inner.factor(place)
            # the totals' normal stand-in is rounded too, by up to half a count
            slack = inner.slack(place) + (0.5 if finished else 0.0)
        return quantile(total, beta, factor=factor, slack=slack)

    @checks_step
    def bound_all(self, steps: int, beta: float) -> float:
        # within a segment the error grows until its last step but one
        cuts = self.recipe.cuts
        finished, _ = cuts.locate(steps)
        worst = [cuts.before(segment + 1) - 1 for segment in range(finished)]
        return max(self.bound(t, beta / steps) for t in (*worst, steps))

    def between(self, before: int, t: int) -> GaussianSum:
        """A bound on the noise of a total over steps before + 1, ..., t."""
        (old, passed), (new, place) = self.recipe.cuts.locate(before), self.recipe.cuts.locate(t)
        if old == new:
            return self.inside(new).between(passed, place)
        variance = self._variance
        count = new - old
        total = GaussianSum(count * variance, sum_factor(count, variance))
        for segment, reached in ((old, passed), (new, place)):
            if reached:
                total = total.plus(self.inside(segment).between(0, reached))
        return total

    def rms(self, steps: int) -> float:
        """The root mean square of the error over the first ``steps`` steps."""
        cuts = self.recipe.cuts
        finished, place = cuts.locate(steps)
        each = discrete_variance(self._variance)
        total = 0.0
        for segment in range(finished + 1):
            count = cuts.inside(segment) if segment < finished else place
            total += segment * each * count + (segment + 1) * each * (segment < finished)
            if count:
                total += self.inside(segment).rms(count) ** 2 * count
        return math.sqrt(total / steps)
