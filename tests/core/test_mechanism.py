"""The protocols of a mechanism: a toy that has all of them, and toys that lack something.

The annotations are what mypy checks; ``lacks`` does the same at run time, so that it can
also be shown to fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ameles.core.exceptions import HorizonReached
from ameles.core.guarantee import EVENT, Contribution, Guarantee, Intrusions, Neighbours, Norm
from ameles.core.loss import Pure
from ameles.core.mechanism import Mechanism, Noise, Run, Shape
from ameles.core.parameters import Epsilon, Horizon
from ameles.core.recipe import Recipe, recipe_from_json

from .protocols import lacks, members
from .test_error import LaplaceError

if TYPE_CHECKING:
    from ameles.core.mechanism import BoolArray, IntArray


class Still:
    """Noise that is always zero, true or the first."""

    genuine = False
    forgetful = True

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    def gaussian(self, variance: Fraction, size: Shape) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    def bernoulli(self, p: Fraction, size: Shape) -> BoolArray:
        return np.ones(size, dtype=np.bool_)

    def bernoulli_exp(self, gamma: Fraction, size: Shape) -> BoolArray:
        return np.ones(size, dtype=np.bool_)

    def uniform(self, n: int, size: Shape) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    def choose(self, gammas: Sequence[Fraction]) -> int:
        return 0


class One(Still):
    """Laplace noise that is always one, so that a test sees where it went."""

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        return np.ones(size, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class NoisySteps(Recipe):
    """Each input with fresh noise: the smallest mechanism there is."""

    epsilon: Epsilon = Epsilon()
    horizon: Horizon = Horizon()

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            loss=Pure(self.epsilon),
            unit=EVENT,
            neighbours=Neighbours.STEP,
            contribution=Contribution(steps=1, bound=1, norm=Norm.L1),
            horizon=self.horizon,
            intrusions=Intrusions.NONE,
        )

    @property
    def error(self) -> LaplaceError:
        return LaplaceError()

    def start(self, noise: Noise) -> NoisyRun:
        return NoisyRun(self, noise, t=0)

    def resume(self, snapshot: bytes, noise: Noise) -> NoisyRun:
        return NoisyRun(self, noise, t=json.loads(snapshot)["t"])


class NoisyRun:
    id = "toy"

    def __init__(self, recipe: NoisySteps, noise: Noise, t: int) -> None:
        self.recipe = recipe
        self.noise = noise
        self.t = t

    def step(self, x: int) -> int:
        if self.t == self.recipe.horizon:
            raise HorizonReached("The stream has had all its steps.")
        self.t += 1
        return x + int(self.noise.laplace(1 / self.recipe.epsilon, 1)[0])

    def feed(self, xs: Iterable[int]) -> Sequence[int]:
        return [self.step(x) for x in xs]

    def snapshot(self) -> bytes:
        return json.dumps({"t": self.t}).encode()


TOY = NoisySteps(epsilon="1/2", horizon=4)


def test_a_toy_is_a_mechanism_for_mypy_and_at_run_time() -> None:
    mechanism: Mechanism[int, int] = TOY
    run: Run[int, int] = mechanism.start(Still())
    noise: Noise = Still()
    assert lacks(type(mechanism), Mechanism) == []
    assert lacks(type(noise), Noise) == []
    # id and t are attributes of the run itself, which a protocol's property allows
    assert [each for each in lacks(type(run), Run) if each != "t is missing"] == []
    assert run.t == 0


def test_the_protocols_ask_for_what_the_design_lists() -> None:
    assert list(members(Mechanism)) == ["guarantee", "error", "start", "resume"]
    assert list(members(Run)) == ["id", "t", "step", "feed", "snapshot"]
    assert list(members(Noise)) == [
        "genuine",
        "forgetful",
        "laplace",
        "gaussian",
        "bernoulli",
        "bernoulli_exp",
        "uniform",
        "choose",
    ]


def test_a_mechanism_that_cannot_resume_is_seen() -> None:
    class Forgetful:
        guarantee = TOY.guarantee
        error = TOY.error

        def start(self) -> None: ...

    assert lacks(Forgetful, Mechanism) == ["start does not take self, noise", "resume is missing"]


def test_a_guarantee_that_must_be_called_is_seen() -> None:
    class Calling:
        error = TOY.error
        start = NoisySteps.start
        resume = NoisySteps.resume

        def guarantee(self) -> Guarantee:
            return TOY.guarantee

    assert lacks(Calling, Mechanism) == ["guarantee is not a property"]


def test_noise_without_a_law_is_seen() -> None:
    class Partial:
        genuine = True
        forgetful = True

        def laplace(self, scale: Fraction) -> int:
            return 0

    assert lacks(Partial, Noise)[:2] == [
        "laplace does not take self, scale, size",
        "gaussian is missing",
    ]


def test_a_run_without_noise_gives_the_truth_and_with_noise_does_not() -> None:
    assert TOY.start(Still()).feed([3, 1, 4, 1]) == [3, 1, 4, 1]
    assert TOY.start(One()).feed([3, 1, 4, 1]) == [4, 2, 5, 2]


def test_a_run_ends_at_its_horizon() -> None:
    run = TOY.start(Still())
    run.feed([0] * 4)
    with pytest.raises(HorizonReached):
        run.step(0)


def test_a_run_resumes_at_its_step() -> None:
    run = TOY.start(Still())
    run.step(1)
    assert TOY.resume(run.snapshot(), Still()).t == run.t == 1


def test_only_the_run_changes() -> None:
    before = TOY.to_json()
    TOY.start(Still()).step(1)
    assert TOY.to_json() == before
    assert recipe_from_json(before, {"NoisySteps": NoisySteps}) == TOY
