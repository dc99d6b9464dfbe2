"""Counters that are given by their noise matrix: what a broken or a right one may look like.

A release is the exact count plus a weighted sum of draws, whose weights a subclass writes
down.  They are for tests, so nothing in them is quick.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.core.loss import Concentrated, Loss, Pure
from ameles.core.noise import Noise
from ameles.core.parameters import Epsilon, Horizon
from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.mechanisms.counters.simple_one import IndependentError
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class WeightedCounter(CounterRecipe):
    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()

    @property
    def claim(self) -> Fraction:
        return Fraction(Pure(self.epsilon).epsilon)

    @property
    def loss(self) -> Loss:
        return Pure(self.epsilon)

    @property
    def steps(self) -> int:
        return self.horizon

    @property
    def error(self) -> IndependentError:
        return IndependentError(Fraction(1))

    @property
    def memory(self) -> int:
        return 2 * self.horizon + 1

    @abstractmethod
    def weights(self) -> list[list[Any]]:
        """One row a release, one column a draw."""

    def scale(self) -> Fraction:
        return 1 / self.claim

    def draw(self, noise: Noise, count: int) -> IntArray:
        return noise.laplace(self.scale(), count)

    def shown(self, count: int, noise: Any) -> Any:
        return count + noise

    def _run(self, state: State, noise: Noise) -> CounterRun:
        return WeightedRun(self, state, noise)


class WeightedRun(CounterRun):
    def __init__(self, recipe: WeightedCounter, state: State, noise: Noise) -> None:
        super().__init__(recipe, state)
        self.recipe = recipe
        self.rows = recipe.weights()
        if state.parts:
            [self.count], self.drawn = (part.tolist() for part in state.parts)
        else:
            self.count = 0
            self.drawn = recipe.draw(noise, len(self.rows[0])).tolist()

    def step(self, x: int) -> Any:
        self.check_room(1)
        self.count += x
        self._t += 1
        row = self.rows[self.t - 1]
        noise = sum(weight * z for weight, z in zip(row, self.drawn, strict=True) if weight)
        return self.recipe.shown(self.count, noise)

    def feed(self, xs: Any) -> Any:
        self.check_room(len(xs))
        return np.array([self.step(x) for x in np.asarray(xs).tolist()])

    def _parts(self) -> tuple[IntArray, ...]:
        return np.array([self.count]), np.array(self.drawn, dtype=np.int64)


def unit(size: int, factor: Any = 1) -> list[list[Any]]:
    return [[factor if i == t else 0 for i in range(size)] for t in range(size)]


@dataclass(frozen=True, kw_only=True)
class GaussianCounter(WeightedCounter):
    """Simple counter I with Gaussian noise: the change has squared length T."""

    @property
    def loss(self) -> Loss:
        return Concentrated(self.claim)

    def weights(self) -> list[list[Any]]:
        return unit(self.horizon)

    def draw(self, noise: Noise, count: int) -> IntArray:
        return noise.gaussian(self.scale(), count)

    def scale(self) -> Fraction:
        squared = sum(min(t, self.contributions) ** 2 for t in range(1, self.horizon + 1))
        return self.bound**2 * squared / (2 * self.claim)


@dataclass(frozen=True, kw_only=True)
class RoundedCounter(WeightedCounter):
    """Two noises a step, weighted by eighths that sum to one, rounded at the end."""

    @property
    def resolution(self) -> int:
        return 8

    def scale(self) -> Fraction:
        return 2 * self.horizon / self.claim

    def weights(self) -> list[list[Any]]:
        size = self.horizon
        return [[3 * (i == t) + 5 * (i == t + size) for i in range(2 * size)] for t in range(size)]

    def shown(self, count: int, noise: Any) -> Any:
        return count + (noise + 4 >> 3)
