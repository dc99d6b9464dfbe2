"""Window monitor: the truth without noise, the sensitivity by brute force, the halt."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput, HorizonReached
from ameles.core.guarantee import Neighbours, Unit
from ameles.core.loss import Pure
from ameles.core.recipe import recipe_from_json
from ameles.ledger import Ledger
from ameles.mechanisms.continual.monitor import WindowMonitor
from ameles.mechanisms.continual.noisy_threshold import Said
from ameles.noise import System, Tape, Zero

CANARY = 8_675_309


def monitor(**parameters: Any) -> WindowMonitor:
    return WindowMonitor(**{"epsilon": 1, "window": 3, "threshold": 6, "aboves": 2, **parameters})


@pytest.mark.parametrize("window", [1, 2, 3, 7, 20])
def test_without_noise_it_counts_the_last_steps(window: int) -> None:
    xs = [1, 4, 0, 3, 3, 9, -2, 0, 0, 7, 1, 5]
    run = monitor(window=window, aboves=100, answering="1/2").start(Zero())
    for t, x in enumerate(xs):
        count = sum(xs[max(0, t + 1 - window) : t + 1])
        reply = run.step(x)
        assert reply.said is (Said.ABOVE if count >= 6 else Said.BELOW)
        assert reply.answer == (count if count >= 6 else None)


def test_it_halts_and_forgets() -> None:
    run = monitor(aboves=1).start(Zero())
    said = [reply.said for reply in run.feed([CANARY, CANARY, 0, 0])]
    assert said == [Said.ABOVE, Said.HALTED, Said.HALTED, Said.HALTED]
    assert CANARY.to_bytes(8, "little") not in run.snapshot()
    assert run.t == 4


@pytest.mark.parametrize("window", [1, 2, 3, 5])
@pytest.mark.parametrize("contributions", [1, 2, 4])
def test_the_sensitivity_by_brute_force(window: int, contributions: int) -> None:
    steps, bound = 5, 2
    recipe = monitor(window=window, contributions=contributions, bound=bound)
    worst = 0
    for changed in combinations(range(steps), contributions):
        for signs in product((-bound, bound), repeat=contributions):
            change = np.zeros(steps, dtype=int)
            change[list(changed)] = signs
            counts = [change[max(0, t + 1 - window) : t + 1].sum() for t in range(steps)]
            worst = max(worst, int(np.abs(counts).max()))
    assert recipe.sensitivity == worst == bound * min(contributions, window)
    assert recipe.comparison.sensitivity == worst


def test_the_guarantee_and_the_noise() -> None:
    recipe = monitor(contributions=2, bound=5, unit="user", horizon=30, epsilon="1/2")
    assert str(recipe.guarantee) == (
        "epsilon 0.5 for one user: streams that differ in up to 2 steps by at most 5 (L1), "
        "over 30 steps"
    )
    assert recipe.comparison.guarantee.loss == recipe.guarantee.loss
    assert recipe.comparison.threshold_scale == 10 / recipe.comparison.threshold_epsilon
    counted = monitor(monotone=True)
    assert counted.guarantee.neighbours is Neighbours.ADD_REMOVE
    assert counted.error.bound_all(100, 0.05) < monitor().error.bound_all(100, 0.05)


def test_resuming_equals_going_on_and_the_size_is_fixed() -> None:
    recipe = monitor(epsilon=20)
    xs = [1, 4, 0, 3, 3, 9, -2, 5]
    tape = Tape(beyond=System())
    expected = recipe.start(tape).feed(xs)
    script = tape.values
    sizes = set()
    for cut in range(len(xs) + 1):
        tape = Tape(script)
        run = recipe.start(tape)
        before = run.feed(xs[:cut])
        again = recipe.resume(run.snapshot(), Tape(script[len(tape.draws) :]))
        assert (again.id, again.t) == (run.id, cut)
        assert before + again.feed(xs[cut:]) == expected
        sizes.add(len(run.snapshot()))
    assert len(sizes) == 1
    assert sizes.pop() <= 8 * recipe.memory + 200


def test_inputs_beyond_64_bits_are_clamped_not_wrapped() -> None:
    run = monitor(window=1, aboves=5).start(Zero())
    said = [run.step(x).said for x in (2**70, -(2**70), 2**63, 2**64)]
    assert said == [Said.ABOVE, Said.BELOW, Said.ABOVE, Said.ABOVE]


def test_bad_inputs_change_nothing_and_are_not_told() -> None:
    run = monitor(horizon=4).start(Zero())
    run.step(1)
    before = run.snapshot()
    for bad in (None, float(CANARY), str(CANARY), Fraction(CANARY), [CANARY], False):
        for call in (run.step, lambda x: run.feed([1, x])):
            with pytest.raises(BadInput) as caught:
                call(bad)
            assert str(CANARY) not in str(caught.value)
    with pytest.raises(HorizonReached):
        run.feed([0] * 4)
    assert run.snapshot() == before
    assert "step 1" in repr(run)


def test_what_cannot_be_is_refused() -> None:
    for parameters in ({"bound": 2**30}, {"window": 0}, {"aboves": 0}, {"answering": 1}):
        with pytest.raises(BadInput):
            monitor(**parameters)


def test_counts_are_refused_from_where_they_would_not_fit() -> None:
    # 2**40 events of this size, and noise of a few millions, are just below 2**62
    assert monitor(epsilon=1, bound=2**22 - 1).bound == 2**22 - 1
    with pytest.raises(BadInput, match="64 bits"):
        monitor(epsilon=1, bound=2**22)


def test_recipes_survive_json() -> None:
    recipe = monitor(answering="1/3", monotone=True, unit="user-window:30")
    again = recipe_from_json(recipe.to_json(), {"WindowMonitor": WindowMonitor})
    assert again == recipe


@pytest.mark.parametrize("unit", ["event", "user", "user-window:7"])
@pytest.mark.parametrize("monotone", [False, True])
def test_a_ledger_of_its_unit_sells_it(unit: str, monotone: bool) -> None:
    recipe = WindowMonitor(epsilon=1, window=2, threshold=5, aboves=2, unit=unit, monotone=monotone)
    relation = Neighbours.ADD_REMOVE if unit == "event" else Neighbours.USER_PRESENCE
    ledger = Ledger("people", cap=Pure(1), unit=Unit.tagged(unit), neighbours=relation)
    ledger.start(recipe, on="stream", why="alerts")
    assert ledger.left == Pure(0)
