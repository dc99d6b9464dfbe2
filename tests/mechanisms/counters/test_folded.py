"""The folded shape: nothing is drawn ahead, and inputs do not outlive the call."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from ameles.core.exceptions import HorizonReached
from ameles.mechanisms.counters.folded import FoldedCounterRun
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.noise import Tape

CANARY = 8_675_309


def test_nothing_is_drawn_before_it_is_needed() -> None:
    tape = Tape()
    run = SimpleTwoCounter(epsilon=1, width=4).start(tape)
    assert len(tape.draws) == 0
    run.step(np.zeros(4, dtype=int))
    assert len(tape.draws) == 4


def test_no_input_is_reachable_after_the_call() -> None:
    run = SimpleTwoCounter(epsilon=1, width=4).start(Tape([17] * 4))
    run.step(np.full(4, CANARY))
    seen: list[object] = [run]
    visited: set[int] = set()
    while seen:
        held = seen.pop()
        if id(held) in visited or isinstance(held, type) or len(visited) > 20_000:
            continue
        visited.add(id(held))
        if isinstance(held, np.ndarray):
            assert CANARY not in held.tolist()
        assert not (isinstance(held, int) and held == CANARY)
        if type(held).__module__.startswith(("ameles", "builtins")):
            seen.extend(ref for ref in gc.get_referents(held) if not callable(ref))
    assert len(visited) > 10


def test_past_the_horizon_nothing_is_added_or_released() -> None:
    tape = Tape()
    run = SimpleTwoCounter(epsilon=1, horizon=2).start(tape)
    assert isinstance(run, FoldedCounterRun)
    for _ in range(2):
        run.add(1)
        run.release()
    before, drawn = run.snapshot(), len(tape.draws)
    with pytest.raises(HorizonReached):
        run.add(1)
    with pytest.raises(HorizonReached):
        run.release()
    assert run.snapshot() == before
    assert len(tape.draws) == drawn


def test_a_release_does_not_change_afterwards() -> None:
    run = SimpleTwoCounter(epsilon=1, width=2).start(Tape([1, 2, 3, 4]))
    first = run.step(np.ones(2, dtype=int))
    run.step(np.ones(2, dtype=int))
    assert first.tolist() == [2, 3]


@pytest.mark.parametrize("width", [None, 2])
def test_step_is_add_then_release(width: int | None) -> None:
    script = list(range(1, 9))
    recipe = SimpleTwoCounter(epsilon=1, width=width)
    x = 5 if width is None else np.array([5, 6])
    stepped, split = recipe.start(Tape(script)), recipe.start(Tape(script))
    assert isinstance(split, FoldedCounterRun)
    for _ in range(3):
        split.add(x)
        assert np.array_equal(stepped.step(x), split.release())
