"""Every generic check on every counter, and for every check a counter that it rejects.

What holds for all other mechanisms, too, is in ``test_recipes``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.counters.recipe import CounterRecipe, CounterRun
from ameles.mechanisms.counters.simple_one import IndependentError, SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.counters.summed import PlainRun, Process
from ameles.mechanisms.snapshot import State
from ameles.noise import System, Zero
from ameles.noise.arrays import IntArray
from tests import checks
from tests.checks import CheckFailed
from tests.each import each

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"epsilon": 1, "horizon": 64},
    "a vector": {"epsilon": "1/3", "horizon": 50, "width": 5},
    # wider than noise is taken ahead (1,024 numbers), and all of it more than a sampler's chunk
    "wide": {"epsilon": 2, "horizon": 64, "width": 1100},
    "a user": {
        "epsilon": 0.1,
        "horizon": 64,
        "unit": "user",
        "contributions": 3,
        "bound": 2,
        "width": 1,
    },
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("mechanism", COUNTERS, ids=lambda kind: kind.__name__)
def test_every_check_on_every_mechanism(
    mechanism: Callable[..., CounterRecipe], variant: str
) -> None:
    recipe = checks.build(mechanism, **VARIANTS[variant])
    each((check.__name__, check, (recipe,)) for check in checks.CHECKS)


@pytest.mark.parametrize("mechanism", COUNTERS, ids=lambda kind: kind.__name__)
def test_bounds_hold_on_every_mechanism(mechanism: Callable[..., CounterRecipe]) -> None:
    checks.bounds_hold(
        lambda width: checks.build(mechanism, epsilon=0.5, horizon=16, width=width),
        System.direct(),
    )


def test_names_in_the_catalogue_are_unique() -> None:
    names = [kind.__name__ for kind in COUNTERS]
    assert len(set(names)) == len(names)


# Broken mechanisms, one for each check ------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CountsFromOne(SimpleOneCounter):
    def process(self, noise: Noise, state: IntArray | None) -> Process:
        inner = super().process(noise, state)

        class Shifted:
            def take(self, n: int) -> IntArray:
                return inner.take(n) + 1

            def state(self) -> IntArray:
                return inner.state()

        return Shifted()


@dataclass(frozen=True, kw_only=True)
class ForgetsItsEpsilon(SimpleTwoCounter):
    def to_json(self) -> str:
        return SimpleTwoCounter(epsilon=1, horizon=self.horizon, width=self.width).to_json()


@dataclass(frozen=True, kw_only=True)
class ColumnsFirst(SimpleOneCounter):
    """Takes noise counter by counter, where the tape goes step by step."""

    def process(self, noise: Noise, state: IntArray | None) -> Process:
        scale, columns = self.scale, self.columns

        class Columns:
            def take(self, n: int) -> IntArray:
                return noise.laplace(scale, (columns, n)).T.copy()

            def state(self) -> IntArray:
                return np.empty(0, dtype=np.int64)

        return Columns()


class DropsItsQueue(PlainRun):
    def _unused(self) -> IntArray:
        return super()._unused()[:0]


@dataclass(frozen=True, kw_only=True)
class LosesNoiseAhead(SimpleOneCounter):
    def _run(self, state: State, noise: Noise) -> CounterRun:
        return DropsItsQueue(self, state, noise)


@dataclass(frozen=True, kw_only=True)
class TakesALotAhead(SimpleOneCounter):
    @property
    def ahead(self) -> int:
        return 50_000

    @property
    def steps(self) -> int:
        return 1 << 30

    @property
    def memory(self) -> int:
        return 1025


class Trusting(PlainRun):
    def step(self, x: Any) -> int:
        try:
            return super().step(x)
        except BadInput:
            return super().step(0)


@dataclass(frozen=True, kw_only=True)
class TakesAnything(SimpleOneCounter):
    def _run(self, state: State, noise: Noise) -> CounterRun:
        return Trusting(self, state, noise)


class Endless(PlainRun):
    def check_room(self, count: int) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class NeverEnds(SimpleOneCounter):
    def _run(self, state: State, noise: Noise) -> CounterRun:
        return Endless(self, state, noise)


class Talkative(PlainRun):
    def __repr__(self) -> str:
        return f"<run with sum {self._sum}>"


@dataclass(frozen=True, kw_only=True)
class TellsItsSum(SimpleOneCounter):
    def _run(self, state: State, noise: Noise) -> CounterRun:
        return Talkative(self, state, noise)


BROKEN: dict[Callable[[CounterRecipe], None], CounterRecipe] = {
    checks.zero_noise_is_the_truth: CountsFromOne(epsilon=1, horizon=64),
    checks.recipes_survive_json: ForgetsItsEpsilon(epsilon=2, horizon=64),
    checks.feed_equals_step: ColumnsFirst(epsilon=1, horizon=64, width=3),
    checks.resuming_equals_going_on: LosesNoiseAhead(epsilon=1, horizon=64),
    checks.memory_is_within_the_claim: TakesALotAhead(epsilon=1, horizon=64),
    checks.bad_inputs_change_nothing: TakesAnything(epsilon=1, horizon=64),
    checks.the_horizon_is_the_end: NeverEnds(epsilon=1, horizon=64),
    checks.nothing_tells_a_value: TellsItsSum(epsilon=1, horizon=64),
    # this module's docstring has no sections
    checks.docstrings_have_their_sections: TellsItsSum(epsilon=1, horizon=64),
}


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
def test_every_check_rejects_its_broken_mechanism(check: Callable[[CounterRecipe], None]) -> None:
    with pytest.raises(CheckFailed):
        check(BROKEN[check])


@dataclass(frozen=True, kw_only=True)
class TooSure(SimpleOneCounter):
    @property
    def error(self) -> IndependentError:
        return IndependentError(self.scale * 9 / 10)


def test_bounds_that_are_a_tenth_too_small_are_caught() -> None:
    with pytest.raises(CheckFailed):
        checks.bounds_hold(lambda width: TooSure(epsilon=0.5, horizon=16, width=width), System())


def test_no_noise_at_all_is_caught() -> None:
    with pytest.raises(CheckFailed):
        checks.bounds_hold(
            lambda width: SimpleOneCounter(epsilon=0.5, horizon=16, width=width), Zero()
        )
