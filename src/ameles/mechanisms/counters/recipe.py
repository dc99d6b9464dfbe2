"""What all continual counters share: their parameters, their checks, their kind of input."""

from __future__ import annotations

import operator
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol, SupportsIndex

import numpy as np

from ameles.core.error import AdditiveError
from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import (
    EVENT,
    Contribution,
    Guarantee,
    Intrusions,
    Neighbours,
    Norm,
    Protects,
    Unit,
)
from ameles.core.loss import Loss
from ameles.core.mechanism import Noise
from ameles.core.parameters import Bound, Contributions, Width
from ameles.core.recipe import Recipe
from ameles.mechanisms.noise_source import check_noise
from ameles.mechanisms.snapshot import State, unpack
from ameles.noise.arrays import IntArray
from ameles.noise.sampler import wrapped

# A counter must stay clear of the wrap at 2**63 for this many events of the largest size.
EVENTS = 1 << 40


class CounterRun(Protocol):
    """A run of a counter: integers in and out, or arrays of them, one for each counter."""

    @property
    def id(self) -> str: ...
    @property
    def t(self) -> int: ...
    def step(self, x: Any) -> Any: ...
    def feed(self, xs: Any) -> Any: ...
    def snapshot(self) -> bytes: ...


@dataclass(frozen=True, kw_only=True)
class CounterRecipe(Recipe, ABC):
    """A counter: ``width`` running counts advanced together, or one plain count.

    One unit may change up to ``contributions`` steps, each by at most ``bound`` in the L1
    norm of the whole vector; ``unit`` says what one unit is.
    """

    unit: Protects = Protects(EVENT.tag)
    width: Width = Width()
    contributions: Contributions = Contributions()
    bound: Bound = Bound()

    def __post_init__(self) -> None:
        last = self.guarantee.horizon or EVENTS
        if EVENTS * self.bound + 64 * self.error.std(last) >= 1 << 62:
            raise BadInput(
                "These parameters need noise or counts that do not fit into 64 bits.",
                why=f"2**40 events of size {self.bound} and their noise could reach 2**63",
                tip="a larger epsilon, a shorter horizon or a smaller bound",
            )

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The privacy loss of the whole run."""

    @property
    @abstractmethod
    def steps(self) -> int | None:
        """The horizon; None: without end."""

    @property
    def intrusions(self) -> Intrusions:
        """How often the state may be seized."""
        return Intrusions.NONE

    @property
    @abstractmethod
    def error(self) -> AdditiveError:
        """The error of one key's releases."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """The most 64-bit integers that a run holds between two steps."""

    @property
    def guarantee(self) -> Guarantee:
        """The promise: about one unit, by the steps that it may change."""
        return Guarantee(
            loss=self.loss,
            unit=Unit.tagged(self.unit),
            neighbours=Neighbours.STEP,
            contribution=Contribution(steps=self.contributions, bound=self.bound, norm=Norm.L1),
            horizon=self.steps,
            intrusions=self.intrusions,
        )

    @property
    def columns(self) -> int:
        """How many counters there are."""
        return self.width or 1

    def start(self, noise: Noise) -> CounterRun:
        """A new run, with an identity of its own."""
        self._check_noise(noise)
        return self._run(State(os.urandom(16), 0, ()), noise)

    def resume(self, snapshot: bytes, noise: Noise) -> CounterRun:
        """The run that this snapshot was taken of."""
        self._check_noise(noise)
        state = unpack(snapshot, self.fingerprint)
        run = self._run(state, noise)
        if self.intrusions is not Intrusions.NONE:  # then it has them in buffers of its own
            for part in state.parts:
                part.fill(0)
        return run

    @abstractmethod
    def _run(self, state: State, noise: Noise) -> CounterRun:
        """A run from a state; a state without parts is the beginning."""

    def _check_noise(self, noise: Noise) -> None:
        check_noise(noise, self, forgetful=self.intrusions is not Intrusions.NONE)

    def check_room(self, t: int, count: int) -> None:
        """Refuses steps past the horizon, before anything is drawn."""
        if self.steps is not None and t + count > self.steps:
            raise HorizonReached(
                f"This run has {self.steps} steps and has taken {t}; {count} more do not fit.",
                why="its noise was calibrated for its horizon",
                tip="a new run, with its own budget",
            )

    def number(self, x: object) -> int:
        """One step's input of a plain counter."""
        if type(x) is int:  # most are, and asking for a protocol takes longer than the step
            return x
        if isinstance(x, SupportsIndex) and not isinstance(x, bool | np.bool_):
            try:
                return operator.index(x)
            except TypeError:
                pass  # an array, which has the method and not the meaning
        raise _not_integers(x)

    def row(self, x: object) -> IntArray:
        """One step's input, as an array of all counters."""
        if self.width is None:
            return np.array([wrapped(self.number(x))])
        return self._array(x, (self.width,))

    def rows(self, xs: object) -> IntArray:
        """Many steps' input, as rows, for either kind of counter."""
        found = np.asarray(xs)
        count = len(found) if found.ndim else 0
        shape = (count,) if self.width is None else (count, self.width)
        if found.size == 0 and found.ndim == 1:  # an empty list is no steps, of any width
            return np.empty((0, self.columns), dtype=np.int64)
        return self._array(found, shape).reshape(count, self.columns)

    def _array(self, x: object, shape: tuple[int, ...]) -> IntArray:
        found = np.asarray(x)
        if found.dtype.kind not in "iu":
            raise _not_integers(x)
        if found.shape != shape:
            raise BadInput(
                f"The input must have the shape {shape}. Got {found.shape} instead.",
                tip="one integer for each counter" if self.width else "plain integers",
            )
        return found.astype(np.int64, copy=False)


def _not_integers(x: object) -> BadInput:
    kind = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
    return BadInput(
        f"A counter takes integers. Got {kind} instead.",
        why="nothing private may meet a float: its rounding can leak",
        tip="integers, or real values on a grid of your choice",
    )
