"""Runs that take one input a step: what is refused, and when.

An input is checked before anything changes.  ``feed`` checks all its inputs first, so a refused
``feed`` has not taken a single step.

A *folded* run takes an input into its state on arrival (``add``) and publishes at the tick
(``release``).  A step is both.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np

from ameles.core.exceptions import BadInput
from ameles.mechanisms.run import In, Out, Run, Turn


class SteppedRun(Run[In, Out]):
    """A run that checks each input, then takes a step with it."""

    def check(self, x: In) -> None:
        """Refuses what a step would refuse; changes nothing."""
        self.check_live()
        self._checked(x)

    def step(self, x: In) -> Out:
        """One step; returns what it publishes."""
        self.check_live()
        given = self._checked(x)
        with Turn(self):
            self.check_room(1)
            return self._step(given)

    def feed(self, xs: Iterable[In]) -> list[Out]:
        """Many steps; refused whole, before anything changes, if one of them is refused."""
        self.check_live()
        given = [self._checked(x) for x in xs]
        with Turn(self):
            self.check_room(len(given))
            return [self._step(x) for x in given]

    @abstractmethod
    def _checked(self, x: In) -> Any:
        """The input as it is used, or an error that does not reveal its value."""

    @abstractmethod
    def _step(self, x: Any) -> Out:
        """One step with an input that was checked and for which there is room."""


class FoldedRun(SteppedRun[In, Out]):
    """A run that takes inputs into its state as they arrive."""

    @abstractmethod
    def add(self, x: In) -> None:
        """Takes an input into the state of the open step; the input does not outlive the call."""

    @abstractmethod
    def release(self) -> Out:
        """Closes the step; returns what it publishes."""

    def skip(self, steps: int) -> None:
        """Closes steps in which nothing comes; nobody sees what they would publish."""
        self.check_live()
        for _ in range(steps):
            self.release()

    def _step(self, x: Any) -> Out:
        self.add(x)
        return self.release()


def integer(x: object, name: str) -> int:
    """The integer that was given; the error names its type, never its value.

    >>> integer(np.int64(3), "query")
    3
    """
    if type(x) is int:  # the usual case; checking a protocol takes longer than a step
        return x
    if isinstance(x, SupportsIndex) and not isinstance(x, bool | np.bool_):
        try:
            return operator.index(x)
        except TypeError:
            pass  # an array, which has the method but is no integer
    raise BadInput(
        f"A {name} must be a whole number. Got a {type(x).__name__} instead.",
        why="nothing private may meet a float: its rounding can leak",
        tip="integers, or real values on a grid of your choice",
    )
