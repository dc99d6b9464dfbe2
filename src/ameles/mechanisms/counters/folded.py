"""Folded counters: the noise is inside the state, and events are added to it.

Between two calls a run holds nothing but numbers that already have their noise, so the
state may be seized.  Inputs do not outlive the call; noise is drawn inside it, never ahead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.snapshot import VERSION, State, pack
from ameles.noise.arrays import IntArray


class FoldedRun(ABC):
    """A run of a folded counter: ``add`` on arrival, ``release`` at the tick."""

    _version = VERSION  # of its snapshots

    def __init__(self, recipe: CounterRecipe, state: State) -> None:
        self._recipe = recipe
        self._id = state.run
        self._t = state.step

    def __repr__(self) -> str:
        return f"<run of {type(self._recipe).__name__} at step {self.t}>"

    @property
    def id(self) -> str:
        """What tells this run from every other."""
        return self._id.hex()

    @property
    def t(self) -> int:
        """How many steps were released."""
        return self._t

    def add(self, x: Any) -> None:
        """Folds an input into the state of the open step."""
        row = self._recipe.row(x)
        self._recipe.check_room(self._t, 1)
        self._fold(row)

    def release(self) -> Any:
        """Closes the step and gives its release."""
        self._recipe.check_room(self._t, 1)
        row = self._close()
        self._t += 1
        return self._given(row)

    def step(self, x: Any) -> Any:
        """One step: ``add``, then ``release``."""
        self.add(x)
        return self.release()

    def feed(self, xs: Any) -> Any:
        """Many steps in one call; the state may be seized before or after it, not within."""
        rows = self._recipe.rows(xs)
        self._recipe.check_room(self._t, len(rows))
        releases = self._feed(rows)
        self._t += len(rows)
        return releases[:, 0] if self._recipe.width is None else releases

    def snapshot(self) -> bytes:
        """The complete state, which the guarantee covers."""
        return pack(
            State(self._id, self._t, self._parts()), self._recipe.fingerprint, self._version
        )

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

    @abstractmethod
    def _parts(self) -> tuple[IntArray, ...]:
        """The state as integers."""
