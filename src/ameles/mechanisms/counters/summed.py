"""Summed counters: an exact running sum plus a noise process that never sees the data.

The process depends on the step alone, so its noise can be taken in blocks ahead of time:
one step of a plain counter is then a few additions of Python integers.  Noise that was
taken and not yet used is part of the snapshot.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray
from ameles.noise.sampler import wrapped

# How many noise values a run takes ahead: enough to make a vectorised draw worthwhile.
AHEAD = 1024
# From this width on, running sums are added row by row.
WIDE = 4096


class Process(Protocol):
    """The noise of a summed counter, step after step."""

    def take(self, n: int) -> IntArray:
        """The noise of the next ``n`` steps, one row a step, one column a counter."""
        ...

    def state(self) -> IntArray:
        """All that a new process needs to continue from here, as a flat array."""
        ...


@dataclass(frozen=True, kw_only=True)
class SummedCounter(CounterRecipe):
    """A recipe of the summed shape: it adds the process and nothing else."""

    @abstractmethod
    def process(self, noise: Noise, state: IntArray | None) -> Process:
        """A new process, or the one whose state this was."""

    @property
    def ahead(self) -> int:
        """How many steps of noise a run takes at a time."""
        return max(1, AHEAD // self.columns)

    def _run(self, state: State, noise: Noise) -> CounterRun:
        kind = PlainRun if self.width is None else SummedRun
        return kind(self, state, noise)


class SummedRun(CounterRun):
    """A run of a vector of summed counters."""

    def __init__(self, recipe: SummedCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        if state.parts:
            self._sums, ahead, process = state.parts
            self._process = recipe.process(noise, process)
            self._ahead = ahead.reshape(-1, recipe.columns)
        else:
            self._sums = np.zeros(recipe.columns, dtype=np.int64)
            self._process = recipe.process(noise, None)
            self._ahead = np.empty((0, recipe.columns), dtype=np.int64)
        self._progress.draw(self._each(self._ahead))

    def step(self, x: Any) -> Any:
        """One step of all counters."""
        row = self._recipe.row(x)
        try:
            noise = next(self._progress.queue)
        except StopIteration:
            # Within the turn: the process may write its next steps over this noise.
            with Turn(self):
                return self._add(row, self._draw_ahead())
        return self._add(row, noise)

    def feed(self, xs: Any) -> Any:
        """Many steps at once; the same releases as ``step`` gives one by one."""
        if not self._progress.live:
            self.check_live()
        rows = self._recipe.rows(xs)
        with Turn(self), self._progress.still():
            self.check_room(len(rows))
            noise = self._take(len(rows))
            releases = self._running(rows)
            releases += noise  # within the turn, as in ``step``
        return releases

    def _parts(self) -> tuple[IntArray, ...]:
        # the exact sums, the noise taken ahead and the process: secret
        return self._sums, self._unused().reshape(-1), self._process.state()

    def _add(self, row: IntArray, noise: IntArray) -> IntArray:
        """The sums after one more step, with their noise."""
        self._sums += row
        return self._sums + noise

    def _running(self, rows: IntArray) -> IntArray:
        """The running sums after each row; keeps the last."""
        if rows.ndim > 1 and rows.shape[1] >= WIDE:
            # Row after row: each is still in the cache when the next is added to it.
            sums, before = np.empty(rows.shape, dtype=np.int64), self._sums
            for row, after in zip(rows, sums, strict=True):
                before = np.add(before, row, out=after)
        else:
            sums = np.cumsum(rows, axis=0, dtype=np.int64)
            sums += self._sums
        if len(sums):
            self._sums = sums[-1].copy()
        return sums

    def _draw_ahead(self) -> Any:
        """The noise of the next step, if the queue had none; draws that of more steps."""
        with Turn(self):
            # The queue was being held, or another thread has filled it.
            waiting = next(self._progress.queue, None)
            if waiting is not None:
                return waiting
            t, count = self.t, self._recipe.ahead
            self.check_room(1)
            if self._recipe.steps is not None:
                count = min(count, self._recipe.steps - t)
            self._ahead = self._process.take(count)
            first, *others = self._each(self._ahead)
            self._t += 1
            self._progress.draw(others)
            return first

    def _take(self, n: int) -> IntArray:
        """The noise of the next ``n`` steps, first what was taken ahead; the queue must be held."""
        ready = self._unused()[:n]
        self._progress.use(n)
        if len(ready) == n:
            return ready
        self._ahead = self._ahead[:0]
        try:
            fresh = self._process.take(n - len(ready))
        except BaseException:
            self._progress.end -= n  # none of these steps is released
            raise
        return np.concatenate([ready, fresh]) if len(ready) else fresh

    def _unused(self) -> IntArray:
        """The noise taken ahead for the next steps; the queue must be held."""
        return self._ahead[len(self._ahead) - self._progress.unused :]

    def _each(self, ahead: IntArray) -> list[Any]:
        """The noise of each step."""
        return list(ahead)


class PlainRun(SummedRun):
    """A run of one summed counter: integers in, integers out."""

    def __init__(self, recipe: SummedCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._sum = int(self._sums[0])

    def step(self, x: Any) -> int:
        """One step: a few additions of Python integers."""
        if type(x) is not int:
            x = self._recipe.number(x)
        for ready in self._progress.queue:  # takes the next one, and less time than ``next``
            noise: int = ready
            break
        else:
            noise = self._draw_ahead()
        self._sum = total = self._sum + x
        release = total + noise
        return release if -(1 << 63) <= release < 1 << 63 else wrapped(release)

    def feed(self, xs: Any) -> IntArray:
        """Many steps at once, as an array."""
        releases: IntArray = super().feed(xs)[:, 0]
        return releases

    def _parts(self) -> tuple[IntArray, ...]:
        self._sums = np.array([wrapped(self._sum)])
        return super()._parts()

    def _running(self, rows: IntArray) -> IntArray:
        self._sums = np.array([wrapped(self._sum)])
        sums = super()._running(rows)
        self._sum = int(self._sums[0])
        return sums

    def _each(self, ahead: IntArray) -> list[int]:
        values: list[int] = ahead[:, 0].tolist()
        return values
