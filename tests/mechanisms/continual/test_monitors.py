"""Window monitors: the truth without noise, the sensitivity by brute force, state, refusals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import USER, Neighbours
from ameles.core.loss import Pure
from ameles.core.recipe import recipe_from_json
from ameles.ledger import Ledger
from ameles.mechanisms.continual.monitor import WindowMonitor
from ameles.mechanisms.continual.monitors import ABOVE, BELOW, HALTED, WindowMonitors
from ameles.mechanisms.continual.noisy_threshold import Said
from ameles.noise import System, Tape, Zero
from tests.each import together

CANARY = 8_675_309
CODES = {Said.ABOVE: ABOVE, Said.BELOW: BELOW, Said.HALTED: HALTED}
ROWS = np.array([[1, 9, 0], [4, -2, 6], [0, 7, 7], [3, 0, 0], [3, 1, -9], [9, 6, 2], [5, 5, 5]])


def monitors(**parameters: Any) -> WindowMonitors:
    given = {"epsilon": 1, "width": 3, "window": 3, "threshold": 6, "aboves": 2, **parameters}
    return WindowMonitors(**given)


@pytest.mark.parametrize("window", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("aboves", [1, 2, 100])
def test_without_noise_each_key_is_a_monitor_of_its_own(window: int, aboves: int) -> None:
    codes = monitors(window=window, aboves=aboves).start(Zero()).feed(ROWS)
    for key in range(3):
        alone = WindowMonitor(epsilon=1, window=window, threshold=6, aboves=aboves)
        replies = alone.start(Zero()).feed(ROWS[:, key].tolist())
        assert codes[:, key].tolist() == [CODES[reply.said] for reply in replies]


def test_one_key_is_the_window_monitor_draw_by_draw() -> None:
    parameters: dict[str, Any] = {"epsilon": 2, "window": 2, "threshold": 5, "aboves": 20}
    tape = Tape(beyond=System())
    replies = WindowMonitor(**parameters).start(tape).feed(ROWS[:, 0].tolist())
    again = Tape(tape.values)
    codes = WindowMonitors(width=1, **parameters).start(again).feed(ROWS[:, :1])
    assert codes[:, 0].tolist() == [CODES[reply.said] for reply in replies]
    assert again.draws == tape.draws
    plain = WindowMonitors(width=1, **parameters).start(Tape(tape.values))
    assert plain.step(int(ROWS[0, 0])).tolist() == codes[0].tolist()
    assert plain.feed(ROWS[1:, 0]).tolist() == codes[1:].tolist()


def test_a_key_hears_nothing_of_the_others() -> None:
    tape = Tape(beyond=System())
    together = monitors(epsilon=5).start(tape).feed(ROWS)
    drawn = np.array(tape.values).reshape(-1, 3)
    for key in range(3):
        alone = monitors(width=1).start(Tape(drawn[:, key].tolist())).feed(ROWS[:, [key]])
        assert together[:, [key]].tolist() == alone.tolist()


@pytest.mark.parametrize("contributions", [1, 2, 3])
@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 2])
def test_the_sensitivity_by_brute_force(width: int, window: int, contributions: int) -> None:
    steps, bound = 4, 2
    recipe = monitors(width=width, window=window, contributions=contributions, bound=bound)
    rows = [
        row
        for row in product(range(-bound, bound + 1), repeat=width)
        if sum(map(abs, row)) in (0, bound)
    ]
    worst = 0
    for change in product(rows, repeat=steps):
        if sum(any(row) for row in change) > contributions:
            continue
        padded = np.concatenate([np.zeros((window, width), dtype=int), np.array(change)])
        sums = np.cumsum(padded, axis=0)
        windows = sums[window:] - sums[:steps]
        worst = max(worst, int(np.abs(windows).max(axis=0).sum()))
    assert recipe.sensitivity == worst == bound * min(contributions, window * width)
    assert recipe.comparison.sensitivity == worst


def test_the_guarantee_is_one_that_a_ledger_takes() -> None:
    recipe = monitors(unit="user", contributions=2, bound=5, horizon=30, monotone=True)
    assert str(recipe.guarantee) == (
        "epsilon 1 for one user: present or absent, changing up to 2 steps by at most 5 (L1), "
        "over 30 steps"
    )
    assert recipe.comparison.guarantee.loss == recipe.guarantee.loss
    ledger = Ledger("visitors", cap=Pure(1), unit=USER, neighbours=Neighbours.USER_PRESENCE)
    run = ledger.start(recipe, on="flu", why="alerts")
    assert run.feed(np.zeros((30, 3), dtype=np.int64)).shape == (30, 3)
    assert ledger.left == Pure(0)
    assert monitors(monotone=True).guarantee.neighbours is Neighbours.ADD_REMOVE
    assert monitors().guarantee.neighbours is Neighbours.STEP
    assert monitors(monotone=True).error.bound(1, 0.05) < monitors().error.bound(1, 0.05)


def test_keys_of_single_events_cost_what_one_does() -> None:
    assert monitors(width=1000).comparison == monitors(width=1).comparison


def test_steps_and_resuming_equal_going_on_and_the_size_is_fixed() -> None:
    recipe = monitors(epsilon=20)
    tape = Tape(beyond=System())
    expected = recipe.start(tape).feed(ROWS).tolist()
    script = tape.values
    one_by_one = recipe.start(Tape(script))
    assert [one_by_one.step(row).tolist() for row in ROWS] == expected
    sizes = set()
    for cut in range(len(ROWS) + 1):
        tape = Tape(script)
        run = recipe.start(tape)
        before = run.feed(ROWS[:cut]).tolist()
        again = recipe.resume(run.snapshot(), Tape(script[len(tape.draws) :]))
        assert (again.id, again.t) == (run.id, cut)
        assert before + again.feed(ROWS[cut:]).tolist() == expected
        sizes.add(len(run.snapshot()))
    assert len(sizes) == 1
    assert sizes.pop() <= 8 * recipe.memory + 200
    assert sum(part.size for part in run._parts()) == recipe.memory


def test_a_halted_key_is_forgotten_and_draws_on() -> None:
    tape = Tape()
    run = monitors(aboves=1, width=2).start(tape)
    assert run.feed([[CANARY, 0], [CANARY, 0], [0, 0]])[:, 0].tolist() == [ABOVE, HALTED, HALTED]
    assert CANARY.to_bytes(8, "little") not in run.snapshot()
    assert len(tape.draws) == 2 + 3 * 2
    assert run.halted.tolist() == [True, False]
    run = monitors(aboves=1, width=2).start(Zero())
    run.feed([[CANARY, 0]])
    run.feed([[CANARY, 0]])
    assert CANARY.to_bytes(8, "little") not in run.snapshot()


FAR = 2**63 - 1


@together("rho", [-FAR, -(2**62), -1, 0, 2**62, FAR])
@together("nu", [-FAR, -(2**62), 0, 2**62, FAR])
@together("x", [-FAR, -1, 0, 2**61, FAR])
@together("threshold", [-(2**61), 0, 2**61])
def test_no_comparison_wraps(rho: int, nu: int, x: int, threshold: int) -> None:
    recipe = monitors(width=1, window=1, threshold=threshold)
    codes = recipe.start(Tape([rho, nu])).step(np.array([x]))
    count = max(-(2**61), min(2**61, x))
    assert codes.tolist() == [ABOVE if count + nu >= threshold + rho else BELOW]


def test_inputs_without_a_sign_and_long_windows_are_clamped() -> None:
    run = monitors(width=1, window=1, aboves=5).start(Zero())
    assert run.step(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [ABOVE]
    run = monitors(width=1, window=1000, aboves=10**6, threshold=2**60).start(Zero())
    codes = run.feed(np.full((3000, 1), FAR))[:, 0]
    # a thousandth of 2**61 each: half of the window reaches 2**60
    assert codes.tolist() == [BELOW] * 500 + [ABOVE] * 2500


def test_bad_inputs_change_nothing_and_are_not_told() -> None:
    run = monitors(horizon=4).start(Zero())
    run.step([1, 2, 3])
    before = run.snapshot()
    bad_rows: list[Any] = [None, [1, 2], [1.0, 2.0, float(CANARY)], ["1", "2", str(CANARY)]]
    bad_rows += [[[1, 2, 3]], CANARY, [Fraction(CANARY), 1, 2], {}]
    for bad in bad_rows:
        for call in (run.step, lambda x: run.feed([[1, 2, 3], x])):
            with pytest.raises(BadInput) as caught:
                call(bad)
            assert str(CANARY) not in str(caught.value)
    with pytest.raises(HorizonReached):
        run.feed(np.zeros((4, 3), dtype=np.int64))
    assert run.snapshot() == before
    assert run.feed([]).shape == (0, 3)
    assert run.snapshot() == before
    assert "step 1" in repr(run)


def test_what_cannot_be_is_refused() -> None:
    for parameters in (
        {"bound": 2**30},
        {"window": 0},
        {"width": 0},
        {"aboves": 0},
        {"width": 2**13, "window": 2**12},
        {"threshold": 2**62},
    ):
        with pytest.raises(BadInput):
            monitors(**parameters)


def test_recipes_survive_json() -> None:
    recipe = monitors(monotone=True, unit="user-window:30")
    again = recipe_from_json(recipe.to_json(), {"WindowMonitors": WindowMonitors})
    assert again == recipe
