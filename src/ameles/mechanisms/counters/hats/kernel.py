"""The sums of wide Hats counters: compiled loops if numba is installed (the ``fast`` extra).

They are plain Python until numba compiles them.  They do in one pass over the counters what numpy
does in many, with the same integer operations, so the numbers are the same.  A row is taken before
its columns, as in ``rows[step][start:end]``: then the compiler knows that the columns lie side by
side, and adds eight at a time.
"""

from __future__ import annotations

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
    first: int,
    end: int,
) -> int:
    """Turns the running sums of a cell's steps into the noise of each step, in place, for the
    counters from ``first`` to ``end``.

    ``sums`` are those of all levels, with their ``factors``; ``before`` is the sum of the single
    steps before the cell, and is brought forward to its end.  The residuals of the two hats of the
    first level's cell have a weight for each step, ``lefts`` and ``rights``.  All is in units of
    one over ``unit``, but single steps.
    """
    base = np.empty(AT_A_TIME, dtype=np.int64)
    guess = 1 / unit
    for start in range(first, end, AT_A_TIME):
        stop = min(start + AT_A_TIME, end)
        ends, last = before[start:stop], rows[rows.shape[0] - 1][start:stop]
        for i in range(ends.size):
            base[i] = unit // 2 + ends[i] * unit
            ends[i] += last[i]
        for level in range(sums.shape[0]):
            for place in range(3):
                row, factor = sums[level][place][start:stop], factors[level, place]
                for i in range(row.size):
                    base[i] += factor * row[i]
        left, right = sums[0][1][start:stop], sums[0][2][start:stop]
        for step in range(rows.shape[0]):
            row, falling, rising = rows[step][start:stop], lefts[step], rights[step]
            for i in range(row.size):
                # Dividing takes longer than all else, so a float guesses: within 4, as the quotient
                # is below 2**53; then again, within 1; then whole numbers decide.
                amount = base[i] + falling * left[i] + rising * right[i]
                most = np.int64(amount * guess)
                rest = amount - most * unit
                more = np.int64(rest * guess)
                rest -= more * unit
                row[i] += most + more + (rest >> 63) + np.int64(rest >= unit)
    return end


def add_up(drawn: IntArray, rows: IntArray, falling: IntArray, start: int) -> int:
    """Writes the running sums of drawn rows into the columns of ``rows`` from ``start`` on, and
    adds all these sums to ``falling`` there."""
    end: int = start + drawn.shape[1]
    total, sums = np.zeros(drawn.shape[1], dtype=np.int64), falling[start:end]
    for step in range(drawn.shape[0]):
        fresh, row = drawn[step], rows[step][start:end]
        for i in range(total.size):
            total[i] += fresh[i]
            row[i] = total[i]
            sums[i] += total[i]
    return end


def add_up_rows(drawn: IntArray, rows: IntArray, falling: IntArray, start: int) -> int:
    """What the loop does, with numpy alone."""
    end: int = start + drawn.shape[1]
    part, sums = rows[:, start:end], falling[start:end]
    part[0] = drawn[0]
    for before, fresh, row in zip(part, drawn[1:], part[1:], strict=False):
        np.add(before, fresh, out=row)
    for row in part:
        sums += row
    return end


def settle_rows(
    rows: IntArray,
    sums: IntArray,
    before: IntArray,
    factors: IntArray,
    lefts: IntArray,
    rights: IntArray,
    unit: int,
    first: int,
    end: int,
) -> int:
    """What the loop does, with numpy alone."""
    together = max(1, ROW_AT_A_TIME // (end - first))  # rows of few counters
    for start in range(first, end, ROW_AT_A_TIME):
        stop = min(start + ROW_AT_A_TIME, end)
        part, ends, near = rows[:, start:stop], before[start:stop], sums[:, :3, start:stop]
        base = ends * unit
        base += unit // 2
        ends += part[-1]
        added, other = np.empty((2, together, len(base)), dtype=np.int64)
        for level, amounts in zip(near, factors.tolist(), strict=True):
            for row, factor in zip(level, amounts, strict=True):
                if factor:
                    base += np.multiply(row, factor, out=added[0])
        _, left, right = near[0]
        for row in range(0, len(part), together):
            some = slice(row, row + together)
            step, more = added[: len(part[some])], other[: len(part[some])]
            np.multiply(lefts[some, None], left, out=step)
            np.multiply(rights[some, None], right, out=more)
            step += more
            step += base
            step //= unit
            part[some] += step
    return end
