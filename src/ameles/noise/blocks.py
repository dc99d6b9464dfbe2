"""Exact sampling of integer noise by rejection from blocks of equal width.

Theorem      if a block is drawn with probability W / 2**64, a point of it uniformly, and the
             point is kept with probability f(x) C / W <= 1, then every x is drawn and kept
             with probability proportional to f(x)
Noise        W = ceil(C f(nearest point of the block)), integers that with the tail fill 2**64,
             so that the block is drawn exactly with 64 bits
Exactness    16 bits settle most draws through a table; what they leave open is settled
             by 64 bits and a fixed-point bound on f, and what that leaves open by lazy
             comparison with f itself at growing precision.  The tail is drawn from a
             geometric envelope: nothing is cut off.

A block holds 2**width consecutive integers; blocks go from -half to half - 1.  Below
about 64 in scale a block is one integer.  Then the bits that draw it also keep it: of its W
units, the first W - 1 are kept and the last one in part, C f in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ameles.noise.arrays import Words
from ameles.noise.coin import below, bits
from ameles.noise.enclosure import Enclosure, exp_minus
from ameles.noise.entropy import Entropy
from ameles.noise.law import Law

# The blocks reach to where f has fallen to exp(-16): the tail beyond is visited about once
# in ten million draws.  A wide block spans at most 1/512 of that, so f changes little in it.
REACH = 16
MOST_BLOCKS = 10  # bits of the number of blocks on each side
# One part in 2**20 of all draws goes to the tail, which is more than its true probability.
TAIL = 1 << 44
PRECISION = 256
ONE = 1 << 32  # probabilities in the fixed-point bound
WIDEST = 52  # a wider block could leave int64 before the wrap


@dataclass(frozen=True, eq=False)
class Blocks:
    """The tables for one law; public, built once for each scale."""

    law: Law

    @cached_property
    def width(self) -> int:
        """The binary logarithm of the number of integers in a block."""
        return max(0, self.law.reach(REACH).bit_length() - MOST_BLOCKS)

    @cached_property
    def half(self) -> int:
        """The number of blocks on each side of zero."""
        return -(-self.law.reach(REACH) >> self.width)

    @cached_property
    def nearest(self) -> list[int]:
        """The smallest absolute value in each block, in the order of the blocks."""
        right = [j << self.width for j in range(self.half)]
        return [k + 1 for k in reversed(right)] + right

    @cached_property
    def heights(self) -> list[tuple[int, int]]:
        """Enclosures of f at the nearest points, in units of 2**-PRECISION."""
        right = _weights(self.law, 0, 1 << self.width, self.half)
        left = _weights(self.law, 1, 1 << self.width, self.half)
        return left[::-1] + right

    @cached_property
    def mass(self) -> int:
        """C: the weight of a block of height 1."""
        room = (1 << 64) - TAIL - 2 * self.half
        return (room << PRECISION) // sum(high for _, high in self.heights)

    @cached_property
    def weights(self) -> list[int]:
        """W: the 64-bit share of each block; at least C times its height."""
        return [-(-high * self.mass >> PRECISION) for _, high in self.heights]

    @cached_property
    def single(self) -> bool:
        """Whether every block is one integer x with W - 1 < C f(x) <= W, which is proven here; only
        heights below 2**-PRECISION are not known well enough."""
        return self.width == 0 and all(
            -(-low * self.mass >> PRECISION) == weight
            for (low, _), weight in zip(self.heights, self.weights, strict=True)
        )

    @cached_property
    def edges(self) -> Words:
        """Where in 64 bits each block ends; beyond the last is the tail."""
        return np.array(np.cumsum(np.array(self.weights, dtype=object)), dtype=np.uint64)

    @cached_property
    def last_units(self) -> Words:
        """The last unit of each block; for the tail, which is all in doubt, its first."""
        return np.append(self.edges - np.uint64(1), self.edges[-1:])

    @cached_property
    def tail_weight(self) -> int:
        """The 64-bit share of the tail: all that the blocks leave."""
        return (1 << 64) - int(self.edges[-1])

    @cached_property
    def table(self) -> NDArray[np.int16]:
        """The block of every leading 16 bits.  Where these bits do not decide it, ``half`` or more:
        half plus the index of the first edge that may end it.  The last unit of a single integer is
        kept in part, so the bits must exclude it, too."""
        cells = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
        first = np.searchsorted(self.edges, cells, side="right")
        ends = self.edges - np.uint64(self.single)
        last = np.searchsorted(ends, cells | np.uint64((1 << 48) - 1), side="right")
        return (first + np.where(first == last, -self.half, self.half)).astype(np.int16)

    @cached_property
    def ceilings(self) -> Words:
        """The chance to keep a block's nearest point, rounded down to 2**-32, below 1."""
        return np.array(
            [
                min(low * self.mass * ONE // (weight << PRECISION), ONE - 1)
                for (low, _), weight in zip(self.heights, self.weights, strict=True)
            ],
            dtype=np.uint64,
        )

    @cached_property
    def slopes(self) -> Words:
        """How much the exponent grows linearly over a block, in units of 2**-32, rounded down."""
        step = ONE << self.width if self.width else 0  # a block of one integer has no slope
        if not self.law.quadratic:
            return np.full(len(self.nearest), int(self.law.linear * step), dtype=np.uint64)
        return np.array([int(self.law.slope(k) * step) for k in self.nearest], dtype=np.uint64)

    @cached_property
    def curve(self) -> int:
        """How much the exponent grows quadratically over a block, in the same units."""
        return int(self.law.quadratic * (ONE << 2 * self.width)) if self.width else 0

    @cached_property
    def growth(self) -> Fraction:
        """The most by which the exponent grows within a block."""
        reach = (1 << self.width) - 1
        return self.law.slope(self.nearest[0]) * reach + self.law.quadratic * reach**2

    @cached_property
    def margin(self) -> int:
        """How far the fixed-point bound may be from the truth, in units of 2**-32.

        The cubic leaves out less than growth**4 / 24.  Each term of the exponent is short by
        less than 2 units, and if a block is wider than 2**32 both by less than 1 more; the
        roundings of the square, the cube, the product and the ceiling are at most 1 each.
        """
        return int(self.growth**4 / 24 * ONE) + 16

    @cached_property
    def surely(self) -> int:
        """16-bit words below this keep a draw, whichever block and point it is."""
        lowest = int(min(self.ceilings)) * (1 - self.growth) - self.margin
        return max(0, int(lowest) >> 16)

    def keep(self, block: int, x: int) -> Enclosure:
        """The probability to keep x, drawn in this block."""
        weight = self.weights[block + self.half]
        exponent = self.law.exponent(x)

        def at(known: int) -> tuple[int, int]:
            # The ratio C / W may exceed 1 by far where f is small: it costs that many bits.
            extra = max(0, self.mass.bit_length() - weight.bit_length()) + 1
            low, high = exp_minus(exponent, known + extra)
            return low * self.mass // (weight << extra), -(-high * self.mass // (weight << extra))

        return at

    def keep_last(self, block: int) -> Enclosure:
        """The probability to keep the last unit of a single integer: C f - (W - 1)."""
        exponent, before = self.law.exponent(block), self.weights[block + self.half] - 1
        extra = self.mass.bit_length()

        def at(known: int) -> tuple[int, int]:
            low, high = exp_minus(exponent, known + extra)
            return (
                (low * self.mass >> extra) - (before << known),
                -(-high * self.mass >> extra) - (before << known),
            )

        return at

    def draw(self, entropy: Entropy) -> int | None:
        """One draw in exact integers of any size, or None if it was rejected."""
        block = int(np.searchsorted(self.edges, np.uint64(bits(entropy, 64)), side="right"))
        if block == 2 * self.half:
            return self.draw_tail(entropy)
        x = (block - self.half << self.width) + bits(entropy, self.width)
        return x if below(entropy, self.keep(block - self.half, x)) else None

    def draw_tail(self, entropy: Entropy) -> int | None:
        """One draw beyond the blocks, or None if it was rejected.

        With a the first point of the right tail, the envelope is geometric: exp(-E(a) -
        slope(a) y) >= f(a + y).  The left tail starts one further out, so it fits as well.
        """
        start = self.half << self.width
        y = geometric(self.law.slope(start), entropy)
        x = start + y if bits(entropy, 1) else ~(start + y)
        return x if below(entropy, self.keep_tail(x)) else None

    def keep_tail(self, x: int) -> Enclosure:
        """The probability to keep x, drawn beyond the blocks:
        exp(slope y - E(x)) * 2 C / (2**width * tail * (1 - exp(-slope))).

        It is at most 1: E is convex with E(a) >= 16, so the two envelopes weigh at most
        2 / (exp(16) - 1) of what lies between them, and ``TAIL`` is four times that.
        """
        start = self.half << self.width
        slope = self.law.slope(start)
        rest = self.law.exponent(x) - slope * (max(x, ~x) - start)
        # 1 - exp(-slope) is about the slope where that is small: it costs that many bits.
        extra = 64 + (slope.denominator // slope.numerator).bit_length()
        share = self.tail_weight << self.width

        def at(known: int) -> tuple[int, int]:
            low, high = exp_minus(rest, known + extra)
            gap_low, gap_high = (
                (1 << known + extra) - end for end in reversed(exp_minus(slope, known + extra))
            )
            return (
                (2 * self.mass * low << known) // (share * gap_high),
                -(-(2 * self.mass * high << known) // (share * gap_low)),
            )

        return at


def geometric(slope: Fraction, entropy: Entropy) -> int:
    """An integer y >= 0 with probability proportional to exp(-slope * y).

    A discrete Laplace variable is y or -y - 1, by a coin that is independent of y.
    """
    blocks = blocks_for(Law(slope, Fraction(0)))
    while True:
        x = blocks.draw(entropy)
        if x is not None:
            return x if x >= 0 else ~x


def _weights(law: Law, start: int, width: int, count: int) -> list[tuple[int, int]]:
    """Enclosures of f at start, start + width, ...: a product at each, in place of an exp."""
    value = exp_minus(law.exponent(start), PRECISION)
    ratio = exp_minus(law.slope(start) * width + law.quadratic * width**2, PRECISION)
    change = exp_minus(2 * law.quadratic * width**2, PRECISION)
    weights = []
    for _ in range(count):
        weights.append(value)
        value = _product(value, ratio)
        ratio = _product(ratio, change)
    return weights


def _product(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0] * b[0] >> PRECISION, (a[1] * b[1] >> PRECISION) + 1


@lru_cache(maxsize=256)
def blocks_for(law: Law) -> Blocks:
    """The tables for a law.  Scales are public, so keeping the tables reveals nothing; noise of a
    secret scale is not asked for here (``mechanisms/one_shot/secret_scale.py``)."""
    return Blocks(law)


@lru_cache(maxsize=256)
def laplace_blocks(scale: Fraction) -> Blocks:
    """The tables for a discrete Laplace law; small draws take no longer than to look a law up."""
    return blocks_for(Law.laplace(scale))


@lru_cache(maxsize=256)
def gaussian_blocks(variance: Fraction) -> Blocks:
    """The tables for a discrete Gaussian law."""
    return blocks_for(Law.gaussian(variance))
