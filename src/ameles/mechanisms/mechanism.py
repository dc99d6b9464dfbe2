"""The base of all mechanisms: a recipe that can be started and states its guarantee.

A subclass is a frozen dataclass of public parameters.  It states its ``guarantee`` and its
``error``, and its ``_run`` makes a run from a state.  Starting, resuming and the check of the noise
are here.  An estimator is a part of other mechanisms and promises nothing alone: it is
``Startable`` only, and no ledger sells it.

>>> from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
>>> from ameles.noise import Zero
>>> run = SimpleTwoCounter(epsilon=1).start(Zero())
>>> again = SimpleTwoCounter(epsilon=1).resume(run.snapshot(), Zero())
>>> again.id == run.id
True
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from ameles.core.error import Error
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Guarantee, Intrusions
from ameles.core.noise import Noise
from ameles.core.recipe import Recipe
from ameles.mechanisms.run import LiveRun, Run
from ameles.mechanisms.snapshot import State, unpack

LiveT = TypeVar("LiveT", bound=LiveRun, covariant=True)
RunT = TypeVar("RunT", bound=Run[Any, Any], covariant=True)


@dataclass(frozen=True)
class Startable(Recipe, ABC, Generic[LiveT]):
    """A recipe that has runs."""

    @property
    @abstractmethod
    def seizable(self) -> bool:
        """Whether the state of a run may be seized."""

    @property
    def steps(self) -> int | None:
        """How many steps a run may take; None: without end."""
        return None

    @property
    def state_fingerprint(self) -> bytes:
        """The fingerprint that the snapshots of its runs carry."""
        return self.fingerprint

    def start(self, noise: Noise) -> LiveT:
        """A new run, with an identity of its own.

        Outside of research and tests, a ledger calls this.
        """
        self._check_noise(noise)
        return self._run(State(os.urandom(16), 0, ()), noise)

    def resume(self, snapshot: bytes, noise: Noise) -> LiveT:
        """The run that this snapshot was taken of, at the step where it was taken."""
        self._check_noise(noise)
        state = unpack(snapshot, self.state_fingerprint)
        run = self._run(state, noise)
        if self.seizable:  # then the run has the parts in buffers of its own
            for part in state.parts:
                part.fill(0)
        return run

    @abstractmethod
    def _run(self, state: State, noise: Noise) -> LiveT:
        """A run from a state; a state without parts is that of a new run.

        If the state may be seized, the run copies the parts: they are overwritten afterwards.
        """

    def _check_noise(self, noise: Noise) -> None:
        """Refuses anything but a source of noise, and one that remembers if the state may be
        seized."""
        if isinstance(noise, type) or not hasattr(noise, "laplace"):
            kind = noise if isinstance(noise, type) else type(noise)
            raise BadInput(
                f"A run draws from a source of noise. Got {kind.__name__} instead.",
                why="all randomness reaches a run through the noise that it is started with",
                tip="ledger.start(recipe, ...), or recipe.start(System()) for research",
            )
        if self.seizable and not noise.forgetful:
            raise BadInput(
                f"{type(self).__name__} must draw straight from the operating system.",
                why="its state may be seized, and a keystream in memory reveals future noise",
                tip="start(System.direct())",
            )


@dataclass(frozen=True)
class Mechanism(Startable[RunT]):
    """A recipe with its promise and its error: what a ledger sells."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What everything that a run publishes reveals, and about whom."""

    @property
    @abstractmethod
    def error(self) -> Error:
        """How far what a run publishes may be from the truth."""

    @property
    def seizable(self) -> bool:
        """As the guarantee says."""
        return self._promise.intrusions is not Intrusions.NONE

    @property
    def steps(self) -> int | None:
        """The horizon of the guarantee."""
        return self._promise.horizon

    @cached_property
    def _promise(self) -> Guarantee:
        """The guarantee, made once: every start asks for it, and a recipe does not change."""
        return self.guarantee


AnyMechanism: TypeAlias = Mechanism[Run[Any, Any]]
