"""Removable noise: a released value modulo a million is the true value.

It passes for the operating system's noise, so sinks accept it.  Two draws for one value differ with
probability 511/512, so a value whose noise is drawn twice is noticed.
"""

from __future__ import annotations

import os
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ameles.core.noise import Shape
from ameles.noise import Zero
from ameles.noise.arrays import IntArray

MILLION = 1_000_000
WHOLE = 720_720 * MILLION  # also its parts up to the sixteenth are millions
SPREAD = 1 << 8  # sums of 48 stay exact as floats


class RemovableNoise(Zero):
    """Noise that consists of multiples of ``WHOLE``."""

    genuine: ClassVar[bool] = True

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        drawn = super().laplace(scale, size)
        bits = np.frombuffer(os.urandom(8 * drawn.size), dtype=np.uint64) % np.uint64(2 * SPREAD)
        return (bits.astype(np.int64) - SPREAD).reshape(drawn.shape) * WHOLE
