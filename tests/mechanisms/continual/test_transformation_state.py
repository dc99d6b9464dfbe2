"""What an intruder finds: nothing of a step, and of the threshold's noise what is still open."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.core.noise import Noise
from ameles.mechanisms.continual.transformation import ContinualRun
from ameles.mechanisms.snapshot import State, unpack
from ameles.noise import Tape, Zero
from tests.mechanisms.continual.scripted import Scripted, ScriptedRun, scripted

ANSWER = 8_675_309
NOISES = [1_000_003 * k for k in (3, 5, 7, 11, 13, 17, 19, 23)]


def test_ended_intervals_are_overwritten() -> None:
    recipe = scripted((0,) * 6, threshold=10**9)
    run = recipe.start(Tape(NOISES[:1] * 99))
    opened = []
    for _ in range(6):
        run.step(None)
        opened.append(unpack(run.snapshot(), recipe.fingerprint).parts[1].astype(bool).tolist())
    assert opened == [
        [False, True, True],
        [False, False, True],
        [False, True, True],
        [False, False, False],
        [False, True, True],
        [False, False, False],  # the horizon ends them all
    ]


def reachable(held: object, seen: dict[int, object], numbers: set[int]) -> set[int]:
    """Every integer in what can be reached from an object's attributes and items."""
    if id(held) in seen or isinstance(held, type) or callable(held):
        return numbers
    seen[id(held)] = held
    if isinstance(held, int):
        numbers.add(int(held))
    elif isinstance(held, np.ndarray):
        numbers.update(int(value) for value in held.flat)
    elif isinstance(held, dict):
        for item in held.items():
            reachable(item, seen, numbers)
    elif isinstance(held, list | tuple | set | frozenset):
        for item in held:
            reachable(item, seen, numbers)
    elif not isinstance(held, str | bytes | Fraction | float):
        reachable(getattr(held, "__dict__", {}), seen, numbers)
        for name in getattr(type(held), "__slots__", ()):
            reachable(getattr(held, name, None), seen, numbers)
    return numbers


class Secretive(Zero):
    """Noise from a script that the run cannot be seen to hold."""

    def __init__(self, script: list[int]) -> None:
        self._next = iter(script).__next__

    def laplace(self, scale: Fraction, size: Any) -> Any:
        return super().laplace(scale, size) + self._next()


class KeepsTheAnswer(ContinualRun):
    """Keeps the answer of the last update, as the accuracy proof of the paper would."""

    def _decide(self, answer: int) -> Any:
        self._reference = answer
        return super()._decide(answer)


@pytest.mark.parametrize("threshold", [2**60, 0])  # never an update, and an update
def test_nothing_of_a_step_can_be_reached_after_it(threshold: int) -> None:
    # 4 steps: intervals of 1 and 2 start, the comparison, and where it is an update the value
    recipe = scripted((ANSWER,) * 4, threshold=threshold)
    hidden = replace(recipe, algorithm=_Hidden(answers=(0,) * 4))
    run = hidden.start(Secretive(NOISES))
    released = run.step(None)
    numbers = reachable(run, {}, set())
    leaf, open_interval, comparison, value = NOISES[:4]
    assert open_interval in numbers  # the walk sees what is there
    assert not {ANSWER, leaf, comparison, value} & numbers
    assert released in numbers
    for secret in (ANSWER, leaf, comparison, value):
        assert secret.to_bytes(8, "little") not in run.snapshot()
    run.step(None)
    assert open_interval not in reachable(run, {}, set())


def test_a_kept_answer_is_reached() -> None:
    # with a threshold that no answer passes, so that it is not published either
    recipe = replace(scripted((0,) * 4, threshold=2**60), algorithm=_Hidden(answers=(0,) * 4))
    honest = recipe.start(Zero())
    run = KeepsTheAnswer(recipe, unpack(honest.snapshot(), recipe.fingerprint), Zero())
    assert run.step(None) == honest.step(None) == 0
    assert ANSWER in reachable(run, {}, set())
    assert ANSWER not in reachable(honest, {}, set())


class _Hidden(Scripted):
    """Answers a number that is computed, so that it is in nobody's memory beforehand."""

    def _run(self, state: State, noise: Noise) -> ScriptedRun:
        return _HiddenRun(self, state)


class _HiddenRun(ScriptedRun):
    def answer(self) -> int:
        return int("8675309")
