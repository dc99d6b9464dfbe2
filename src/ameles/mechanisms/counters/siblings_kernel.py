"""Compiled loops for wide Siblings counters, if numba is installed (the ``fast`` extra).

They are plain Python until numba compiles them.  They do in one pass over the counters what
numpy does in several, with the same integer operations, so the numbers are the same.
"""

from __future__ import annotations

from ameles.noise.arrays import IntArray

# Weights are multiples of 2**-SHIFT: fine enough to lose nothing, coarse enough not to overflow.
SHIFT = 12
HALF = 1 << SHIFT - 1

# This many counters at a time, whose line and slope stay in the fastest cache.
AT_A_TIME = 1024


def settle(
    rows: IntArray,
    lefts: IntArray,
    children: IntArray,
    pulls: IntArray,
    weights: IntArray,
    digit: int,
    line: IntArray,
    slope: IntArray,
) -> int:
    """What is fixed within a group of leaves, from the levels above it."""
    for start in range(0, line.size, AT_A_TIME):
        stop = min(start + AT_A_TIME, line.size)
        for i in range(start, stop):
            line[i] = HALF
            slope[i] = 0
        for level in range(lefts.size):
            left, right, below = rows[lefts[level]], rows[lefts[level] + 1], rows[children[level]]
            pull, weight = pulls[level], weights[level]
            for i in range(start, stop):
                residual = right[i] - left[i] - below[i]
                slope[i] += weight * residual
                line[i] += pull * residual + (left[i] << SHIFT)
        for i in range(start, stop):
            line[i] += digit * slope[i]
    return line.size


def release(line: IntArray, slope: IntArray, leaf: IntArray, out: IntArray) -> int:
    """The noise of a step; then the line goes one step up its slope."""
    for i in range(out.size):
        out[i] = (line[i] >> SHIFT) + leaf[i]
        line[i] += slope[i]
    return out.size
