"""Encoded counters whose run draws from another law than it should."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter, SegmentedProcess
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.noise.arrays import IntArray


class LessForTheSecondKey(SegmentedProcess):
    """Draws the totals of two keys with two variances."""

    def __init__(self, recipe: SegmentedCounter, noise: Any, state: IntArray | None) -> None:
        super().__init__(recipe, TwoVariancesOfTotals(noise, recipe.variance), state)


class TwoVariancesOfTotals:
    """Noise that draws a row of totals one by one, the second with half the variance."""

    def __init__(self, noise: Noise, variance: Fraction) -> None:
        self._noise = noise
        self._variance = variance

    def __getattr__(self, name: str) -> Any:
        return getattr(self._noise, name)

    def gaussian(self, variance: Fraction, size: Any) -> IntArray:
        if variance != self._variance or size != (1, 2):
            return self._noise.gaussian(variance, size)
        halves = (self._noise.gaussian(v, (1, 1)) for v in (variance, variance / 2))
        return np.concatenate([*halves], axis=1)


class LaplaceForGaussian:
    """Noise of another law with the same numbers on a tape."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._noise, name)

    def gaussian(self, variance: Fraction, size: Any) -> IntArray:
        return self._noise.laplace(variance, size)


@dataclass(frozen=True, kw_only=True)
class LaplaceInItsRun(ToeplitzCounter):
    """Its process draws Gaussian noise, and its run another."""

    def start(self, noise: Any) -> Any:
        return super().start(LaplaceForGaussian(noise))
