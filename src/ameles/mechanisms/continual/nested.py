"""A snapshot within a snapshot: bytes as 64-bit integers, and back.

>>> unnested(nested(b"a state of 23 bytes, say"))
b'a state of 23 bytes, say'
"""

from __future__ import annotations

import numpy as np

from ameles.noise.arrays import IntArray


def nested(snapshot: bytes) -> tuple[IntArray, IntArray]:
    """The length of a snapshot, and its bytes with zeros up to a whole number of integers."""
    padded = np.frombuffer(snapshot + bytes(-len(snapshot) % 8), "<i8").astype(np.int64)
    return np.array([len(snapshot)], dtype=np.int64), padded


def unnested(parts: tuple[IntArray, ...]) -> bytes:
    """The snapshot that ``nested`` was given."""
    length, padded = parts
    return padded.astype("<i8").tobytes()[: int(length[0])]
