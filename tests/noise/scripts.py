"""Scripted bits for the sampler: what its rounds and its exact path read, in their order."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from ameles.noise import System
from ameles.noise.arrays import IntArray
from ameles.noise.blocks import Blocks
from ameles.noise.law import Law
from ameles.noise.sampler import offset_type

from .laws import WIDEST_SCALE
from .sources import Scripted, word
from .truth import exp

NARROW = Law.laplace(Fraction(3))
LAPLACE = Law.laplace(Fraction(1000))
GAUSSIAN = Law.gaussian(Fraction(10**9))
WIDE = Law.laplace(Fraction(1 << 50))
EDGE = Law.laplace(WIDEST_SCALE)
HUGE = Law.laplace(Fraction(1 << 70))

ALL_ONES = (1 << 64) - 1


def sample(entropy: Scripted, law: Law, count: int) -> IntArray:
    """Draws through the front door, which knows laws by their scale or variance."""
    noise = System(entropy=entropy)
    if law.linear:
        return noise.laplace(1 / law.linear, count)
    return noise.gaussian(1 / (2 * law.quadratic), count)


def a_round(blocks: Blocks, *draws: tuple[int, int, int]) -> bytes:
    """The bytes that a round reads first: the offsets, the selecting and the keeping bits.

    Single integers have the selecting bits alone.
    """
    offsets, selects, keeps = zip(*draws, strict=True)
    if blocks.single:
        return np.array(selects, dtype="<u2").tobytes()
    return b"".join(
        np.array(part, dtype=kind).tobytes()
        for part, kind in ((offsets, offset_type(blocks.width)), (selects, "<u2"), (keeps, "<u2"))
    )


def cell(blocks: Blocks, block: int) -> int:
    """Leading 16 bits that are within a block."""
    return int(np.flatnonzero(blocks.table == block)[0])


def more(place: int = 0, chance: int = 0) -> bytes:
    """The word of the second look: 48 bits of the place and 16 of the chance."""
    return word((place & (1 << 48) - 1) << 16 | chance & 0xFFFF)


def rest(place: int, unused: int = 0) -> bytes:
    """The word that completes the place of a single integer: its lower 48 bits, and 16 unused."""
    return word(place & (1 << 48) - 1 | unused << 48)


def true_keep(blocks: Blocks, block: int, x: int) -> Decimal:
    return exp(-blocks.law.exponent(x)) * blocks.mass / blocks.weights[block + blocks.half]


def settled(blocks: Blocks, block: int, offset: int = 0) -> tuple[int, int, int]:
    return offset, cell(blocks, block), 0


def geometric(blocks: Blocks, y: int) -> bytes:
    """The bytes with which the exact path draws y >= 0 and keeps it with one word."""
    index = blocks.half + (y >> blocks.width)
    length = -(-blocks.width // 8)
    offset = (y & (1 << blocks.width) - 1) << 8 * length - blocks.width
    # The chance to keep zero is exactly 1, which is known without a bit.
    keep = word(0) if y else b""
    return word(sum(blocks.weights[:index])) + offset.to_bytes(length, "little") + keep


def in_the_tail(blocks: Blocks) -> bytes:
    """The bytes of a first round and a second look that lead to the tail."""
    further = rest(ALL_ONES) if blocks.single else more(ALL_ONES)
    return a_round(blocks, (0, 0xFFFF, 0)) + further
