"""Folded counters: the noise is inside the state, and events are added to it.

Between two calls a run holds nothing but numbers that already have their noise, so the
state may be seized.  Inputs do not outlive the call; noise is drawn inside it, never ahead.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.mechanisms.run import Turn
from ameles.mechanisms.snapshot import State
from ameles.mechanisms.stepped import FoldedRun
from ameles.noise.arrays import IntArray


class FoldedCounterRun(FoldedRun[Any, Any], CounterRun):
    """A run of a folded counter: ``add`` on arrival, ``release`` at the tick."""

    _recovers = True  # a release that fails has not happened

    def __init__(self, recipe: CounterRecipe, state: State) -> None:
        super().__init__(recipe, state)
        self._recipe = recipe

    def add(self, x: Any) -> None:
        """Folds an input into the state of the open step."""
        self.check_live()
        row = self._recipe.row(x)
        try:
            with Turn(self):
                self.check_room(1)
                self._fold(row)
        finally:
            _wipe_copy(row, x)

    def release(self) -> Any:
        """Closes the step and gives its release."""
        with Turn(self):
            self.check_room(1)
            row = self._close()
            self._t += 1
        return self._given(row)

    def step(self, x: Any) -> Any:
        """One step: ``add``, then ``release``."""
        self.check_live()
        row = self._recipe.row(x)
        try:
            with Turn(self):  # kept between the two
                self.check_room(1)
                self._fold(row)
                return self.release()
        finally:
            _wipe_copy(row, x)

    def feed(self, xs: Any) -> Any:
        """Many steps in one call; the state may be seized before or after it, not within."""
        self.check_live()
        rows = self._recipe.rows(xs)
        try:
            with Turn(self):
                self.check_room(len(rows))
                releases = self._feed(rows)
                self._t += len(rows)
        finally:
            _wipe_copy(rows, xs)
        return releases[:, 0] if self._recipe.width is None else releases

    def _checked(self, x: Any) -> Any:
        _wipe_copy(self._recipe.row(x), x)
        return x

    def _given(self, row: IntArray) -> Any:
        return int(row[0]) if self._recipe.width is None else row

    @abstractmethod
    def _fold(self, row: IntArray) -> None:
        """Adds one input to the state, in one atomic step."""

    @abstractmethod
    def _close(self) -> IntArray:
        """The release of the open step."""

    @abstractmethod
    def _feed(self, rows: IntArray) -> IntArray:
        """The releases of many steps."""


def _wipe_copy(rows: IntArray, given: object) -> None:
    """Overwrites inputs, unless they are in the caller's own array, which may still be needed."""
    if not (isinstance(given, np.ndarray) and np.may_share_memory(rows, given)):
        rows.fill(0)
