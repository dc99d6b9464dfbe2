"""Noise that can be taken off again: what is left modulo a million is the truth.

It passes for the operating system's, so that sinks take it, and no two draws are likely the same:
one value that was drawn twice is seen with probability 511/512, each of them.
"""

from __future__ import annotations

import os
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ameles.core.mechanism import Shape
from ameles.noise import Zero
from ameles.noise.arrays import IntArray

MILLION = 1_000_000
WHOLE = 720_720 * MILLION  # also its parts up to the sixteenth are millions
SPREAD = 1 << 8  # sums of 48 stay exact as floats


class Marked(Zero):
    """Multiples of ``WHOLE``."""

    genuine: ClassVar[bool] = True

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        drawn = super().laplace(scale, size)
        bits = np.frombuffer(os.urandom(8 * drawn.size), dtype=np.uint64) % np.uint64(2 * SPREAD)
        return (bits.astype(np.int64) - SPREAD).reshape(drawn.shape) * WHOLE
