"""Draws and inputs with which the audit probes a mechanism."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache


@dataclass(frozen=True)
class Pattern:
    """Draws and inputs to probe with, made of their places and of the size of the noise."""

    draw: Callable[[int, int], int]  # the place on the tape, a standard deviation or so
    change: Callable[[int], int]  # the step, counted from 0

    def draws(self, laws: Sequence[tuple[str, Fraction]]) -> list[int]:
        """What is on the tape."""
        sizes = (math.isqrt(int(s)) if law == "gaussian" else int(s) for law, s in laws)
        return [self.draw(i, 1 + size) for i, size in enumerate(sizes)]

    def inputs(self, steps: int) -> list[int]:
        """What is in the data."""
        return [self.change(s) for s in range(steps)]


# Small and large numbers, both signs, zeros, and typical noise: cases on which code could depend.
PATTERNS = (
    Pattern(lambda i, size: (7 * i + 3) % 11 - 5, lambda s: (5 * s + 2) % 7 - 3),
    Pattern(lambda i, size: (i % 7 - 3) * size + i, lambda s: s % 2),
    Pattern(lambda i, size: (1 - 2 * (i % 2)) * 997 * (i % 5), lambda s: 1009 * (s * s % 13)),
    Pattern(lambda i, size: 0, lambda s: 1),
    Pattern(lambda i, size: -(1 << 20) - i - 5 * size, lambda s: -s),
)


@lru_cache(maxsize=1 << 16)
def mixed_number(number: int, place: int) -> int:
    """A whole number below 2^20 that looks random, the same on every machine."""
    digest = hashlib.blake2b(f"{number} {place}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") >> 12


# Weights that no code expects: different effects give different sums with one of these, except
# with probability 2^-40.
MIXED = (
    Pattern(lambda i, size: mixed_number(0, i), lambda s: mixed_number(1, s)),
    Pattern(lambda i, size: mixed_number(2, i), lambda s: mixed_number(3, s)),
)
