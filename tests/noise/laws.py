"""Laws for the tests: narrow and wide, both kinds and mixed, and the limits of each path."""

from __future__ import annotations

from fractions import Fraction

from ameles.noise.law import Law

WIDEST_SCALE = Fraction((1 << 58) - 1)  # the last whole scale that is drawn in int64

LAPLACE = [
    Fraction(1, 1 << 100),
    Fraction(1, 50),
    Fraction(1, 16),
    Fraction(1, 3),
    Fraction(10),
    Fraction(1023, 16),  # the last with blocks of one integer, and half = 1023
    Fraction(64),  # the first with blocks of two, and half = 512
    Fraction(1000),
    Fraction(3 * 2**20 + 1, 3),
    Fraction(1 << 38),  # blocks of 2**33: the first offsets that have more than 32 bits
    WIDEST_SCALE,
    Fraction(1 << 100),
]
GAUSSIAN = [
    Fraction(1, 1 << 100),
    Fraction(1, 50),
    Fraction(1),
    Fraction(180**2),
    Fraction(182**2),
    Fraction(10**6, 7),
    Fraction(3 * 2**66 + 1, 3),
    Fraction(1 << 100),
]
MIXED = [
    Law(Fraction(1, 7), Fraction(1, 11)),
    Law(Fraction(1, 1000), Fraction(1, 10**6)),
    Law(Fraction(3, 1 << 40), Fraction(5, 1 << 82)),
    Law(Fraction(1, 1 << 50), Fraction(1, 3 << 90)),
]
LAWS = [
    *(Law.laplace(scale) for scale in LAPLACE),
    *(Law.gaussian(variance) for variance in GAUSSIAN),
    *MIXED,
]


def name(law: Law) -> str:
    """A law as a test's name."""
    return f"linear {float(law.linear):.3g} quadratic {float(law.quadratic):.3g}"
