"""Window monitors: for each of several counts "the last w steps reach h", c times, then it halts.

Theorem      each key has a sparse vector of its own (catalogue 42) on its own windows, all with
             noise for one Delta.  Between two neighbours let every window of key k change by at
             most d_k.  Shifting that key's threshold by d_k hides all its "below", and shifting
             at most c of its queries by 2 d_k (d_k if monotone) its "above": what sparse vector
             loses is linear in the change, so key k loses at most epsilon * d_k / Delta.  The
             keys' noises are independent, so all together lose epsilon * (sum of d_k) / Delta.
             The sum of d_k is at most bound * min(contributions, w * width): each key's most
             changed window has w steps, all of them at most w * width, of which the unit has
             changed at most ``contributions``, each by ``bound`` over all keys.  That is Delta
Neighbours   streams that differ in up to ``contributions`` steps by at most ``bound`` (L1) each;
             monotone: one unit's events, each counting zero or more, added or removed
Noise        discrete Laplace, of each key's threshold, drawn once for the stream's life, and of
             each key's window at each step
Error        that of sparse vector, on the count of one key's window
Memory       the last w inputs of each key, exact: the state is secret

With one key this is ``WindowMonitor``.  With several, bound * min(contributions, w) would be too
little: a unit may change one window of many keys, each in a step of its own.  Where a unit is one
event it is in one key and one step, and any number of keys costs what one does.

Releases are codes: 1 above, 0 below, -1 halted.  A halted key's inputs are forgotten.

>>> from ameles.noise import Zero
>>> recipe = WindowMonitors(epsilon=1, width=2, window=2, threshold=5, aboves=2)
>>> recipe.start(Zero()).feed([[3, 9], [1, 0], [4, 0], [0, 0], [5, 9]]).tolist()
[[0, 1], [0, 1], [1, -1], [0, -1], [1, -1]]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.core.parameters import Whole
from ameles.mechanisms.continual.monitor import LARGEST, LONGEST, Watch
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import SteppedRun
from ameles.noise.arrays import BoolArray, IntArray

ABOVE, BELOW, HALTED = 1, 0, -1


@dataclass(frozen=True, kw_only=True)
class WindowMonitors(Watch["WindowMonitorsRun"]):
    """Says for ``width`` keys when the count of the last ``window`` steps reaches ``threshold``.

    Each key is above up to ``aboves`` times in the stream's life, then halted.  ``monotone``
    promises that one unit's events count zero or more, and halves the noise.
    """

    width: Whole = Whole(1, LONGEST)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width * self.window > LONGEST:
            raise BadInput(
                f"These are {self.width} windows of {self.window} steps; together they may have "
                f"up to {LONGEST}.",
                why="the inputs of every window lie in memory",
                tip="a shorter window, or fewer keys",
            )

    @property
    def sensitivity(self) -> int:
        """How much one unit may change the most changed window of each key, all keys added up."""
        return self.bound * min(self.contributions, self.window * self.width)

    @property
    def memory(self) -> int:
        """The 64-bit integers that a run holds: windows, thresholds' noises, aboves."""
        return self.width * (self.window + 2)

    def _run(self, state: State, noise: Noise) -> WindowMonitorsRun:
        return WindowMonitorsRun(self, state, noise)


class WindowMonitorsRun(SteppedRun[Any, IntArray]):
    """A run: one row of counts a step, one row of codes out."""

    def __init__(self, recipe: WindowMonitors, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe
        self._noise = noise
        asked = recipe.comparison
        self._scale = asked.query_scale
        if state.parts:
            inputs, self._rho, self._aboves = state.parts
            self._inputs = inputs.reshape(recipe.window, recipe.width)
        else:
            self._inputs = np.zeros((recipe.window, recipe.width), dtype=np.int64)
            self._rho = noise.laplace(asked.threshold_scale, recipe.width)
            self._aboves = np.zeros(recipe.width, dtype=np.int64)

    @property
    def halted(self) -> BoolArray:
        """Which keys have used up their aboves: public, since every one of them was."""
        return np.equal(self._aboves, self._recipe.aboves)

    def _parts(self) -> tuple[IntArray, ...]:
        """The last inputs, exact, oldest first; the thresholds' noises; how many were above."""
        return self._inputs.reshape(-1), self._rho, self._aboves

    def feed(self, xs: Any) -> Any:
        """Many steps at once, one row of counts and one of codes for each."""
        self.check_live()
        rows = self._rows(xs)
        with Turn(self):
            self.check_room(len(rows))
            return self._steps(rows)

    def _checked(self, x: Any) -> IntArray:
        return self._rows([x])

    def _step(self, rows: IntArray) -> IntArray:
        codes: IntArray = self._steps(rows)[0]
        return codes

    def _rows(self, xs: Any) -> IntArray:
        try:
            rows = np.asarray(xs)
        except (TypeError, ValueError):  # rows of unequal lengths
            rows = np.empty(0, dtype=object)
        width = self._recipe.width
        if width == 1 and rows.ndim == 1:  # one key's plain numbers
            rows = rows[:, None]
        if rows.dtype.kind in "iu" and rows.ndim == 2 and rows.shape[1] == width:
            # larger numbers, which unsigned integers may be, are clamped to this
            least: IntArray = np.minimum(rows, LARGEST).astype(np.int64)
            return least
        if isinstance(xs, list | tuple | np.ndarray) and len(xs) == 0:
            return np.empty((0, width), dtype=np.int64)
        raise BadInput(
            f"A step takes a row of {width} whole numbers, one for each key.",
            why="nothing private may meet a float: its rounding can leak",
        )

    def _steps(self, rows: IntArray) -> IntArray:
        window, width, most = self._recipe.window, self._recipe.width, self._recipe.aboves
        # Clamped, not wrapped: a wrap would move a comparison by 2**64 where clamping moves two
        # neighbours no further apart.
        edge = LARGEST // window
        clamped = np.clip(rows, -edge, edge).astype(np.int64)
        clamped[:, self.halted] = 0
        inputs = np.concatenate([self._inputs, clamped])
        sums = np.cumsum(inputs, axis=0)
        # differences of wrapped sums are right, because the windows themselves do not wrap
        counts = sums[window:] - sums[: len(rows)]
        # Drawn for halted keys, too, so that the number of draws does not depend on the data.
        nu = self._noise.laplace(self._scale, (len(rows), width))
        above = _at_least(nu, self._rho, self._recipe.threshold - counts)
        before = self._aboves + np.cumsum(above, axis=0) - above
        codes = np.where(before >= most, HALTED, np.where(above, ABOVE, BELOW))
        self._aboves = self._aboves + (codes == ABOVE).sum(axis=0)
        self._inputs = inputs[len(rows) :].copy()
        self._inputs[:, self.halted] = 0
        self._rho = np.where(self.halted, 0, self._rho)  # it will not be asked again
        self._t += len(rows)
        return codes


def _at_least(nu: IntArray, rho: IntArray, distance: IntArray) -> BoolArray:
    """Whether nu >= rho + distance, without overflow."""
    needed = rho + distance
    beyond = ((rho ^ needed) & (distance ^ needed)) < 0
    return np.where(beyond, rho < 0, nu >= needed)
