"""A compiled loop for wide Siblings counters, if numba is installed (the ``fast`` extra).

It is plain Python until numba compiles it.  It does in one pass over the counters what numpy
does in many, with the same integer operations, so the numbers are the same.
"""

from __future__ import annotations

import numpy as np

from ameles.noise.arrays import IntArray

# Weights are multiples of 2**-SHIFT: fine enough to lose nothing, coarse enough not to overflow.
SHIFT = 12
HALF = 1 << SHIFT - 1

# This many counters at a time: their part of a group stays in the cache.
AT_A_TIME = 512


def settle(
    rows: IntArray,
    leaves: int,
    lefts: IntArray,
    totals: IntArray,
    pulls: IntArray,
    slopes: IntArray,
) -> int:
    """Adds to the first ``leaves`` rows what the levels above add at each of these steps.

    A level's node has its sums in the rows ``left`` and ``left + 1``, and the total of its
    children in the row ``total``; its residual pulls by ``pull``, and ``slope`` more a step.
    """
    columns: int = rows.shape[1]
    line = np.empty(AT_A_TIME, dtype=np.int64)
    slope = np.empty(AT_A_TIME, dtype=np.int64)
    for start in range(0, columns, AT_A_TIME):
        end = start + AT_A_TIME
        line[:] = HALF
        slope[:] = 0
        for level in range(lefts.size):
            # A row before its columns: then the compiler knows that they lie side by side.
            left, right = rows[lefts[level]][start:end], rows[lefts[level] + 1][start:end]
            total, pull, steep = rows[totals[level]][start:end], pulls[level], slopes[level]
            for i in range(left.size):
                residual = right[i] - left[i] - total[i]
                line[i] += pull * residual + (left[i] << SHIFT)
                slope[i] += steep * residual
        for leaf in range(leaves):
            row = rows[leaf][start:end]
            for i in range(row.size):
                row[i] += line[i] >> SHIFT
                line[i] += slope[i]
    return columns
