"""Pan-private counters with one mistake each, which the audit must see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.pan_private.counter import PanPrivateCounter, PanPrivateRun, _aligned
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.pan_private.tree_run import PanPrivateTreeRun
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class OneShareTooFew(PanPrivateCounter):
    """log2 T shares of epsilon, where the counter's own noise needs one more."""

    def scale_of(self, depth: int) -> Fraction:
        return max(1, depth) / Fraction(self.loss.epsilon)


class EagerRun(PanPrivateRun):
    """Draws the noise of intervals that start at a step when the step's first event comes."""

    _drawn = False

    def _fold(self, row: IntArray) -> None:
        if not self._drawn:
            starting = _aligned(self._position, self._depth)
            scale = self._pan_private.scale_of(self._depth)
            self._open[:starting] = self._noise.laplace(scale, (starting, len(self._counter)))
            self._drawn = True
        super()._fold(row)

    def _close(self) -> IntArray:
        release: IntArray = self._open.sum(axis=0) + self._counter
        self._drawn = False
        self._end_steps(1, None)
        return release


@dataclass(frozen=True, kw_only=True)
class DrawsTooEarly(PanPrivateCounter):
    def _run(self, state: State, noise: Noise) -> PanPrivateRun:
        return EagerRun(self, state, noise)


class HoardingRun(PanPrivateRun):
    """Leaves expired noise in its buffer until it is needed again."""

    def _end_steps(self, count: int, following: IntArray | None) -> None:
        self._position += count

    def _close(self) -> IntArray:
        self._open[: (self._position & -self._position).bit_length()] = 0
        return super()._close()


@dataclass(frozen=True, kw_only=True)
class KeepsExpiredNoise(PanPrivateCounter):
    def _run(self, state: State, noise: Noise) -> PanPrivateRun:
        return HoardingRun(self, state, noise)


class RememberingRun(PanPrivateRun):
    def _fold(self, row: IntArray) -> None:
        self._last_row = row
        super()._fold(row)


@dataclass(frozen=True, kw_only=True)
class KeepsItsInput(PanPrivateCounter):
    def _run(self, state: State, noise: Noise) -> PanPrivateRun:
        return RememberingRun(self, state, noise)


@dataclass(frozen=True, kw_only=True)
class ShortEpochs(PanPrivateCounter):
    """Epochs of 1, 2, 4, ... steps from the start."""

    def depth(self, epoch: int = 0) -> int:
        return epoch


@dataclass(frozen=True, kw_only=True)
class EpochsFromTwo(PanPrivateCounter):
    def depth(self, epoch: int = 0) -> int:
        return 1 + epoch


class SourceRun(PanPrivateRun):
    """Draws an epoch's noise on the counter with the epoch's first event.

    Whether it is due is in the state, beside the depth.
    """

    def __init__(self, recipe: PanPrivateCounter, state: State, noise: Noise) -> None:
        self._due = False
        if state.parts:
            (position, depth), *others = state.parts
            self._due = bool(depth >= 64)
            state = replace(state, parts=(np.array([position, depth % 64]), *others))
        super().__init__(recipe, state, noise)

    def _parts(self) -> tuple[IntArray, ...]:
        place, *others = super()._parts()
        return place + np.array([0, 64 * self._due]), *others

    def _feed(self, rows: IntArray) -> IntArray:
        releases = []
        for row in rows:
            self._fold(row)
            releases.append(self._close())
        return np.array(releases, dtype=np.int64).reshape(rows.shape)

    def _counter_noise(self, depth: int) -> IntArray:
        self._due = True
        return np.zeros((1, len(self._counter)), dtype=np.int64)

    def _fold(self, row: IntArray) -> None:
        if self._due:
            self._counter += super()._counter_noise(self._depth)[0]
            self._due = False
        super()._fold(row)


@dataclass(frozen=True, kw_only=True)
class SourceEpochs(ShortEpochs):
    """Catalogue 10 as it is written, for steps that nobody can look into."""

    def _run(self, state: State, noise: Noise) -> PanPrivateRun:
        return SourceRun(self, state, noise)


class CarelessRun(PanPrivateRun):
    def announce(self) -> None:
        self._open.fill(0)
        self._position = 0


@dataclass(frozen=True, kw_only=True)
class NoFreshNoise(PanPrivateCounter):
    """Starts a new tree after an intrusion, but adds no noise to the counter."""

    def _run(self, state: State, noise: Noise) -> PanPrivateRun:
        return CarelessRun(self, state, noise)


class StraddlingRun(PanPrivateRun):
    def announce(self) -> None:
        position, kept = self._position, self._open.copy()
        super().announce()
        np.copyto(self._open, kept)
        self._position = position


@dataclass(frozen=True, kw_only=True)
class KeepsStraddlingNoise(PanPrivateCounter):
    """Adds noise to the counter after an intrusion, but goes on with the old tree."""

    def _run(self, state: State, noise: Noise) -> PanPrivateRun:
        return StraddlingRun(self, state, noise)


class Silent:
    """Noise whose first number of each draw is zero."""

    genuine = False
    forgetful = True

    def __init__(self, noise: Noise) -> None:
        self.noise = noise

    def __getattr__(self, name: str) -> Any:
        return getattr(self.noise, name)

    def laplace(self, scale: Fraction, size: Any) -> IntArray:
        drawn = self.noise.laplace(scale, size)
        drawn[0] = 0
        return drawn


class QuietRun(PanPrivateTreeRun):
    """Publishes what is in the state: figure 12.1 as it is drawn."""

    def _close(self) -> IntArray:
        noise, self._noise = self._noise, Silent(self._noise)
        try:
            return super()._close()
        finally:
            self._noise = noise

    def _feed(self, rows: IntArray) -> IntArray:
        releases = []
        for row in rows:
            self._fold(row)
            releases.append(self._close())
            self._t += 1
        self._t -= len(rows)  # the caller counts them
        return np.array(releases)


@dataclass(frozen=True, kw_only=True)
class PublishesItsState(PanPrivateTreeCounter):
    def _run(self, state: State, noise: Noise) -> PanPrivateTreeRun:
        return QuietRun(self, state, noise)


class LateRun(PanPrivateTreeRun):
    """Opens its single steps in their release, not before their first event."""

    def _close(self) -> IntArray:
        self._open[0] += self._held
        release = super()._close()
        self._hold()
        return release

    def _hold(self) -> None:
        self._held = self._open[0].copy()
        self._open[0] = 0


@dataclass(frozen=True, kw_only=True)
class OpensTooLate(PanPrivateTreeCounter):
    def _run(self, state: State, noise: Noise) -> PanPrivateTreeRun:
        run = LateRun(self, state, noise)
        run._hold()
        return run
