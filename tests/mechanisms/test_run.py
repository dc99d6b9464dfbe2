"""One payment is one run: spent with all runs inside it, refused in other processes.

That every run of the catalogue keeps to this is a check of all recipes: see ``tests/one_run.py``.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import RunSpent
from ameles.mechanisms import run as run_module
from ameles.mechanisms.continual.afresh import Afresh
from ameles.mechanisms.continual.estimators.distinct import NoisyDistinct
from ameles.mechanisms.continual.renewed import Renewed
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.run import live_runs
from ameles.noise import System, Tape
from tests import one_run

NESTED = Renewed(
    inner=Afresh(
        algorithm=NoisyDistinct(users=9, epsilon=1, neighbours="user-presence"),
        horizon=2,
        epsilon=1,
        sensitivity=1,
    )
)


def test_a_spent_run_tells_who_it_was_and_nothing_else() -> None:
    run: Any = SimpleOneCounter(epsilon=1, horizon=9).start(System())
    run.step(1)
    run.spend()
    with pytest.raises(RunSpent, match="resumed from a snapshot and is spent") as caught:
        run.step(1)
    assert caught.value.why
    assert caught.value.tip
    assert run.t == 1
    assert len(run.id) == 32
    assert one_run.still_answers(run, 1) == []


def test_runs_inside_runs_are_spent_with_them() -> None:
    run: Any = NESTED.start(System.direct())
    inside = [run, run._inner, run._inner._inner, run._inner._inner._table]
    assert list(one_run.runs_of(run)) == inside
    assert all(one_run.still_answers(one, 1) for one in inside[::-1])
    run.spend()
    assert not any(one_run.still_answers(one, 1) for one in inside)


def test_a_run_is_known_while_it_lives_and_goes_on() -> None:
    recipe = SimpleTwoCounter(epsilon=1)
    run: Any = recipe.start(System.direct())
    beside: Any = recipe.resume(run.snapshot(), System.direct())
    name, gone = run.id, weakref.ref(run)
    assert set(live_runs(name)) == {run, beside}
    assert live_runs("0" * 32) == []
    beside.spend()
    assert live_runs(name) == [run]
    del run
    gc.collect()
    assert gone() is None
    assert live_runs(name) == []


def test_a_fork_that_python_does_not_notice_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Steps that use noise drawn before look at a flag, which such a fork does not clear: they
    # repeat what the other process releases, until there is something to draw.
    recipe = SimpleOneCounter(epsilon=1, horizon=10_000)
    tape = Tape(beyond=System())
    run = recipe.start(tape)
    run.step(1)
    drawn = len(tape.draws)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    for _ in range(drawn - 1):
        run.step(1)
    with pytest.raises(RunSpent, match="forked"):
        run.step(1)
    with pytest.raises(RunSpent, match="forked"):
        run.feed([1])
    with pytest.raises(RunSpent, match="forked"):
        run.snapshot()
    assert len(tape.draws) == drawn


@pytest.mark.parametrize("width", [None, 3])
def test_in_a_forked_child_noise_drawn_before_is_refused_too(width: int | None) -> None:
    run = SimpleOneCounter(epsilon=1, horizon=10_000, width=width).start(System())
    x = 1 if width is None else np.ones(3, dtype=np.int64)
    run.step(x)
    assert not one_run.answers_after_a_fork(run, x)
    run.step(x)


def test_a_child_of_a_fork_starts_runs_of_its_own() -> None:
    with run_module._lock:  # as another thread may hold it
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            code = 1
            try:
                run: Any = SimpleOneCounter(epsilon=1, horizon=9).start(System())
                run.step(1)
                code = 0 if live_runs(run.id) == [run] else 2
            finally:
                os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_runs_come_and_go_in_many_threads() -> None:
    recipe = SimpleTwoCounter(epsilon=1)
    problems: list[BaseException] = []

    def churn() -> None:
        try:
            for _ in range(200):
                run: Any = recipe.start(System.direct())
                assert live_runs(run.id) == [run]
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=churn) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
