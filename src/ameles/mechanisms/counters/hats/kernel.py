"""The last sums of wide Hats counters: a compiled loop if numba is installed (the ``fast`` extra).

It is plain Python until numba compiles it.  It does in one pass over the counters what numpy
does in many, with the same integer operations, so the numbers are the same.
"""

from __future__ import annotations

import math

import numpy as np

from ameles.noise.arrays import IntArray

# This many counters at a time: their part of a cell stays in the cache.
AT_A_TIME = 512
# The same for numpy, whose calls cost more.
ROW_AT_A_TIME = 8192


def settle(
    rows: IntArray,
    sums: IntArray,
    before: IntArray,
    factors: IntArray,
    lefts: IntArray,
    rights: IntArray,
    unit: int,
) -> int:
    """Turns the running sums of a cell's steps into the noise of each step, in place.

    ``sums`` are those of all levels, with their ``factors``; ``before`` is the sum of the single
    steps before the cell, and is brought forward to its end.  The residuals of the two hats of the
    first level's cell have a weight for each step, ``lefts`` and ``rights``.  All is in units of
    one over ``unit``, but single steps.
    """
    columns: int = rows.shape[1]
    base = np.empty(AT_A_TIME, dtype=np.int64)
    guess = 1 / unit
    for start in range(0, columns, AT_A_TIME):
        part, ends = rows[:, start : start + AT_A_TIME], before[start : start + AT_A_TIME]
        last = part[part.shape[0] - 1]
        for i in range(ends.size):
            base[i] = unit // 2 + ends[i] * unit
            ends[i] += last[i]
        for level in range(sums.shape[0]):
            for place in range(3):
                row, factor = sums[level, place, start : start + AT_A_TIME], factors[level, place]
                for i in range(row.size):
                    base[i] += factor * row[i]
        left = sums[0, 1, start : start + AT_A_TIME]
        right = sums[0, 2, start : start + AT_A_TIME]
        for step in range(rows.shape[0]):
            row, first, second = part[step], lefts[step], rights[step]
            for i in range(row.size):
                # Dividing takes longer than all else, so a float guesses; then whole numbers decide
                amount = base[i] + first * left[i] + second * right[i]
                whole = np.int64(math.floor(amount * guess))
                rest = amount - whole * unit
                while rest < 0:
                    rest += unit
                    whole -= 1
                while rest >= unit:
                    rest -= unit
                    whole += 1
                row[i] += whole
    return columns


def settle_rows(
    rows: IntArray,
    sums: IntArray,
    before: IntArray,
    factors: IntArray,
    lefts: IntArray,
    rights: IntArray,
    unit: int,
) -> int:
    """What the loop does, with numpy alone."""
    columns: int = rows.shape[1]
    weights = [*zip(lefts.tolist(), rights.tolist(), strict=True)]
    for start in range(0, columns, ROW_AT_A_TIME):
        part, ends = rows[:, start : start + ROW_AT_A_TIME], before[start : start + ROW_AT_A_TIME]
        near = sums[:, :3, start : start + ROW_AT_A_TIME]
        base = ends * unit
        base += unit // 2
        ends += part[-1]
        added, other = np.empty_like(base), np.empty_like(base)
        for level, amounts in zip(near, factors.tolist(), strict=True):
            for row, factor in zip(level, amounts, strict=True):
                if factor:
                    base += np.multiply(row, factor, out=added)
        _, left, right = near[0]
        for row, (first, second) in zip(part, weights, strict=True):
            np.multiply(left, first, out=added)
            np.multiply(right, second, out=other)
            added += other
            added += base
            added //= unit
            row += added
    return columns
