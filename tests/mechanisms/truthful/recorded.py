"""A noise that notes from which laws it is asked to draw: the law of an outcome, from real code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.noise import Zero
from ameles.noise.arrays import IntArray


class Recorded(Zero):
    """Draws zeros, and keeps the law of the last exact choice and the scale of the last noise."""

    law: list[float]
    scale: Fraction

    def pick(self, penalties: IntArray, rate: Fraction, weights: IntArray | None = None) -> int:
        assert weights is None
        odds = [math.exp(-float(rate) * int(penalty)) for penalty in penalties]
        self.law = [one / math.fsum(odds) for one in odds]
        return super().pick(penalties, rate, weights)

    def laplace(self, scale: Fraction, size: Any) -> IntArray:
        self.scale = scale
        return super().laplace(scale, size)


def chosen(recipe: Any, reports: Any) -> list[float]:
    """The law with which the real code chooses an outcome."""
    noise = Recorded()
    recipe.start(noise).step(reports)
    return noise.law


def loss(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest log ratio of two laws."""
    return float(np.max(np.abs(np.log(one) - np.log(other))))
