"""Gradients of a logistic regression, in whole numbers: one person's depends on no other's.

A row's gradient must be a function of that row and of published weights alone.  Floats cannot
promise that: a matrix product may add in another order when another row is missing, and the last
bit of everybody's gradient then depends on who else is in the batch.  Here a row is put on a grid,
number by number; from there on everything is exact in integers.  The logistic function is a public
table.

Units        a row, with its constant, is at most 2^16 long in L2; a probability is a share of 2^16;
             scores look up the table in steps of 2^-10
Clipping     a user's gradients of one step are added up and cut to length ``GRID`` in L2, towards
             zero: with n at least the length of g, the numbers |g_i| GRID // n are no longer than
             GRID together.  Long vectors are divided before their squares are added, so that the
             sum fits into 64 bits

>>> rows = rows_of([[3.0, 4.0], ["?", float("nan")]], 2)  # what is no number counts as zero
>>> rows.tolist()[1] == [0, 0, UNIT]
True
>>> clipped(np.array([[3 << 40, -(4 << 40)], [ONE // 2, 0]])).tolist()
[[39321, -52428], [32768, 0]]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.noise.arrays import IntArray

Floats: TypeAlias = NDArray[np.float64]
GRID = 1 << 16  # the length of the longest clipped gradient
UNIT = 1 << 16  # the length of a row, and the probability 1
ONE = UNIT * UNIT  # the length of the longest gradient of one row
STEPS = 10  # scores look up the table in steps of 2^-10
FARTHEST = 16 << STEPS  # and no farther than 16
WEIGHT = 16  # weights are taken in units of 2^-16
LARGEST_WEIGHT = 1 << 28
SHORT = 20  # so many bits of a number are squared


def rows_of(x: Any, features: int) -> IntArray:
    """Rows on the grid, a constant beside them, with at most length ``UNIT`` in L2.

    Numbers are meant to be from -1 to 1: a row with larger ones is divided by its largest.
    """
    numbers = _table(x, features)
    # what is no number counts as zero: a refusal would tell that somebody has such a row
    numbers = np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0)
    numbers = numbers / np.maximum(1.0, np.abs(numbers).max(axis=1, keepdims=True, initial=0.0))
    rows = np.rint(numbers * UNIT).astype(np.int64)
    rows = np.column_stack([rows, np.full(len(rows), UNIT, dtype=np.int64)])
    return _shrunk(rows, UNIT, _length(rows))


def _table(x: Any, features: int) -> Floats:
    if isinstance(x, list | tuple):  # read one by one: a record must not change how others are read
        return _rows(x, features)
    try:
        table = np.asarray(x)
    except ValueError:
        raise _not_a_table(features, "rows of different lengths") from None
    if not table.size and table.ndim < 2:  # an empty list has no rows
        table = table.reshape(0, features)
    if table.ndim != 2 or table.shape[1] != features:
        raise _not_a_table(features, f"an array with shape {table.shape}")
    if table.dtype.kind in "biuf":
        return table.astype(np.float64)
    # read again one by one: a text in one row must not change how others are read
    each = [_number(one) for one in np.asarray(x, dtype=object).flat]
    return np.array(each, dtype=np.float64).reshape(table.shape)


def _rows(x: Sequence[Any], features: int) -> Floats:
    """A row for each record; one of another length has nothing but what is no number."""
    table = np.full((len(x), features), math.nan)
    for place, one in enumerate(x):
        cells = one.tolist() if type(one) is np.ndarray and one.ndim == 1 else one
        if issubclass(type(cells), list | tuple) and len(cells) == features:
            table[place] = [_number(cell) for cell in cells]
    return table


def _number(one: Any) -> float:
    if issubclass(type(one), np.ndarray | complex | np.complexfloating):
        return math.nan  # numpy would warn
    try:
        return float(one)
    except Exception:  # whatever it is, an error would tell
        return math.nan


def _not_a_table(features: int, got: str) -> BadInput:
    return BadInput(f"Rows must be a table with {features} columns. Got {got} instead.")


def scores_of(rows: IntArray, weights: Floats) -> IntArray:
    """The score of each row, in units of 2^-32, from weights that are public."""
    whole = np.rint(np.ldexp(np.nan_to_num(weights), WEIGHT))
    return np.asarray(rows @ np.clip(whole, -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.int64))


def gradients_of(rows: IntArray, second: IntArray, weights: Floats) -> IntArray:
    """The gradient of each row, in units of 2^-32; ``second`` is 1 for the second class."""
    places = np.clip(scores_of(rows, weights) >> (16 + WEIGHT - STEPS), -FARTHEST, FARTHEST)
    return np.asarray((_probabilities()[places + FARTHEST] - UNIT * second)[:, None] * rows)


@cache
def _probabilities() -> IntArray:
    """The logistic function at all places of the table, in units of 2^-16."""
    scores = np.arange(-FARTHEST, FARTHEST + 1) / (1 << STEPS)
    return np.rint(UNIT / (1 + np.exp(-scores))).astype(np.int64)


def clipped(sums: IntArray) -> IntArray:
    """Each row of sums of gradients with at most length ``GRID``, in units of one over it."""
    short = _divided(sums, ONE >> SHORT)
    times = 1 + (np.abs(short).max(axis=1, keepdims=True, initial=0) >> SHORT)
    short = _divided(short, times)
    whole = np.where(times > 1, 1, 1 << SHORT)  # a vector that had to be divided is too long
    return _shrunk(short, GRID, np.maximum(_length(short), whole))


def _shrunk(vectors: IntArray, size: int, lengths: IntArray) -> IntArray:
    """Vectors of these lengths at most, made to be at most so long, towards zero."""
    return np.asarray(np.sign(vectors) * (np.abs(vectors) * size // lengths))


def _divided(vectors: IntArray, by: IntArray | int) -> IntArray:
    return np.asarray(np.sign(vectors) * (np.abs(vectors) // by))


def _length(vectors: IntArray) -> IntArray:
    """The length of each in L2, rounded up; certain in integers."""
    squares = (vectors * vectors).sum(axis=1, keepdims=True)
    lengths = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    for _ in range(2):  # a float's root is off by one at most, and is then rounded up
        lengths += lengths * lengths < squares
    return np.asarray(lengths)
