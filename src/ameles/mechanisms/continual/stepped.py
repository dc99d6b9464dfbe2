"""What runs that take one input a step share: who they are, how far, how much room is left.

An input is checked before anything changes, and of many inputs all are: a refused ``feed``
has not taken its first step.  The state is what ``_parts`` gives, behind the head that every
snapshot has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from ameles.core.exceptions import HorizonReached
from ameles.mechanisms.live_run import LiveRun, Turn
from ameles.mechanisms.snapshot import State

Out = TypeVar("Out")


class Declared(Protocol):
    """What a run needs to know of its recipe."""

    @property
    def fingerprint(self) -> bytes: ...
    @property
    def horizon(self) -> int | None: ...


class SteppedRun(LiveRun, Generic[Out]):
    """A run with an identity of its own and a number of steps."""

    def __init__(self, recipe: Declared, state: State) -> None:
        super().__init__(recipe, state.run, state.step)
        self._declared = recipe

    def check(self, x: Any) -> None:
        """Refuses what a step would refuse; changes nothing."""
        self.check_live()
        self._checked(x)

    def step(self, x: Any) -> Out:
        """One step: what is published of it."""
        self.check_live()
        given = self._checked(x)
        with Turn(self):
            self.check_room(1)
            return self._step(given)

    def feed(self, xs: Iterable[Any]) -> list[Out]:
        """Many steps; refused whole, before anything changes, if one of them is refused."""
        self.check_live()
        given = [self._checked(x) for x in xs]
        with Turn(self):
            self.check_room(len(given))
            return [self._step(x) for x in given]

    def check_room(self, count: int) -> None:
        """Refuses steps past the horizon, before anything is drawn."""
        horizon = self._declared.horizon
        if horizon is not None and self.t + count > horizon:
            raise HorizonReached(
                f"This run has {horizon} steps and has taken {self.t}; {count} more do not fit.",
                why="its recipe declares its horizon",
                tip="a new run, with its own budget",
            )

    @abstractmethod
    def _checked(self, x: Any) -> Any:
        """The input as it is used, or an error that does not tell its value."""

    @abstractmethod
    def _step(self, x: Any) -> Out:
        """One step with an input that was checked and for which there is room."""
