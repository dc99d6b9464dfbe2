"""Coins with exact bias: lazy comparison of a uniform real with a number.

Theorem      a uniform real U is below p with probability p
Noise        as many random bits as it takes: 64 decide all but one draw in 2**62
Exactness    more bits are drawn until the comparison is decided; nothing is truncated

A number is given as an enclosure, so p may be rational or exp(-gamma).  The same lazy
comparison decides the rejection steps of the samplers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import prod
from typing import SupportsIndex

import numpy as np

from ameles.core.noise import Shape
from ameles.core.parameters import whole
from ameles.noise.arrays import BoolArray, IntArray, Words
from ameles.noise.enclosure import Enclosure, exp_minus
from ameles.noise.entropy import Entropy


def words(entropy: Entropy, count: int) -> Words:
    """``count`` uniform 64-bit integers."""
    return np.frombuffer(entropy.read(8 * count), dtype="<u8")


def bits(entropy: Entropy, count: int) -> int:
    """A uniform integer of ``count`` bits."""
    length = -(-count // 8)
    return int.from_bytes(entropy.read(length), "little") >> (8 * length - count)


def below(entropy: Entropy, number: Enclosure, *, prefix: int = 0, known: int = 0) -> bool:
    """Whether a uniform real, whose first ``known`` bits are ``prefix``, is below ``number``."""
    while True:
        low, high = number(known)
        if prefix < low:
            return True
        if prefix >= high:
            return False
        prefix = prefix << 64 | bits(entropy, 64)
        known += 64


def flips(entropy: Entropy, number: Enclosure, size: Shape) -> BoolArray:
    """Independent coins, each true with probability ``number``."""
    drawn = words(entropy, count_of(size))
    low, high = number(64)
    # low and high may be 2**64 itself, which no word can be compared with.
    heads = drawn < np.uint64(low) if low < 1 << 64 else np.ones(drawn.shape, dtype=np.bool_)
    if low < high:
        undecided = ~heads if high == 1 << 64 else ~heads & (drawn < np.uint64(high))
        for i in np.flatnonzero(undecided):
            heads[i] = below(entropy, number, prefix=int(drawn[i]), known=64)
    return heads.reshape(size)


def uniform(entropy: Entropy, n: int, size: Shape) -> IntArray:
    """Uniform integers from 0 to n - 1, for n up to 2**63."""
    count = count_of(size)
    # The largest multiple of n that 64 bits hold; words from there on would favour small values.
    fair = (1 << 64) // n * n
    drawn = np.empty(count, dtype=np.uint64)
    pending = np.arange(count)
    while pending.size:
        fresh = words(entropy, pending.size)
        drawn[pending] = fresh
        pending = pending[fresh >= np.uint64(fair)] if fair < 1 << 64 else pending[:0]
    return (drawn % np.uint64(n)).astype(np.int64).reshape(size)


# More numbers than any memory holds.
MOST = 1 << 40
# exp(-x) <= 2**-floor(x * LOG2_E) for this lower bound on log2(e).
LOG2_E = Fraction(1442695040, 10**9)
# Weights below 2**-FAINTEST share one envelope: rejected more often, but never wrongly.
FAINTEST = 128


def choose(entropy: Entropy, gammas: Sequence[Fraction]) -> int:
    """An index i with probability exactly proportional to exp(-gammas[i]).

    Envelope: the weight exp(-x) of a candidate that is x worse than the best is at most
    2**-k with k = floor(x log2 e), and about half of it or more, unless it is faint.
    Candidates are drawn by these powers of two, in integers, and kept with probability
    exp(-x) 2**k.
    """
    best = min(gammas)
    powers = [min(int((gamma - best) * LOG2_E), FAINTEST) for gamma in gammas]
    ends = list(accumulate(1 << (FAINTEST - k) for k in powers))
    while True:
        index = bisect_right(ends, integer_below(entropy, ends[-1]))
        if below(entropy, _scaled_exp(gammas[index] - best, powers[index])):
            return index


def _scaled_exp(x: Fraction, k: int) -> Enclosure:
    """The number exp(-x) * 2**k."""
    return lambda known: exp_minus(x, known + k)


def integer_below(entropy: Entropy, n: int) -> int:
    """A uniform integer from 0 to n - 1, for n of any size."""
    length = n.bit_length()
    while True:
        drawn = bits(entropy, length)
        if drawn < n:
            return drawn


def count_of(size: Shape) -> int:
    """How many numbers an array of this shape holds; anything that is not a shape is refused."""
    sides = size if isinstance(size, tuple) else (size,)
    count = prod([_side(side) for side in sides])
    return _side(count)


def _side(side: SupportsIndex) -> int:
    if type(side) is int and 0 <= side <= MOST:  # the usual case; every small draw comes here
        return side
    return whole(side, "size", low=0, high=MOST)
