"""Encoded counters with a mistake that the audit must see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.cascade_process import CascadeProcess, Levels
from ameles.mechanisms.counters.gaussian.encoded import Encoding
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter, SegmentedProcess
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter, ToeplitzProcess
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.summed import PlainRun, SummedRun
from ameles.mechanisms.snapshot import State
from ameles.noise import Tape
from ameles.noise.arrays import IntArray
from tests.audit import mutants

SHORT: dict[str, Any] = {"rho": 1, "first": 3, "growth": 2, "buffers": 2}


def filtered(process: type[ToeplitzProcess], **parameters: Any) -> ToeplitzCounter:
    """A counter with a horizon whose noise is this."""

    @dataclass(frozen=True, kw_only=True)
    class Broken(ToeplitzCounter):
        def process(self, noise: Any, state: IntArray | None) -> Any:
            return process(self, noise, state)

    return Broken(**{"rho": 1, "horizon": 6, **parameters})


def cut(process: type[SegmentedProcess], **parameters: Any) -> SegmentedCounter:
    """A counter without a horizon whose noise is this."""

    @dataclass(frozen=True, kw_only=True)
    class Broken(SegmentedCounter):
        def process(self, noise: Any, state: IntArray | None) -> Any:
            return process(self, noise, state)

    return Broken(**SHORT, **parameters)


# Sensitivities ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OneStepToeplitz(ToeplitzCounter):
    """Claims several contributions, with the noise for one."""

    def encoding_with(self, bits: int) -> Encoding:
        one = ToeplitzCounter(rho=self.rho, horizon=self.horizon)
        return one.encoding_with(bits)


@dataclass(frozen=True, kw_only=True)
class RootOfStepsBuffered(BufferedCounter):
    """Multiplies the norm of one column by the root of the steps, as if columns were orthogonal."""

    def encoding_with(self, cascade: Cascade, bits: int) -> Encoding:
        one = BufferedCounter(rho=self.rho, horizon=self.horizon).encoding_with(cascade, bits)
        return replace(one, variance=one.variance * self.contributions)


@dataclass(frozen=True, kw_only=True)
class OneStepTotals(SegmentedCounter):
    """Totals with the noise for one contribution."""

    @property
    def variance(self) -> Fraction:
        return super().variance / self.contributions**2


@dataclass(frozen=True, kw_only=True)
class OneStepInside(SegmentedCounter):
    """Segments with the noise for one contribution."""

    def encoding_with(self, segment: int, cascade: Cascade, bits: int) -> Encoding:
        one = SegmentedCounter(**SHORT)
        return one.encoding_with(segment, cascade, bits)


@dataclass(frozen=True, kw_only=True)
class LaterSegmentsQuiet(SegmentedCounter):
    """Draws a hundredth less in every segment but the first."""

    def encoding_with(self, segment: int, cascade: Cascade, bits: int) -> Encoding:
        right = super().encoding_with(segment, cascade, bits)
        return replace(right, variance=right.variance * 99 / 100) if segment else right


@dataclass(frozen=True, kw_only=True)
class QuietToeplitz(ToeplitzCounter):
    """Draws a hundredth less."""

    def encoding_with(self, bits: int) -> Encoding:
        right = super().encoding_with(bits)
        return replace(right, variance=right.variance * 99 / 100)


@dataclass(frozen=True, kw_only=True)
class QuietBuffered(BufferedCounter):
    """Draws a hundredth less."""

    def encoding_with(self, cascade: Cascade, bits: int) -> Encoding:
        right = super().encoding_with(cascade, bits)
        return replace(right, variance=right.variance * 99 / 100)


@dataclass(frozen=True, kw_only=True)
class NothingForRoundingsInside(SegmentedCounter):
    """Forgets what roundings add."""

    def allowance(self, segment: int) -> Fraction:
        return Fraction(0)


# Noise of segments --------------------------------------------------------------------------


class ReusedNoise(SegmentedProcess):
    """Every segment filters the noise that the first one drew."""

    def _inside(self, levels: Levels) -> CascadeProcess:
        process = super()._inside(levels)
        kept = vars(self).setdefault("kept", [])
        fresh = process._noise

        class Again(Tape):
            def gaussian(self, variance: Fraction, size: Any) -> IntArray:
                drawn = fresh.gaussian(variance, size)
                if not kept:
                    kept.extend(drawn.ravel().tolist())
                drawn.reshape(-1)[: len(kept)] = kept[: drawn.size]
                return drawn

        process._noise = Again()
        return process


class GoesOn(SegmentedProcess):
    """A new segment goes on with the buffers of the last one."""

    last: CascadeProcess | None = None

    def _inside(self, levels: Levels) -> CascadeProcess:
        self.last = super()._inside(levels)
        return self.last

    def _levels(self, segment: int) -> Levels:
        levels = super()._levels(segment)
        if self.last is not None:
            levels.values[:] = self.residue(self.last._levels.values)
        return levels

    def residue(self, values: IntArray) -> IntArray:
        return values


class LeavesLowBits(GoesOn):
    """Only so little of the last segment is left that roundings seem to explain it."""

    def residue(self, values: IntArray) -> IntArray:
        return values & 7


class TotalsOfOne(SegmentedProcess):
    """All segments but the first share one noise for their totals: what they add is exact."""

    def _pieces(self, n: int) -> Iterator[tuple[IntArray, int, IntArray]]:
        for inner, bits, totals in super()._pieces(n):
            first = vars(self).setdefault("first", totals) if not bits else totals
            self._totals = first
            yield inner, bits, first


class TotalsWithABit(SegmentedProcess):
    """The last step of a segment shows the lowest bit of the sum of the segment's noise."""

    bit: Any = 0

    def _pieces(self, n: int) -> Iterator[tuple[IntArray, int, IntArray]]:
        for inner, bits, totals in super()._pieces(n):
            if self._open is not None:
                self.bit = self._open._levels.values[:1] & 1
            yield (inner, bits, totals) if bits else (inner + self.bit, bits, totals)


