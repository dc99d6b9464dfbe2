"""Seeded draws for made-up people: the same seed gives the same season, on any machine.

They are deterministic on purpose, so they must never be used as noise: whoever knows the seed knows
them all.  The project's noise comes from the operating system, and the generators of ``random`` and
``numpy.random`` are banned so that nobody takes one for the other.  Here a hash function with an
output of any length (SHAKE-256) is asked for the bytes of each purpose and block, so a block can be
made without those before it.
"""

from __future__ import annotations

import hashlib
import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float64]


def words(seed: int, purpose: str, block: int, *, rows: int, each: int) -> Words:
    """``each`` arrays of ``rows`` uniform words of 64 bits.

    >>> one, two = words(7, "visits", 0, rows=2, each=2)
    >>> one.shape, bool((one == words(7, "visits", 0, rows=2, each=2)[0]).all())
    ((2,), True)
    """
    asked = f"ameles.simulate/{seed}/{purpose}/{block}".encode()
    stream = hashlib.shake_256(asked).digest(8 * rows * each)
    # Little-endian by name, so that the byte order of the machine does not matter.
    drawn = np.frombuffer(stream, dtype="<u8").astype(np.uint64, copy=False)
    return drawn.reshape(each, rows)


def low(drawn: Words) -> Floats:
    """The lower half of each word, as a number from 0 up to 1."""
    return (drawn & np.uint64(0xFFFFFFFF)).astype(np.float64) / 2.0**32


def high(drawn: Words) -> Floats:
    """The upper half of each word, as a number from 0 up to 1."""
    return (drawn >> np.uint64(32)).astype(np.float64) / 2.0**32


def bell(drawn: Words) -> Floats:
    """Nearly normal, with mean 0 and deviation 1: the sum of the four quarters of each word.

    Sums and products are the same on every machine; logarithms and cosines are not.
    """
    quarters = np.zeros(drawn.shape)
    for place in (0, 16, 32, 48):
        quarters += (drawn >> np.uint64(place)) & np.uint64(0xFFFF)
    return (quarters - 2 * 65535) * (math.sqrt(3) / 65536)


def scattered(numbers: Words, key: int) -> Words:
    """A fixed property of each number: one uniform word, always the same for the same number.

    It is the finalizer of SplitMix64, which maps different numbers to different words.
    """
    mixed = numbers + np.uint64(key)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def along(places: Floats, knots: Floats, values: Floats) -> Floats:
    """The line through some points, at some places.

    It does what ``numpy.interp`` does, which rounds once on some processors and twice on others.
    """
    left = np.clip(np.searchsorted(knots, places, side="right") - 1, 0, len(knots) - 2)
    slope = np.diff(values) / np.diff(knots)
    rise: Floats = slope[left] * (places - knots[left])
    return values[left] + rise
