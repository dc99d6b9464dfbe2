"""Runs with one input a step: identity, room, and that a refused call has changed nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from ameles.core.exceptions import BadInput, HorizonReached, RunSpent
from ameles.core.noise import Noise
from ameles.core.parameters import OptionalHorizon
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct, NoisyDistinct
from ameles.mechanisms.continual.monitor import WindowMonitor
from ameles.mechanisms.continual.sparse_vector import above_threshold
from ameles.mechanisms.continual.transformation import HALTED, continual
from ameles.mechanisms.mechanism import Startable
from ameles.mechanisms.snapshot import State, run_id, unpack
from ameles.mechanisms.stepped import SteppedRun, integer
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray

CANARY = 8_675_309


@dataclass(frozen=True, kw_only=True)
class Sum(Startable["SumRun"]):
    horizon: OptionalHorizon = OptionalHorizon()
    seizable: ClassVar[bool] = False

    @property
    def steps(self) -> int | None:
        return self.horizon

    def _run(self, state: State, noise: Noise) -> SumRun:
        return SumRun(self, state)


class SumRun(SteppedRun[object, int]):
    def __init__(self, recipe: Sum, state: State) -> None:
        super().__init__(recipe, state)
        self._sum = int(state.parts[0][0]) if state.parts else 0

    def _parts(self) -> tuple[IntArray, ...]:
        return (np.array([self._sum]),)

    def _checked(self, x: object) -> int:
        return integer(x, "number")

    def _step(self, x: int) -> int:
        self._t += 1
        self._sum += x
        return self._sum


def test_steps_and_feeds_are_the_same_and_the_snapshot_has_its_head() -> None:
    recipe = Sum(horizon=4)
    run = SumRun(recipe, State(bytes(range(16)), 0, ()))
    assert [run.step(3), *run.feed(iter([4, 5]))] == [3, 7, 12]
    assert run_id(run.snapshot()) == (run.id, run.t) == (bytes(range(16)).hex(), 3)
    assert repr(run) == "<run of Sum at step 3>"
    again = SumRun(recipe, unpack(run.snapshot(), recipe.fingerprint))
    assert again.step(1) == run.step(1) == 13


def test_steps_past_the_horizon_are_refused() -> None:
    run = SumRun(Sum(horizon=4), State(bytes(16), 0, ()))
    with pytest.raises(HorizonReached, match="has 4 steps and has taken 0; 5 more"):
        run.feed([1] * 5)
    assert run.feed([1] * 4) == [1, 2, 3, 4]
    with pytest.raises(HorizonReached, match="1 more"):
        run.step(1)
    assert run.t == 4
    endless = SumRun(Sum(), State(bytes(16), 0, ()))
    assert endless.feed([1] * 100)[-1] == 100


def test_a_spent_run_looks_at_no_input() -> None:
    run = SumRun(Sum(horizon=4), State(bytes(16), 0, ()))
    run.spend()
    for asked in (run.check, run.step, lambda x: run.feed([x])):
        with pytest.raises(RunSpent):
            asked("no number")


def recipes() -> list[Any]:
    shared: dict[str, Any] = {"horizon": 9, "epsilon": 1}
    rises: dict[str, Any] = {"changes": 3, "jump": 1, "sensitivity": 1, **shared}
    noisy = NoisyDistinct(users=9, epsilon=1, neighbours="user-presence")
    return [
        above_threshold(aboves=2, threshold=3, neighbours="add-remove", **shared),
        WindowMonitor(window=2, threshold=3, aboves=2, **shared),
        continual(ExactDistinct(users=9), **rises),
        continual(noisy, **rises),
    ]


@pytest.mark.parametrize(
    "recipe", recipes(), ids=lambda r: type(getattr(r, "algorithm", r)).__name__
)
@pytest.mark.parametrize("bad", [1.0, "3", True, [[1]], CANARY * 1.0, {CANARY: 1}])
def test_a_feed_with_one_bad_input_changes_nothing_and_draws_nothing(recipe: Any, bad: Any) -> None:
    tape = Tape(beyond=System.direct())
    run = recipe.start(tape)
    run.feed([1, 2])
    before, drawn = run.snapshot(), len(tape.draws)
    if hasattr(recipe, "algorithm") and not isinstance(bad, dict):
        bad = np.array([CANARY * 1.0])  # another value of a user is odd, and no error
    for xs in ([3, 4, bad], [bad, 3], iter([3, bad])):
        with pytest.raises(BadInput) as caught:
            run.feed(xs)
        assert str(CANARY) not in str(caught.value)
    with pytest.raises(BadInput):
        run.step(bad)
    with pytest.raises(HorizonReached):
        run.feed([1] * 8)
    assert (run.snapshot(), len(tape.draws), run.t) == (before, drawn, 2)


def test_after_a_halt_inputs_are_not_looked_at() -> None:
    shared: dict[str, Any] = {"horizon": 9, "epsilon": 100}
    recipe = continual(ExactDistinct(users=99), changes=0, jump=1, sensitivity=1, **shared)
    run = recipe.start(Zero())
    assert run.feed([range(99)]) == [HALTED]
    assert run.feed(["nobody", CANARY]) == [HALTED, HALTED]
