"""Whole numbers that people report, as an array, clamped to a range.

A refusal would tell that somebody reported nonsense, so every whole number is taken, however large;
only the kind and the shape of the whole input are checked, and a message names no value.

>>> clamped([3, -9, 10**30], 0, 5, refuse=ValueError)
array([3, 0, 5])
>>> clamped([0.5], 0, 5, refuse=ValueError)
Traceback (most recent call last):
ValueError: an array of float64 with shape (1,)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ameles.noise.arrays import IntArray


def clamped(x: object, low: int, high: int, *, refuse: Callable[[str], Exception]) -> IntArray:
    """The numbers within ``low`` and ``high``; ``refuse`` makes the error for what is none."""
    if isinstance(x, str | bytes | set | frozenset | dict) or not hasattr(x, "__len__"):
        raise refuse(f"a {type(x).__name__}")
    try:
        given = np.asarray(x)
    except ValueError:
        raise refuse("rows of different lengths") from None
    if given.dtype.kind == "b":  # yes and no are 1 and 0
        given = given.astype(np.int64)
    if given.dtype.kind in "iu":
        held = np.iinfo(given.dtype)
        ends = (given.dtype.type(min(max(end, held.min), held.max)) for end in (low, high))
        return np.asarray(np.clip(given, *ends), dtype=np.int64)
    # numpy reads integers of more than 64 bits as objects or as floats
    objects = np.asarray(x, dtype=object)
    if given.size and all(type(one) is int for one in objects.flat):
        numbers = [min(max(one, low), high) for one in objects.flat]
        return np.array(numbers, dtype=np.int64).reshape(objects.shape)
    if not given.size:
        return np.zeros(given.shape, dtype=np.int64)
    raise refuse(f"an array of {given.dtype} with shape {given.shape}")
