"""Broken mechanisms that are no counters: one look at data, and answers over time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ameles.audit import Enumerated, enumerated_loss
from ameles.core.noise import Noise
from ameles.mechanisms.continual.sparse_vector import SparseVector, SparseVectorRun
from ameles.mechanisms.one_shot.exponential import ExponentialMechanism
from ameles.mechanisms.one_shot.gaussian import GaussianMechanism
from ameles.mechanisms.one_shot.geometric import GeometricMechanism
from ameles.mechanisms.one_shot.histogram import HistogramMechanism
from ameles.mechanisms.one_shot.noisy_max import NoisyMax
from ameles.mechanisms.one_shot.permute_and_flip import PermuteAndFlip
from ameles.mechanisms.snapshot import State
from ameles.noise.arrays import IntArray
from tests.mechanisms.continual.broken_vectors import Broken
from tests.mechanisms.continual.scripted import Scripted
from tests.mechanisms.continual.test_transformation_loss import PublishesTheAnswer

RELATION: dict[str, Any] = {"neighbours": "replace"}
TWO: dict[str, Any] = {"candidates": 2, **RELATION}


def compared(
    recipe: Any, one: Sequence[Any], other: Sequence[Any], *, modulus: int
) -> Callable[[], Enumerated]:
    """An audit by every tape, of two neighbours that show the mistake; releases are wrapped."""

    def program(inputs: Sequence[Any]) -> Callable[[Noise], Hashable]:
        return lambda noise: repr(
            [_wrapped(reply, modulus) for reply in recipe.start(noise).feed(list(inputs))]
        )

    epsilon = recipe.guarantee.loss.epsilon
    return lambda: enumerated_loss(program(one), program(other), epsilon=epsilon, modulus=modulus)


def _wrapped(reply: Any, modulus: int) -> object:
    if isinstance(reply, np.ndarray):
        return (reply % modulus).tolist()
    if isinstance(reply, int | np.integer):
        return int(reply) % modulus
    answer = getattr(reply, "answer", None)
    return getattr(reply, "said", "halted"), None if answer is None else answer % modulus


# One look ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SensitivityIgnored(GeometricMechanism):
    @property
    def scale(self) -> Fraction:
        return super().scale / self.sensitivity


@dataclass(frozen=True, kw_only=True)
class ExactIfLarge(GeometricMechanism):
    """The exact number, if it is above 10^7."""

    def release(self, x: IntArray, noise: Noise) -> Any:
        noisy = super().release(x, noise)
        return int(x[0]) if x[0] > 10**7 else noisy


@dataclass(frozen=True, kw_only=True)
class DeviationForVariance(GaussianMechanism):
    """The standard deviation where the variance belongs."""

    @property
    def variance(self) -> Fraction:
        return Fraction(3, 2)


@dataclass(frozen=True, kw_only=True)
class QuietEmptyBins(HistogramMechanism):
    """Empty bins get no noise, which tells that they are empty."""

    def release(self, x: IntArray, noise: Noise) -> IntArray:
        return super().release(x, noise) * (x > 0)


@dataclass(frozen=True, kw_only=True)
class OneNoiseForAllScores(NoisyMax):
    """The same noise for every score changes nothing about who wins."""

    def release(self, x: IntArray, noise: Noise) -> int:
        noise.laplace(self.scale, 1)
        return int(x.argmax())


@dataclass(frozen=True, kw_only=True)
class NoisyMaxAsPrinted(NoisyMax):
    """Half the noise that scores need which move both ways."""

    @property
    def scale(self) -> Fraction:
        return super().scale / 2


@dataclass(frozen=True, kw_only=True)
class TwiceTheRate(ExponentialMechanism):
    """Forgets the two in exp(epsilon score / 2)."""

    @property
    def rate(self) -> Fraction:
        return 2 * super().rate


@dataclass(frozen=True, kw_only=True)
class FlipsTooFew(PermuteAndFlip):
    """The same, for coins that are flipped in a random order."""

    @property
    def rate(self) -> Fraction:
        return 2 * super().rate


# Over time -----------------------------------------------------------------------------------


def vector(mistake: str, **more: Any) -> SparseVector:
    return Broken(
        threshold_epsilon=1, query_epsilon=2, aboves=1, mistake=mistake, **RELATION, **more
    )


@dataclass(frozen=True, kw_only=True)
class NoQueryNoise(SparseVector):
    """Compares exact queries with a noisy threshold."""

    def _run(self, state: State, noise: Noise) -> SparseVectorRun:
        run: Any = super()._run(state, noise)
        draw = run._draw
        run._draw = lambda scale: 0 if scale == self.query_scale else draw(scale)
        kept: SparseVectorRun = run
        return kept


def bare_transformation(answers: tuple[int, ...]) -> Any:
    """Dwork-Naor-Pitassi-Rothblum's transformation, whose new values have no noise."""
    return PublishesTheAnswer(
        algorithm=Scripted(answers=answers),
        epsilon=4,
        horizon=2,
        changes=1,
        jump=0,
        sensitivity=1,
        threshold=0,
    )


def transformed() -> Enumerated:
    """That transformation of two answers that differ by one."""

    def program(answers: tuple[int, ...]) -> Callable[[Noise], Hashable]:
        recipe = bare_transformation(answers)
        return lambda noise: repr(list(recipe.start(noise).feed([None, None])))

    return enumerated_loss(program((5, 5)), program((6, 6)), epsilon=4, modulus=3)
