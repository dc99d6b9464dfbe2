"""The inputs of one-shot mechanisms: whole numbers that fit into 64 bits, and no floats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.mechanisms.clamped import reports
from ameles.mechanisms.stepped import integer
from ameles.noise.arrays import IntArray
from ameles.noise.sampler import wrapped

LARGEST_SCORE = 1 << 60


def numbers(x: object, width: int | None) -> IntArray:
    """One number (``width`` None) or exactly ``width`` of them; the error reveals no value.

    >>> numbers(7, None), numbers([1, 2], 2)
    (array([7]), array([1, 2]))
    """
    if width is None:
        return np.array([wrapped(integer(x, "number"))], dtype=np.int64)
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "iu" or x.shape != (width,):
            raise _not(width, f"an array of {x.dtype} with shape {x.shape}")
        return x.astype(np.int64)
    if not isinstance(x, list | tuple) or len(x) != width:
        raise _not(width, f"a {type(x).__name__}")
    return np.array([wrapped(integer(one, "number")) for one in x], dtype=np.int64)


def rows_of(x: object, rows: int, largest: int) -> IntArray:
    """One number of each of a public number of rows, clamped to 0 to ``largest``.

    A row that is no whole number counts as 0: a refusal would tell that somebody has one.

    >>> rows_of([3, None, 10**30], 3, 9)
    array([3, 0, 9])
    """
    return reports(x, 0, largest, count=rows, refuse=partial(_not, rows))[0]


def grid_units(x: object, width: int | None, granularity: Fraction) -> IntArray:
    """Exact real numbers as the nearest multiples of the granularity; half of it is rounded up.

    >>> grid_units(Fraction(7, 2), None, Fraction(1))
    array([4])
    >>> grid_units([1, Fraction(1, 3)], 2, Fraction(1, 4))
    array([4, 1])
    """
    given: Sequence[object] = [x]
    if width is not None:
        listed = x.tolist() if isinstance(x, np.ndarray) and x.ndim == 1 else x
        if not isinstance(listed, list | tuple) or len(listed) != width:
            raise _not(width, f"a {type(x).__name__}")
        given = listed
    return np.array([wrapped(_unit(one, granularity)) for one in given], dtype=np.int64)


def _unit(x: object, granularity: Fraction) -> int:
    value = x if isinstance(x, Fraction) else integer(x, "number")
    return math.floor(value / granularity + Fraction(1, 2))


def scores(x: object, width: int) -> IntArray:
    """The scores of ``width`` candidates, each clamped to -2**60 to 2**60.

    Clamping never moves the scores of neighbours further apart and keeps their direction, so it
    costs nothing.  A refusal would depend on the data, and wrapping would turn best into worst.

    >>> scores([3, -8, 2**70], 3).tolist() == [3, -8, 2**60]
    True
    """
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "iu" or x.shape != (width,):
            raise _not(width, f"an array of {x.dtype} with shape {x.shape}")
        if x.dtype.kind == "u":
            return np.minimum(x, np.uint64(LARGEST_SCORE)).astype(np.int64)
        return np.clip(x.astype(np.int64), -LARGEST_SCORE, LARGEST_SCORE)
    if not isinstance(x, list | tuple) or len(x) != width:
        raise _not(width, f"a {type(x).__name__}")
    whole = [integer(one, "score") for one in x]
    kept = [max(-LARGEST_SCORE, min(one, LARGEST_SCORE)) for one in whole]
    return np.array(kept, dtype=np.int64)


def counts_of_keys(x: object, most: int) -> IntArray:
    """A list of counts, one for each key that occurs, each clamped to 0 to ``most``.

    >>> counts_of_keys([3, -1, 2**70], 100).tolist()
    [3, 0, 100]
    """
    if isinstance(x, np.ndarray) and x.dtype.kind in "iu" and x.ndim == 1:
        wide = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
        return np.maximum(np.minimum(wide, wide.dtype.type(most)), 0).astype(np.int64)
    if not isinstance(x, list | tuple):
        raise BadInput(
            f"The input must be a list of counts, one for each key. Got a {type(x).__name__} "
            "instead."
        )
    return np.array([max(0, min(integer(n, "count"), most)) for n in x], dtype=np.int64)


def added_noise(x: IntArray, noise: IntArray, width: int | None) -> int | IntArray:
    """The numbers with their noise, modulo 2^64: an overflow error would depend on the data."""
    noisy = x + noise
    return int(noisy[0]) if width is None else noisy


def _not(width: int, got: str) -> BadInput:
    return BadInput(
        f"The input must be {width} whole numbers. Got {got} instead.",
        why="nothing private may meet a float: its rounding can leak",
        tip="a list or an array of integers; real values on a grid of your choice",
    )
