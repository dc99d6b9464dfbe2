"""Counters with weights or scales by level that are wrong in a way that the audit must see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from ameles.mechanisms.counters.gaussian.cascade import Cascade
from ameles.mechanisms.counters.gaussian.encoded import Encoding
from ameles.mechanisms.counters.gaussian.normalised import NormalisedCounter
from ameles.mechanisms.counters.gaussian.smooth import SmoothCounter
from ameles.mechanisms.counters.hats.window import HatsWindowCounter


@dataclass(frozen=True, kw_only=True)
class LevelLeftOut(HatsWindowCounter):
    """Divides epsilon between all levels but the lowest, and gives that one its share as well."""

    @property
    def scale(self) -> Fraction:
        return super().scale * (1 - self.shape.share(0, 0))


@dataclass(frozen=True, kw_only=True)
class RootOfStepsNormalised(NormalisedCounter):
    """Multiplies the norm of a column by the root of the steps, as if columns were orthogonal."""

    def encoding_with(self, cascade: Cascade, bits: int) -> Encoding:
        one = NormalisedCounter(rho=self.rho, horizon=self.horizon).encoding_with(cascade, bits)
        return replace(one, variance=one.variance * self.contributions)


@dataclass(frozen=True, kw_only=True)
class WholeLossInside(SmoothCounter):
    """Pays for the totals of segments with a share that the counter inside has, too."""

    @property
    def _rest(self) -> Fraction:
        return self.spend
