"""Coins and choices for many candidates at once: exact, and a million take milliseconds.

Theorem      a candidate that is drawn by an envelope u_i >= w_i and kept with probability w_i / u_i
             is i with probability proportional to w_i
Noise        64 bits decide all but one coin in a million; a choice takes about 130 bits
Exactness    envelopes are whole numbers (``exponentials``), and whatever they leave open is decided
             by lazy comparison (``coin.below``) with the exact weight
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ameles.noise.arrays import BoolArray, IntArray, Words
from ameles.noise.coin import below, integer_below, words
from ameles.noise.enclosure import Enclosure, exp_minus
from ameles.noise.entropy import Entropy
from ameles.noise.exponentials import BITS, SLACK, enclosed

LARGEST_SHIFT = 63


def accept(entropy: Entropy, penalties: IntArray, rate: Fraction) -> BoolArray:
    """Independent coins, true with probability exp(-rate * k) for each penalty k >= 0."""
    given = penalties.astype(np.uint64)
    drawn = words(entropy, given.size)
    mantissas, powers = enclosed(given, rate)
    shifts = np.minimum(powers, LARGEST_SHIFT).astype(np.uint64)
    tops = drawn >> np.uint64(64 - BITS)
    heads = tops < mantissas >> shifts
    undecided = ~heads & (tops <= (mantissas + np.uint64(SLACK)) >> shifts)
    for i in np.flatnonzero(undecided):
        number = _exponential(rate * int(given[i]))
        heads[i] = below(entropy, number, prefix=int(drawn[i]), known=64)
    return heads


def pick(
    entropy: Entropy, penalties: IntArray, rate: Fraction, weights: IntArray | None = None
) -> int:
    """An index i with probability proportional to weights[i] * exp(-rate * penalties[i])."""
    given = penalties.astype(np.uint64)  # modulo 2**64, where every gap has its true size
    gaps = given - np.uint64(int(penalties.min()) % (1 << 64))
    envelope, best = _envelope(gaps, rate, weights)
    ends = np.cumsum(envelope)
    while True:
        drawn = integer_below(entropy, int(ends[-1]))
        index = int(np.searchsorted(ends, np.uint64(drawn), side="right"))
        weight = 1 if weights is None else int(weights[index])
        x, top = rate * int(gaps[index]), int(envelope[index])
        if below(entropy, _kept(weight, x, top << (best + 2))):
            return index


def _envelope(gaps: Words, rate: Fraction, weights: IntArray | None) -> tuple[Words, int]:
    """Whole numbers u_i below 2**31 and a power ``best``, with
    weight_i * exp(-rate * gap_i) * 2**(62 - best) <= u_i, and little less for the likely ones."""
    mantissas, powers = enclosed(gaps, rate)
    tops = mantissas + np.uint64(SLACK)
    if weights is not None:
        short = np.maximum(_lengths(weights.astype(np.uint64)) - BITS, 0)
        rounding = (np.uint64(1) << short.astype(np.uint64)) - np.uint64(1)
        tops *= weights.astype(np.uint64) + rounding >> short.astype(np.uint64)
        powers = powers - short
    lengths = _lengths(tops)
    best = int((lengths - powers).max())
    # tops * 2**-shift is below 2**31, because its length is at most best + powers
    shifts = powers + (best - BITS)
    left = np.clip(-shifts, 0, LARGEST_SHIFT).astype(np.uint64)
    right = np.clip(shifts, 0, LARGEST_SHIFT).astype(np.uint64)
    rounding = (np.uint64(1) << right) - np.uint64(1)
    return (tops << left) + rounding >> right, best


def _lengths(numbers: Words) -> IntArray:
    """How many bits each has; one more where the float next to it is the next power of 2."""
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64)


def _kept(weight: int, x: Fraction, envelope: int) -> Enclosure:
    """The number weight * exp(-x) * 2**64 / envelope."""

    def at(bits: int) -> tuple[int, int]:
        low, high = exp_minus(x, bits + 64)
        return weight * low // envelope, -(-weight * high // envelope)

    return at


def _exponential(x: Fraction) -> Enclosure:
    return lambda bits: exp_minus(x, bits)
