"""The summed shape: noise taken ahead, in blocks, never past the horizon."""

from __future__ import annotations

from fractions import Fraction
from threading import Thread
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import RunSpent
from ameles.core.guarantee import EVENT, Neighbours
from ameles.core.loss import Pure
from ameles.ledger.ledger import Ledger
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.summed import AHEAD
from ameles.mechanisms.snapshot import unpack
from ameles.noise import Tape, Zero
from ameles.noise.arrays import IntArray


def test_a_plain_counter_takes_noise_in_blocks() -> None:
    tape = Tape()
    run = SimpleOneCounter(epsilon=1, horizon=10_000).start(tape)
    run.step(1)
    assert len(tape.draws) == AHEAD
    for _ in range(AHEAD):
        run.step(1)
    assert len(tape.draws) == 2 * AHEAD


def test_it_takes_no_noise_past_the_horizon() -> None:
    tape = Tape()
    SimpleOneCounter(epsilon=1, horizon=5).start(tape).step(1)
    assert len(tape.draws) == 5


def test_a_wide_counter_takes_one_step_at_a_time() -> None:
    tape = Tape()
    run = SimpleOneCounter(epsilon=1, horizon=50, width=2 * AHEAD).start(tape)
    run.step(np.zeros(2 * AHEAD, dtype=int))
    assert len(tape.draws) == 2 * AHEAD


def test_the_snapshot_has_what_was_taken_ahead() -> None:
    recipe = SimpleOneCounter(epsilon=1, horizon=8)
    run = recipe.start(Tape(range(10, 18)))
    run.step(5)
    run.step(5)
    sums, ahead, _ = unpack(run.snapshot(), recipe.fingerprint).parts
    assert sums.tolist() == [10]
    assert ahead.tolist() == [12, 13, 14, 15, 16, 17]


@pytest.mark.parametrize("width", [None, 1, 3])
def test_a_release_does_not_change_afterwards(width: int | None) -> None:
    run = SimpleOneCounter(epsilon=1, horizon=8, width=width).start(Zero())
    x = 1 if width is None else np.ones(width, dtype=np.int64)
    first = run.step(x)
    fed = run.feed([x, x])
    kept = [np.array(first).tolist(), fed.tolist()]
    if width is not None:
        x += 100  # the caller may reuse its array
    run.feed([x, x])
    assert [np.array(first).tolist(), fed.tolist()] == kept


def test_running_sums_of_wide_counters_are_added_row_by_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = np.arange(-30, 30, dtype=np.int64).reshape(12, 5) * (1 << 58)  # they wrap
    each = []
    for wide in (1, 1 << 40):
        monkeypatch.setattr("ameles.mechanisms.counters.summed.WIDE", wide)
        run = SimpleOneCounter(epsilon=1, horizon=12, width=5).start(Zero())
        each.append(np.concatenate([run.feed(rows[a:b]) for a, b in ((0, 7), (7, 7), (7, 12))]))
    assert np.array_equal(each[0], each[1])
    assert np.array_equal(each[0], np.cumsum(rows, axis=0))


class Interrupted(Tape):
    """A tape during which somebody presses Ctrl-C, or memory runs out."""

    def __init__(self, calls: int, problem: type[BaseException]) -> None:
        super().__init__()
        self._left, self._problem = calls, problem

    def go_on(self) -> None:
        self._left = 1 << 30

    def laplace(self, scale: Fraction, size: Any) -> IntArray:
        self._left -= 1
        if self._left < 0:
            raise self._problem
        return super().laplace(scale, size)


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("way", ["step", "feed"])
def test_a_run_that_was_interrupted_while_it_drew_noise_does_not_go_on(
    problem: type[BaseException], way: str
) -> None:
    # A wide Hats counter draws into rows that hold noise released before.
    recipe = HatsCounter(epsilon=1, horizon=100, width=AHEAD)
    row = np.zeros(AHEAD, dtype=np.int64)
    ended = 0
    for calls in range(12):
        run = recipe.start(Interrupted(calls, problem))
        try:
            for _ in range(recipe.horizon):
                run.step(row) if way == "step" else run.feed([row])
        except problem:
            ended += 1
            with pytest.raises(RunSpent, match="interrupted within a step"):
                run.step(row)
            with pytest.raises(RunSpent, match="interrupted within a step"):
                run.feed([row])
            with pytest.raises(RunSpent, match="interrupted within a step"):
                run.snapshot()
    assert ended > 5


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_an_interrupted_run_goes_on_from_a_snapshot_of_its_last_step(rows: int) -> None:
    tape = Interrupted(5, KeyboardInterrupt)
    ledger = Ledger("visits", cap=Pure(1), unit=EVENT, neighbours=Neighbours.ADD_REMOVE, noise=tape)
    recipe = HatsCounter(epsilon=1, horizon=100, width=AHEAD)
    run = ledger.start(recipe, on="site", why="test")
    row, snapshot, step = np.ones(AHEAD, dtype=np.int64), b"", 0
    for _ in range(recipe.horizon):
        snapshot, step = run.snapshot(), run.t
        try:
            run.feed([row] * rows) if rows else run.step(row)
        except KeyboardInterrupt:
            break
    assert 1 < run.t == step < recipe.horizon
    tape.go_on()
    resumed = ledger.resume(recipe, snapshot)
    assert resumed.step(row).tolist() == [step + 1] * AHEAD


def test_an_interrupted_run_does_not_use_noise_that_was_taken_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_memory(rows: IntArray) -> IntArray:
        raise MemoryError

    run = SimpleOneCounter(epsilon=1, horizon=100).start(Zero())
    run.step(1)
    monkeypatch.setattr(run, "_running", no_memory)
    with pytest.raises(MemoryError):
        run.feed([1])
    with pytest.raises(RunSpent, match="interrupted within a step"):
        run.step(1)


class Noticing(np.ndarray[Any, np.dtype[np.int64]]):
    """Noise that asks another thread, whenever it is added, if that one could draw now."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **others: Any) -> Any:
        asking = Thread(target=QUESTIONS.pop())
        asking.start()
        asking.join()
        return getattr(ufunc, method)(*(np.asarray(one) for one in inputs), **others)


QUESTIONS: list[Any] = []


@pytest.mark.parametrize("way", ["step", "feed"])
def test_noise_is_added_before_another_thread_can_draw(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The next cell of a wide Hats counter is drawn into the rows of the last one.
    run: Any = HatsCounter(epsilon=1, horizon=100, width=AHEAD).start(Zero())
    take, turn, free = run._process.take, run.progress.turn, []
    monkeypatch.setattr(run._process, "take", lambda n: take(n).view(Noticing))

    def ask() -> None:
        free.append(turn.acquire(blocking=False))
        if free[-1]:
            turn.release()

    row = np.zeros(AHEAD, dtype=np.int64)
    for _ in range(3):
        QUESTIONS.append(ask)
        run.step(row) if way == "step" else run.feed([row])
    assert free == [False] * 3
