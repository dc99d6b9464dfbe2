"""The summed shape: noise taken ahead, in blocks, never past the horizon."""

from __future__ import annotations

import numpy as np
import pytest

from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.summed import AHEAD
from ameles.mechanisms.snapshot import unpack
from ameles.noise import Tape, Zero


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
