"""The noise of Hats without an end: a stretch between two knots of the top level after the other.

Within a stretch the lower levels go from cell to cell, as in ``cells``, and the top level
stays in one cell.  Where a stretch starts, the top level goes on: it needs the residual of the
knot where the stretch ends, whose hat reaches over the next one.  So all nodes of the next stretch
on its highest level below the top are drawn now.  If that level is born there, its first hat is
prepared, too: the nodes of its first cell are drawn.  So every level draws its nodes in order.

The first stretches have no level between single steps and the top.  Their noise is found whole.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.hats.cells import HatsCells
from ameles.mechanisms.counters.hats.draws import NodeDraws
from ameles.mechanisms.counters.hats.endless_shape import EndlessShape
from ameles.mechanisms.counters.hats.endless_weights import stretch_tables
from ameles.mechanisms.counters.hats.level import Level
from ameles.mechanisms.counters.hats.stretch import StretchShape
from ameles.mechanisms.counters.hats.weights import BITS
from ameles.noise.arrays import IntArray


class EndlessProcess(HatsCells):
    """All levels of the present stretch, and the one that is born with the next."""

    _unborn: Level | None = None

    def __init__(
        self,
        noise: Noise,
        shape: EndlessShape,
        scale: Fraction,
        columns: int,
        state: IntArray | None,
    ) -> None:
        super().__init__(columns)
        self._noise = noise
        self._endless = shape
        self._scale = scale
        self._number = -1  # of the present stretch; places are counted from its start
        self._levels = [Level(np.zeros((4, columns), dtype=np.int64))]
        self._next = self._rows = np.zeros((0, columns), dtype=np.int64)
        if state is not None and state[0]:
            self._restore(state)

    def state(self) -> IntArray:
        levels = [*self._levels, *([self._unborn] if self._unborn else [])]
        parts = [self._before, self._next, self._rows]
        parts += [part for level in levels for part in (level.sums, level.waiting)]
        start = self._endless.stretch(self._number).start if self._number >= 0 else 0
        return np.concatenate([np.array([start + self._t]), *(part.reshape(-1) for part in parts)])

    def take(self, n: int) -> IntArray:
        if n == 1:
            self._turn_if_due()
            return super().take(1) if len(self._levels) > 1 else self._whole(1)
        released = np.empty((n, self._columns), dtype=np.int64)
        done = 0
        while done < n:
            self._turn_if_due()
            count = min(n - done, self._endless.stretch(self._number).steps - self._t)
            part = released[done : done + count]
            if len(self._levels) > 1:
                self._write(part)
            else:
                part[:] = self._whole(count)
            done += count
        return released

    def _whole(self, count: int) -> IntArray:
        """The noise of the next steps of a stretch whose noise has been found whole."""
        self._t += count
        return self._rows[self._t - count : self._t]

    def _turn_if_due(self) -> None:
        if self._number < 0 or self._t == self._endless.stretch(self._number).steps:
            self._turn()

    def _turn(self) -> None:
        """Goes into the next stretch."""
        self._number += 1
        self._t = 0
        if self._unborn:
            self._levels.insert(-1, self._unborn)
            self._unborn = None
        self._open()
        if self._number == 0:
            steps = self._draws(0).draw(0, 0, self._endless.first)
            self._next = np.cumsum(steps, axis=0)
        present = self._next
        self._raise_top(self._prepare(), present)
        if len(self._levels) == 1:
            self._settle_all(present)

    def _draws(self, number: int) -> NodeDraws:
        shape = StretchShape.of(self._endless, number)
        return NodeDraws(self._noise, shape, self._scale, self._columns)

    def _open(self) -> None:
        """Takes the levels, the draws and the weights of the present stretch."""
        shape = StretchShape.of(self._endless, self._number)
        self._sums = np.stack([level.sums for level in self._levels])
        for level, sums in zip(self._levels, self._sums, strict=True):
            level.sums = sums
        for level in self._levels[:-1]:
            level.cell = -1
        self._levels[-1].cell = 0
        self._adopt(shape, self._draws(self._number), stretch_tables(self._endless, self._number))
        if len(self._levels) > 1 and len(self._rows) != shape.radices[0]:
            self._rows = np.zeros((shape.radices[0], self._columns), dtype=np.int64)

    def _prepare(self) -> IntArray:
        """Draws the nodes that the top level needs of the next stretch, and gives them."""
        endless, number = self._endless, self._number + 1
        after, one = self._draws(number), endless.stretch(number)
        if not endless.born(number):
            nodes = after.draw(one.highest, 0, one.cells)
            self._keep(one.highest, nodes)
            return nodes
        below = after.draw(one.highest - 1, 0, endless.radix)
        self._keep(one.highest - 1, below)
        nodes = after.draw(one.highest, 0, one.cells)
        self._unborn = self._level(one.highest)
        totals = np.cumsum(below, axis=0)
        hat = self._unborn.own(1, nodes)
        self._unborn.enter_next(totals.sum(axis=0), totals[-1], hat, endless.radix)
        return nodes

    def _keep(self, level: int, nodes: IntArray) -> None:
        """Nodes of the next stretch wait for their hats; single steps are added up."""
        if level:
            one = self._levels[level - 1]
            one.waiting = np.concatenate([one.waiting, nodes])
        else:
            self._next = np.cumsum(nodes, axis=0)

    def _level(self, level: int) -> Level:
        sums = np.zeros((4, self._columns), dtype=np.int64)
        return Level(sums, self._endless.shift(level))

    def _raise_top(self, nodes: IntArray, present: IntArray) -> None:
        """Brings the top level into the cell of this stretch, given the nodes of the next one."""
        endless, number, top = self._endless, self._number, self._levels[-1]
        steps = endless.stretch(number + 1).steps
        if number:
            top.sums[:3] *= endless.unit(number) // endless.unit(number - 1)
            top.sums[3] *= steps // endless.stretch(number).steps
        else:  # the first hat is flat before its knot
            top.sums[3] = present[-1] * steps
        top.shift = self._top_shift()
        totals = np.cumsum(nodes, axis=0)
        top.enter_next(totals.sum(axis=0), totals[-1], self._knot(number), len(nodes))
        top.cell = 0

    def _knot(self, knot: int) -> IntArray:
        """Draws a node of the top level."""
        return self._noise.laplace(knot_scale(self._endless, self._scale, knot), (1, self._columns))

    def _top_shift(self) -> int:
        """By how many bits residuals of the top level are rounded."""
        steps = self._endless.stretch(self._number + 1).steps
        return (steps // self._endless.unit(self._number)).bit_length() - 1

    def _settle_all(self, rows: IntArray) -> None:
        """Finds the noise of all steps of a stretch without levels between steps and top."""
        self._settle_cell(rows, np.array([[1 << BITS, 0, 0]]), *self._tables[0])
        self._rows = rows

    def _restore(self, state: IntArray) -> None:
        endless, columns = self._endless, self._columns
        self._number = endless.number(int(state[0]) - 1)
        one, after = endless.stretch(self._number), endless.stretch(self._number + 1)
        self._t = int(state[0]) - one.start
        self._levels[:-1] = [self._level(level) for level in range(1, one.highest + 1)]
        self._open()
        self._levels[-1].shift = self._top_shift()
        rows, at = state[1:].reshape(-1, columns), 0

        def some(count: int) -> IntArray:
            nonlocal at
            at += count
            return rows[at - count : at].copy()

        self._before = some(1)[0]
        block = self._shape.radices[0]
        self._next = some(after.cells if after.highest == 0 else endless.radix)
        self._rows = some(block)
        cells = self._shape.cells(self._t - 1)
        for number, level in enumerate(self._levels, start=1):
            level.cell = cells[number - 1]
            level.sums[:] = some(4)
            level.waiting = some(max(0, self._nodes.end(number, cells) - level.cell - 2))
        if endless.born(self._number + 1):
            self._unborn = self._level(after.highest)
            self._unborn.sums[:] = some(4)
            self._unborn.waiting = some(after.cells - 1)


@lru_cache(maxsize=256)
def knot_scale(shape: EndlessShape, scale: Fraction, knot: int) -> Fraction:
    """The scale of the noise of a node of the top level."""
    return scale * shape.stretch(knot + 1).steps / shape.knot_share(knot)
