"""Noise for tests that draw one number at a time, thousands of times: the same law, in blocks.

A single draw costs as much as a thousand at once; each number of a block is an independent draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain

import numpy as np

from ameles.core.noise import Shape
from ameles.noise import System
from ameles.noise.arrays import IntArray
from ameles.noise.entropy import OperatingSystem

BLOCK = 1024


class Pooled(System):
    """The operating system's noise; single draws come from a block of their scale."""

    def __init__(self) -> None:
        super().__init__(entropy=OperatingSystem())
        self._blocks: dict[tuple[str, Fraction], Iterator[int]] = {}

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        return self._next("laplace", super().laplace, scale, size)

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        return self._next("gaussian", super().gaussian, variance, size)

    def _next(
        self, law: str, draw: Callable[[Fraction, Shape], IntArray], scale: Fraction, size: Shape
    ) -> IntArray:
        if size != 1:
            return draw(scale, size)
        if (law, scale) not in self._blocks:
            endless: Iterator[list[int]] = iter(lambda: draw(scale, BLOCK).tolist(), [])
            self._blocks[law, scale] = chain.from_iterable(endless)
        return np.array([next(self._blocks[law, scale])])
