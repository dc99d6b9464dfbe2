"""Arrays of integers in as few words as they need: 1, 2, 4 or 8 bytes for each.

>>> words = narrowed(np.array([3, -4, 100]))
>>> words.size, widened(words).tolist()
(3, [3, -4, 100])
"""

from __future__ import annotations

import numpy as np

from ameles.core.exceptions import StoreRefused
from ameles.noise.arrays import IntArray

KINDS = ("<i1", "<i2", "<i4", "<i8")


def narrowed(numbers: IntArray) -> IntArray:
    """The bytes for each number, how many there are, and all of them in words."""
    flat = numbers.reshape(-1)
    low, high = (int(flat.min()), int(flat.max())) if flat.size else (0, 0)
    kind = next(k for k in KINDS if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
    size = np.dtype(kind).itemsize
    words = np.zeros(2 + (flat.size * size + 7) // 8, dtype=np.int64)
    words[:2] = size, flat.size
    words[2:].view(kind)[: flat.size] = flat
    return words


def widened(words: IntArray) -> IntArray:
    """What ``narrowed`` took, flat."""
    size, count = words[:2].tolist() if words.size >= 2 else (0, 0)
    kind = next((k for k in KINDS if np.dtype(k).itemsize == size), None)
    if kind is None or not 0 <= count * size <= 8 * (words.size - 2):
        raise StoreRefused("This snapshot has an array that cannot be read.")
    numbers: IntArray = words[2:].view(kind)[:count].astype(np.int64)
    return numbers
