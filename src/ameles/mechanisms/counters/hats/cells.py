"""The cells of a counter of hats, step after step, in whole numbers.

The noise of a node of level l is a whole number of units of 1 / spans[l], and so is its residual:
(its noise) - (its hat's combination of the noises below), with whole weights.  While t is in cell J
of a level, the residuals of hats J and J + 1 are known and those before are summed up: all nodes
below the knot J + 2 have been drawn.  Entering a cell draws the nodes of the cell after the next.

The weights of all levels but the first change only at knots of the first, so the noise of a whole
cell of steps is found as the cell is entered: for many cells at once, or for one of many counters,
in place.

Sums wrap modulo 2**64 on the way, which is harmless: they are taken apart again, and the noise of a
release itself is small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ameles.mechanisms.counters.hats import kernel as hats_kernel
from ameles.mechanisms.counters.hats.draws import NodeDraws
from ameles.mechanisms.counters.hats.level import BEFORE, Level
from ameles.mechanisms.counters.hats.shape import HatsShape
from ameles.mechanisms.counters.hats.weights import BITS, WeightTables
from ameles.noise import kernels
from ameles.noise.arrays import IntArray
from ameles.noise.system import WORTH_COMPILING
from ameles.noise.threads import share

TOGETHER = 1 << 18  # numbers of many cells found at a time: few draws, which are slow to start
AT_A_TIME = 1 << 13  # numbers settled at a time, so that they stay in the cache
DRAWN = 1 << 18  # numbers of one cell drawn at a time: few draws, likewise


class HatsCells:
    """All levels of a counter, and the noise of the steps of its present cell."""

    _levels: list[Level]
    _sums: IntArray  # of all levels
    _next: IntArray  # running sums in the next cell
    _rows: IntArray  # the noise of the steps of this one

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._settle, self._add_up = hats_kernel.settle_rows, hats_kernel.add_up_rows
        self._compiled = columns >= WORTH_COMPILING and kernels.available()
        if self._compiled:
            self._settle = kernels.compiled(hats_kernel.settle)
            self._add_up = kernels.compiled(hats_kernel.add_up)
        self._t = 0
        self._before = np.zeros(columns, dtype=np.int64)  # the sum of single steps before the cell

    def _adopt(self, shape: HatsShape, nodes: NodeDraws, tables: WeightTables) -> None:
        """Takes the knots, the draws and the weights of a shape."""
        self._shape = shape
        self._nodes = nodes
        # what a residual of each level counts, and the weights of the cell's two hats in that unit
        self._units = shape.units
        self._tables = [
            (left * unit, right * unit)
            for (left, right), unit in zip(tables, self._units, strict=True)
        ]

    @property
    def _first(self) -> bool:
        """Whether no cell was entered yet."""
        return self._levels[0].cell == BEFORE

    def take(self, n: int) -> IntArray:
        k = self._shape.radices[0]
        if n == 1:
            place = self._place(self._t) % k
            if place == 0 or self._first:
                self._enter(1)
            self._t += 1
            return self._rows[place : place + 1]
        released = np.empty((n, self._columns), dtype=np.int64)
        self._write(released)
        return released

    def _write(self, released: IntArray) -> None:
        """Writes the noise of the next steps, one row a step."""
        k, n, done = self._shape.radices[0], len(released), 0
        most = max(1, TOGETHER // (self._columns * k))
        while done < n:
            place = self._place(self._t) % k
            if place and not self._first:  # the rest of the present cell
                part = self._rows[place : place + n - done]
            else:
                cells = min(most, -(-(place + n - done) // k))
                part = self._enter(cells)[place : place + n - done]
            released[done : done + len(part)] = part
            done += len(part)
            self._t += len(part)

    def _place(self, step: int) -> int:
        """A step's place on the grid of the first level's cells; its own place if that starts
        with the stream."""
        k = self._shape.radices[0]
        return step + (k - self._shape.offset if len(self._levels) == 1 else 0)

    def _enter(self, cells: int) -> IntArray:
        """Enters the next cells of the first level; returns the noise of their steps."""
        k, first = self._shape.radices[0], self._first
        if cells == 1 and not first:
            return self._enter_next()
        starts = self._t + k * np.arange(cells)
        if first:  # the first cell may start before the stream
            starts -= self._place(0) % k
        before = [level.cell for level in self._levels]
        after = self._shape.cells(max(int(starts[-1]), 0))
        fresh = self._nodes.between(before, after, starts, first=first)
        if first and self._shape.offset:
            self._flat(fresh)
        base = np.zeros((cells, self._columns), dtype=np.int64)
        for level in range(len(self._levels), 0, -1):
            one = self._levels[level - 1]
            count = after[level - 1] - one.cell
            width = self._shape.radices[level - 1]
            nodes = fresh[level - 1].reshape(count, width, self._columns)
            totals = self._running(nodes) if level == 1 else nodes.cumsum(axis=1)
            if count:
                own = one.own(count, fresh[level])
                falling, ends = np.einsum("ijk->ik", totals[-count:]), totals[-count:, -1]
                passed, residuals = one.enter(falling, ends, own, width)
            else:
                one.own(0, fresh[level])
                passed, residuals = one.sums[:1], one.sums[1:3]
            if level > 1:
                base = self._add(level, starts, passed, residuals, base)
        return self._finish(totals, starts, passed, residuals, base)

    def _enter_next(self) -> IntArray:
        """Enters one more cell, in place: wide counters are most of the memory."""
        shape, k, t = self._shape, self._shape.radices[0], self._t
        before, after = [level.cell for level in self._levels], shape.cells(t)
        present, self._next, self._rows = self._next, self._rows, self._next
        falling = self._fill(self._nodes.end(0, before))
        fresh = [
            self._nodes.draw(level, end, self._nodes.end(level, after) - end)
            for level in range(1, shape.levels)
            for end in [self._nodes.end(level, before)]
        ]
        factors = np.empty((len(self._levels), 3), dtype=np.int64)
        for level in range(len(self._levels), 0, -1):
            one = self._levels[level - 1]
            entered = after[level - 1] > one.cell
            own = one.own(int(entered), fresh[level - 1])
            if entered and level == 1:
                one.enter_next(falling, self._next[-1], own, k)
            elif entered:
                totals = fresh[level - 2].cumsum(axis=0)
                one.enter_next(totals.sum(axis=0), totals[-1], own, shape.radices[level - 1])
            left, right = self._tables[level - 1]
            digit = shape.digit(level, t)
            unit = self._units[level - 1] << BITS
            factors[level - 1] = (unit, left[digit], right[digit]) if level > 1 else (unit, 0, 0)
        lefts, rights = self._of_steps(np.array([t]))
        self._settle_cell(present, factors, lefts[:, 0], rights[:, 0])
        return present

    def _settle_cell(
        self, rows: IntArray, factors: IntArray, lefts: IntArray, rights: IntArray
    ) -> None:
        """Turns the running sums of a cell's steps into their noise, in place."""
        given = (rows, self._sums, self._before, factors, lefts, rights, self._shape.unit << BITS)
        self._over_columns(lambda first, end: self._settle(*given, first, end))

    def _fill(self, first: int) -> IntArray:
        """Draws the single steps of the cell after this one as running sums, some counters at a
        time; returns the sum of the running sums."""
        rows, falling = self._next, np.zeros(self._columns, dtype=np.int64)
        if not self._nodes.any_order:
            self._add_up(self._nodes.draw(0, first, len(rows)), rows, falling, 0)
            return falling
        at_a_time = max(1, DRAWN // len(rows))

        def fill(begin: int, end: int) -> None:
            for start in range(begin, end, at_a_time):
                columns = min(at_a_time, end - start)
                drawn = self._nodes.draw_columns(0, first, len(rows), columns)
                self._add_up(drawn, rows, falling, start)

        self._over_columns(fill)
        return falling

    def _over_columns(self, work: Callable[[int, int], object]) -> None:
        """Does some work for all counters; threads share it if it is compiled, since calls of numpy
        are so short that threads would mostly wait for each other."""
        if self._compiled:
            share(work, self._columns)
        else:
            work(0, self._columns)

    def _of_steps(self, starts: IntArray) -> tuple[IntArray, IntArray]:
        """The weights of the two hats at each step of cells, by step and cell."""
        k = self._shape.radices[0]
        left, right = self._tables[0]
        if len(self._levels) > 1 or not self._shape.by_place:
            return left[:, None], right[:, None]
        places = np.clip(starts + np.arange(k)[:, None], 0, len(left) - 1)
        return left[places], right[places]

    def _finish(
        self,
        totals: IntArray,
        starts: IntArray,
        passed: IntArray,
        residuals: IntArray,
        base: IntArray,
    ) -> IntArray:
        """The noise of each step of the entered cells, given their running sums."""
        cells, unit = len(starts), self._shape.unit << BITS
        # before the first step two cells are skipped, of which the one had no steps
        rows = totals[-cells - 1 : -1]
        self._next[:] = totals[-1]
        ends = np.cumsum(rows[:, -1], axis=0)
        ends += self._before
        # the sums before the cell belong to the base: then it is as small as the noise itself
        base[0] += self._before * unit
        base[1:] += ends[:-1] * unit
        self._before[:] = ends[-1]
        base += passed[-cells:] * (self._units[0] << BITS)
        base += unit // 2
        hats = residuals[-cells - 1 : -1, None], residuals[-cells:, None]
        size = max(1, AT_A_TIME // rows[0].size)
        weights = [one.T[:, :, None] for one in self._of_steps(starts)]
        same = len(weights[0]) == 1
        if same:  # in all cells; multiplying by what lies in a row is quicker
            weights = [np.repeat(one, min(size, cells), axis=0) for one in weights]
        for start in range(0, cells, size):
            part = slice(start, min(start + size, cells))
            lefts, rights = (one[: part.stop - start] if same else one[part] for one in weights)
            added = hats[0][part] * lefts
            added += hats[1][part] * rights
            added += base[part, None]
            added //= unit
            rows[part] += added
        self._rows[:] = rows[-1]
        released: IntArray = rows.reshape(-1, self._columns)
        return released

    def _running(self, cells: IntArray) -> IntArray:
        """The sums of the first, the first two, ... noises of the next cell and those after it."""
        totals = np.empty((len(cells) + 1, *self._next.shape), dtype=np.int64)
        totals[0] = self._next
        if self._columns <= len(self._next):  # one long sum is quicker than many short ones
            flat = totals[1:].reshape(-1, self._columns)
            np.cumsum(cells.reshape(-1, self._columns), axis=0, out=flat)
            totals[2:] -= totals[1:-1, -1:].copy()
            return totals
        totals[1:, 0] = cells[:, 0]
        for place in range(1, len(self._next)):
            np.add(totals[1:, place - 1], cells[:, place], out=totals[1:, place])
        return totals

    def _add(
        self, level: int, starts: IntArray, passed: IntArray, residuals: IntArray, above: IntArray
    ) -> IntArray:
        """What this level and those above it add in each cell of the level below, given what those
        above add in each cell of this one."""
        shape, below = self._shape, self._shape.spans[level - 1]
        cells = np.arange(int(starts[0]) // below, int(starts[-1]) // below + 1)
        places = cells * below
        index = shape.cell(level, places) + (len(passed) - 1 - self._levels[level - 1].cell)
        digit = shape.digit(level, places)
        left, right = (weights.take(digit)[:, None] for weights in self._tables[level - 1])
        added: IntArray = passed.take(index, axis=0) * (self._units[level - 1] << BITS)
        added += residuals.take(index, axis=0) * left
        added += residuals.take(index + 1, axis=0) * right
        if level < len(self._levels):
            cells //= shape.radices[level - 1]
            added += above.take(cells - cells[0], axis=0)
        return added

    def _flat(self, fresh: list[IntArray]) -> None:
        """Before its first knot the first hat of the top level is flat: all nodes there count."""
        shape, top = self._shape, self._levels[-1]
        below = len(self._levels) - 1
        flat, fresh[below] = np.split(fresh[below], [shape.offset])
        top.sums[3] = flat.sum(axis=0) * shape.radices[-1]
        if below:
            self._levels[-2].waiting = flat
        else:
            np.cumsum(flat, axis=0, out=self._next[len(self._next) - shape.offset :])
