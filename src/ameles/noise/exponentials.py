"""Many weights exp(-rate * k) at once, each enclosed in whole numbers.

A weight is given by a mantissa m of about 31 bits and a power p:

    m <= exp(-rate k) 2**(31 + p) <= m + SLACK

Each digit of k, of eight bits, has a table of such numbers; a weight is the product of one entry
of each table.  So a million different penalties need a few tables and no floats.  Penalties are
secret: which tables there are depends on the rate alone.

Exactness    an entry is below its number by at most 3.  A product of two of them, below by a and 3,
             is rounded down and below by at most a + 5, or twice that if it is shifted back to 31
             bits; after all eight digits that is at most 1654
Beyond       the power is at least ``FAINTEST`` where rate k is 400 or more; m + SLACK is then an
             upper bound only

>>> mantissas, powers = enclosed(np.array([0, 1, 5], dtype=np.uint64), Fraction(1, 2))
>>> (mantissas / 2.0 ** (31 + powers)).round(6).tolist()
[1.0, 0.606531, 0.082085]
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from ameles.noise.arrays import IntArray, Words
from ameles.noise.coin import LOG2_E
from ameles.noise.enclosure import exp_minus

BITS = 31  # two mantissas multiply within 64 bits
SLACK = 2048
DIGIT = 8
FAINT = 400  # from rate * k on, and 400 log2(e) is 577
FAINTEST = 512


def enclosed(penalties: Words, rate: Fraction) -> tuple[Words, IntArray]:
    """The mantissa and the power of exp(-rate * k) for each k of the penalties."""
    cap = min(int(FAINT / rate) + 1, (1 << 63) - 1)
    capped = np.minimum(penalties, np.uint64(cap)).astype(np.int64)
    mantissas, powers = _looked_up(capped, 0, rate)
    for place in range(DIGIT, cap.bit_length(), DIGIT):
        more, further = _looked_up(capped, place, rate)
        mantissas *= more
        mantissas >>= np.uint64(BITS)
        powers += further
        small = mantissas < np.uint64(1 << (BITS - 1))
        mantissas <<= small.astype(np.uint64)
        powers += small
    return mantissas, powers


def _looked_up(k: IntArray, place: int, rate: Fraction) -> tuple[Words, IntArray]:
    """What the digit at this place contributes."""
    mantissas, powers = _table(rate * (1 << place))
    digits = k >> place & (1 << DIGIT) - 1
    return mantissas[digits], powers[digits]


@lru_cache(maxsize=256)
def _table(rate: Fraction) -> tuple[Words, IntArray]:
    entries = [_entry(rate * k) for k in range(1 << DIGIT)]
    mantissas = np.array([mantissa for mantissa, _ in entries], dtype=np.uint64)
    return mantissas, np.array([power for _, power in entries], dtype=np.int64)


def _entry(x: Fraction) -> tuple[int, int]:
    if x >= 2 * FAINT:
        return 1 << BITS, FAINTEST  # an upper bound, which is all that is needed there
    power = int(x * LOG2_E)
    return exp_minus(x, BITS + power)[0], power