# Filters ------------------------------------------------------------------------------------


class WeightTwo(ToeplitzProcess):
    def encode(self, n: int) -> IntArray:
        return super().encode(n) * 2


class Squares(ToeplitzProcess):
    """What is large adds its square, so far down that only large integers show it."""

    def encode(self, n: int) -> IntArray:
        encoded = super().encode(n)
        if encoded.dtype == object:
            encoded[1:] += encoded[:-1] ** 2 >> 200
        return encoded


class TwoVariances(ToeplitzProcess):
    """From the fourth step on it draws with half the variance."""

    def encode(self, n: int) -> IntArray:
        rows = []
        for _ in range(n):
            if self._t == 3:
                self._encoding = replace(self._encoding, variance=self._encoding.variance / 2)
            rows.append(super().encode(1))
        return np.concatenate(rows)


class DrawsMore(ToeplitzProcess):
    def take(self, n: int) -> IntArray:
        self._noise.gaussian(self._encoding.variance, 1)
        return super().take(n)


class FlipsACoin(ToeplitzProcess):
    def encode(self, n: int) -> IntArray:
        self._noise.bernoulli(Fraction(1, 2), 1)
        return super().encode(n)


class OneNoiseForAllKeys(ToeplitzProcess):
    def encode(self, n: int) -> IntArray:
        encoded = super().encode(n)
        encoded[:, 1:] = encoded[:, :1]
        return encoded


class HidesItsEncoding:
    """A noise that shows nothing but its releases."""

    def __init__(self, recipe: ToeplitzCounter, noise: Noise, state: IntArray | None) -> None:
        inner = ToeplitzProcess(recipe, noise, state)
        self.take, self.state = inner.take, inner.state


# Runs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class EncodedStepsWithoutNoise(ToeplitzCounter):
    """Noise in ``feed`` and none in ``step``."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        run: Any = mutants._StepsWithoutNoise.__new__(mutants._StepsWithoutNoise)
        PlainRun.__init__(run, self, state, noise)
        kept: CounterRun = run
        return kept


class _NoticesTwo(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        return super().feed(xs) + int(xs[0] == 2)


@dataclass(frozen=True, kw_only=True)
class NoticesTwo(ToeplitzCounter):
    """Another release if the first input is a two, as no probe has it but a neighbour."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return _NoticesTwo(self, state, noise)


class _EndlessRun(SummedRun):
    def check_room(self, count: int) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class NeverEndingVector(BufferedCounter):
    """Goes on past the horizon that its noise was calibrated for."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return _EndlessRun(self, state, noise)
