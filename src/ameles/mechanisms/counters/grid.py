"""Real-valued increments: integers on a fixed grid, for any counter.

Theorem      clamping and rounding act on one increment at a time, so an increment that appears,
             disappears or is replaced by zero changes the counter's input by at most ``reach``
             grid units; integer noise on real sums would reveal their fractions (catalogue 11)
Neighbours   those of the counter, with ``bound`` = reach
Noise        that of the counter
Error        that of the counter times the granularity, and half a grid unit for each increment
Memory       that of the counter

A value is clamped to [lower, upper] and rounded to the nearest multiple of the granularity.

>>> from ameles.mechanisms.counters.siblings import SiblingsCounter
>>> from ameles.noise import Zero
>>> grid = Grid(lower=0, upper=1, granularity="1/1000")
>>> run = SiblingsCounter(epsilon=1, horizon=8, bound=grid.reach).start(Zero())
>>> [grid.value(run.step(grid.units(x))) for x in (0.25, 0.5, 7.0)]
[0.25, 0.75, 1.75]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ameles.core.exceptions import BadInput
from ameles.core.parameters import Number
from ameles.noise.arrays import IntArray

LARGEST = 10**12


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A range of real values and the steps in which they are counted."""

    lower: Number = Number(-LARGEST, LARGEST)
    upper: Number = Number(-LARGEST, LARGEST)
    granularity: Number = Number(Fraction(1, LARGEST), LARGEST)

    def __post_init__(self) -> None:
        if self.lower >= self.upper:
            raise BadInput(
                f"The lower end of a grid must be below the upper one. Got {self.lower} and "
                f"{self.upper} instead."
            )
        for end in (self.lower, self.upper):
            if (end / self.granularity).denominator != 1:
                raise BadInput(
                    f"The ends of a grid must be multiples of its granularity, {self.granularity}. "
                    f"Got {end} instead.",
                    why="a value beyond an end is counted as the end, which must be on the grid",
                )
        if self.reach > 1 << 22:
            raise BadInput(
                f"A grid may have at most 2**22 units to each side. Got {self.reach} instead.",
                tip="a larger granularity, or a narrower range",
            )

    @property
    def reach(self) -> int:
        """The most grid units that one increment can add: the bound for the counter."""
        return int(max(abs(self.lower), abs(self.upper)) / self.granularity)

    def units(self, values: ArrayLike) -> Any:
        """Values as grid units: an integer for a number, an array of them for an array."""
        given = np.asarray(values)
        if given.dtype.kind not in "iuf" or not np.isfinite(given).all():
            raise BadInput(
                "A grid takes finite real numbers.",
                why="a missing or infinite value is not on the grid",
                tip="leave such values out, or give them a value of your choice",
            )
        # Clamped before the division, so that it cannot overflow, and after the rounding, so
        # that the bound holds whatever floating-point arithmetic does in between.
        clamped = np.clip(given.astype(np.float64), float(self.lower), float(self.upper))
        units = np.rint(clamped / float(self.granularity)).astype(np.int64)
        low, high = (int(end / self.granularity) for end in (self.lower, self.upper))
        kept: IntArray = np.clip(units, low, high)
        return kept if kept.ndim else int(kept)

    def value(self, units: Any) -> Any:
        """A release in units as a value."""
        scaled: NDArray[np.float64] = np.asarray(units) * float(self.granularity)
        return scaled if scaled.ndim else float(scaled)
