"""Many draws at once, in the order of the tape: step, then level, then key.

A counter of several levels draws at a step for level 0 first, then for level 1, and so on.
Taking the noise of many steps in one call must ask for the same numbers in the same order,
so the demands of all levels are merged here before anything is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ameles.core.noise import Noise
from ameles.noise.arrays import IntArray


@dataclass
class Demands:
    """What the levels of a counter want to draw over ``steps`` steps."""

    steps: int
    _per_step: IntArray = field(init=False)
    _levels: list[tuple[IntArray, IntArray]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._per_step = np.zeros(self.steps, dtype=np.int64)

    def add(self, at: IntArray, counts: IntArray) -> None:
        """The next level draws ``counts[i]`` numbers at step ``at[i]``, counted from 0."""
        self._levels.append((at, self._per_step[at]))
        self._per_step[at] += counts

    def places(self) -> tuple[int, list[IntArray]]:
        """How many numbers there are, and for each level where each of its demands starts."""
        ends = np.cumsum(self._per_step)
        starts = ends - self._per_step
        total = int(ends[-1]) if self.steps else 0
        return total, [starts[at] + before for at, before in self._levels]

    def draw(self, noise: Noise, scale: Fraction, width: int) -> tuple[IntArray, list[IntArray]]:
        """All numbers, one row each, and for each level where each of its demands starts."""
        total, starts = self.places()
        return noise.laplace(scale, (total, width)), starts
