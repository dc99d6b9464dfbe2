"""Broken counters that are right in one long feed, for one key: other calls show the mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ameles.core.noise import Noise
from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.summed import PlainRun, Process
from ameles.mechanisms.pan_private.counter import PanPrivateCounter, PanPrivateRun
from ameles.mechanisms.snapshot import State
from ameles.noise import Zero
from ameles.noise.arrays import IntArray

# Resuming ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RedrawsOpenGroups(BinaryCounter):
    """Draws the noise of open blocks again when it is resumed."""

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        process: Any = super().process(noise, state)
        if state is not None:
            for level in range(self.levels):
                if process._t >> level & 1:
                    process._sums[level] = noise.laplace(self.scale, self.columns)
            process._total = process._sums.sum(axis=0)
        kept: Process = process
        return kept


@dataclass(frozen=True, kw_only=True)
class ResumesWithoutNoise(SimpleOneCounter):
    """Forgets its source of noise when it is resumed."""

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return super().process(noise if state is None else Zero(), state)


@dataclass(frozen=True, kw_only=True)
class ResumesWithoutOpenNoise(PanPrivateCounter):
    """Forgets the noise of open intervals when it is resumed."""

    def _run(self, state: State, noise: Noise) -> PanPrivateRun:
        run = super()._run(state, noise)
        if state.parts:
            run._open.fill(0)
        return run


@dataclass(frozen=True, kw_only=True)
class ResumesAFreshFilter(ToeplitzCounter):
    """An encoded counter whose filter starts again when it is resumed."""

    def process(self, noise: Noise, state: IntArray | None) -> Any:
        if state is not None:
            state = state.copy()
            state[1:] = 0
        return super().process(noise, state)


# Feeds and steps -----------------------------------------------------------------------------


class _StepsBareAfterFeeds(PlainRun):
    def feed(self, xs: Any) -> IntArray:
        self.fed = True
        return super().feed(xs)

    def step(self, x: Any) -> int:
        release = super().step(x)
        return self._sum if vars(self).pop("fed", False) else release


@dataclass(frozen=True, kw_only=True)
class StepsBareAfterFeeds(SimpleOneCounter):
    """The first step after a feed has no noise."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return _StepsBareAfterFeeds(self, state, noise)


class _SameNoiseForEveryFeed(PlainRun):
    def _take(self, n: int) -> IntArray:
        taken = super()._take(n)
        if n:
            taken[0] = vars(self).setdefault("first", taken[0].copy())
        return taken


@dataclass(frozen=True, kw_only=True)
class SameNoiseForEveryFeed(SimpleOneCounter):
    """Every feed starts with the noise of the first step."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return _SameNoiseForEveryFeed(self, state, noise)


class _QuietSteps(PlainRun):
    def __init__(self, recipe: QuietSteps, state: State, noise: Noise) -> None:
        super().__init__(recipe, state, noise)
        self._draws = noise
        self._quiet = recipe.scale / 2

    def step(self, x: Any) -> int:
        self.check_room(1)
        self._t += 1
        self._sum += x
        return self._sum + int(self._draws.laplace(self._quiet, 1)[0])


@dataclass(frozen=True, kw_only=True)
class QuietSteps(SimpleOneCounter):
    """Half the noise in ``step``."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return _QuietSteps(self, state, noise)


# Keys ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _KeyNoise:
    recipe: Any
    noise: Noise

    def take(self, n: int) -> IntArray:
        taken: IntArray = self.recipe.rows_of_noise(self.noise, n)
        return taken

    def state(self) -> IntArray:
        return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class OneNoiseForAllKeys(SimpleOneCounter):
    """One noise a step, for all keys."""

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        return _KeyNoise(self, noise)

    def rows_of_noise(self, noise: Noise, n: int) -> IntArray:
        return np.repeat(noise.laplace(self.scale, (n, 1)), self.columns, axis=1)


@dataclass(frozen=True, kw_only=True)
class MirroredKeys(OneNoiseForAllKeys):
    """Every second key has the noise of the first with the other sign."""

    def rows_of_noise(self, noise: Noise, n: int) -> IntArray:
        return super().rows_of_noise(noise, n) * (1 - 2 * (np.arange(self.columns) % 2))


@dataclass(frozen=True, kw_only=True)
class KeysShareOverTime(OneNoiseForAllKeys):
    """The noise of a key is that of the next key a step later."""

    def rows_of_noise(self, noise: Noise, n: int) -> IntArray:
        drawn = noise.laplace(self.scale, (n, self.columns))
        for t in range(1, n):
            drawn[t, 1:] = drawn[t - 1, :-1]
        return drawn


@dataclass(frozen=True, kw_only=True)
class QuietLaterKeys(OneNoiseForAllKeys):
    """All keys but the first have half the noise."""

    def rows_of_noise(self, noise: Noise, n: int) -> IntArray:
        rows = [
            noise.laplace(self.scale / (2 if key else 1), 1)[0]
            for _ in range(n)
            for key in range(self.columns)
        ]
        return np.array(rows).reshape(n, self.columns)
