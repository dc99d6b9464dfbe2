from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.mechanisms.discovery import DiscoveryRun, KeyDiscovery, KeyInputs, KeyOutputs
from ameles.noise import System, Tape, Zero

MANY = 4000  # a selection weight that is above every threshold here

RECIPE = KeyDiscovery(epsilon=6, delta="1e-9", horizon=12, records=4, looks=4)


def shown(run: DiscoveryRun, out: KeyOutputs) -> dict[str, list[int]]:
    return dict(zip(run.names(out.public), out.values.tolist(), strict=True))


def test_without_noise_public_keys_have_their_exact_counts() -> None:
    run = RECIPE.start(Zero())
    truth: dict[str, int] = {}
    steps = [
        {"a": (MANY, 3)},
        {"b": (1, 5)},
        {},
        {"b": (MANY, 1), "a": (0, 2)},
        {},
        {},
        {"a": (0, 1)},
    ]
    found = []
    for step in steps:
        out = run.step(step)
        for key, (_, amount) in step.items():
            truth[key] = truth.get(key, 0) + amount
        found.append(run.names(out.discovered))
        assert shown(run, out) == {key: [truth[key]] for key in run.names(out.public)}
    # looks are at steps 3, 6, 9 and 12
    assert found == [[], [], ["a"], [], [], ["b"], []]


def test_the_order_of_inputs_does_not_matter() -> None:
    rows = [[0, MANY, 3], [1, 8, 2], [2, MANY, 1]]
    results = []
    tape = Tape(beyond=System())
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        run = RECIPE.start(tape)
        run.numbers(["x", "y", "z"])
        table = np.array(rows)[order]
        inputs = KeyInputs(table[:, 0], table[:, 1], table[:, 2:])
        results.append(run.feed([inputs] * 7))
        tape = Tape(tape.values)
    assert results[0] == results[1] == results[2]


def test_numbers_in_another_order_give_the_same_without_noise() -> None:
    steps = [
        {"x": (MANY, 3), "y": (8, 2)},
        {"z": (MANY, 1)},
        {"y": (MANY, 4)},
        {},
        {},
        {"z": (0, 2)},
    ]
    results = []
    for keys in (["x", "y", "z"], ["z", "q", "y", "x"]):
        run = RECIPE.start(Zero())
        run.numbers(keys)
        results.append([shown(run, run.step(step)) for step in steps])
    assert results[0] == results[1]


def test_one_user_more_moves_only_that_users_keys() -> None:
    """All keys are named in both streams, so that one tape has the same draws for both."""
    steps = [dict.fromkeys("abcdef", (MANY, 5)), *[dict.fromkeys("abcdef", (3, 1))] * 8]
    tape = Tape(beyond=System())
    run = RECIPE.start(tape)
    before = [shown(run, run.step(step)) for step in steps]
    with_user = [dict(step) for step in steps]
    with_user[4]["b"] = (3, 2)  # no slot: which keys are found stays the same
    again = RECIPE.start(Tape(tape.values))
    after = [shown(again, again.step(step)) for step in with_user]
    assert any("b" in values for values in before)
    for step, (old, new) in enumerate(zip(before, after, strict=True), start=1):
        moved = {key: new[key][0] - old[key][0] for key in old}
        assert moved == {key: int(key == "b" and step >= 5) for key in old}


def test_a_resumed_run_goes_on_with_the_same_numbers() -> None:
    recipe = KeyDiscovery(
        epsilon=6, delta="1e-6", horizon=12, records=4, looks=6, cells=2, drop_after=2
    )
    steps: list[Any] = [
        {"ä": (MANY, 3, 1), "b": (4, 0, 1)},
        {"c": (0, 1, 1)},
        {"b": (MANY, 900, 1), "": (1, 1, 1)},
        {},
        {"c": (MANY, 0, 1)},
        {},
        {},
        {"ä": (1, 1, 0)},
        {},
        {},
    ]
    tape = Tape(beyond=System())
    run = recipe.start(tape)
    outs = [run.step(step) for step in steps]
    assert sum(out.dropped.size for out in outs) > 0
    for cut in range(len(steps) + 1):
        first = Tape(tape.values)
        run = recipe.start(first)
        before = [(out := run.step(step), run.names(out.dropped)) for step in steps[:cut]]
        run.numbers(["seen between steps"])
        resumed = recipe.resume(run.snapshot(), Tape(tape.values[first.count :]))
        if before:
            assert resumed.names(before[-1][0].dropped) == before[-1][1]
        assert resumed.numbers(["seen between steps"]) == run.numbers(["seen between steps"])
        assert np.array_equal(resumed.public, run.public)
        after = [resumed.step(step) for step in steps[cut:]]
        shown_before = [out.values.tolist() for out, _ in before]
        shown_after = [out.values.tolist() for out in after]
        assert shown_before + shown_after == [out.values.tolist() for out in outs]


def test_quiet_keys_are_dropped_by_their_released_numbers() -> None:
    recipe = KeyDiscovery(epsilon=6, delta="1e-6", horizon=12, records=4, drop_after=3)
    run = recipe.start(Zero())
    outs = [run.step({"busy": (MANY, 500), "quiet": (MANY, 500)})]
    outs += [run.step({"busy": (0, 500)}) for _ in range(5)]
    # found at step 1; marked at step 3; judged at step 6
    assert [run.names(out.dropped) for out in outs[-1:]] == [["quiet"]]
    assert all(not out.dropped.size for out in outs[:-1])
    assert len(outs[-1].public) == 2  # published for the last time
    old = int(outs[-1].dropped[0])
    out = run.step({"quiet": (MANY, 7)})
    assert run.names(out.discovered) == ["quiet"]
    assert out.discovered[0] != old  # a new number, and nothing of the old counts
    assert shown(run, out)["quiet"] == [7]
    with pytest.raises(BadInput):
        run.names([old])
    with pytest.raises(BadInput):
        run.step(KeyInputs.of(number=[old], selected=[0], amounts=[[1]]))


@pytest.mark.parametrize(
    "inputs",
    [
        KeyInputs.of(number=[2], selected=[0], amounts=[[1]]),
        KeyInputs.of(number=[-1], selected=[0], amounts=[[1]]),
        KeyInputs.of(number=[0, 0], selected=[0, 0], amounts=[[1], [1]]),
        KeyInputs.of(number=[0], selected=[-1], amounts=[[1]]),
        KeyInputs.of(number=[0], selected=[0], amounts=[[1, 2]]),
        KeyInputs.of(number=[0], selected=[0, 1], amounts=[[1]]),
    ],
)
def test_inputs_that_do_not_fit_are_refused_and_change_nothing(inputs: KeyInputs) -> None:
    run = RECIPE.start(Zero())
    run.numbers(["a", "b"])
    before = run.snapshot()
    with pytest.raises(BadInput):
        run.step(inputs)
    assert run.snapshot() == before
    with pytest.raises(BadInput):
        run.numbers("a")


def test_the_largest_weights_and_amounts_that_fit() -> None:
    largest = (1 << 62) - 1
    for row in [(largest + 1, 0), (0, largest + 1), (0, -largest - 1)]:
        run = RECIPE.start(Zero())
        with pytest.raises(BadInput, match="64 bits"):
            run.step({"a": row})
        run.step({"a": (0, largest)})


WEIGHTS = st.sampled_from([0, 0, 1, 4, 40, 90, 200])
TABLE = st.dictionaries(st.sampled_from("abcd"), st.tuples(WEIGHTS, st.integers(-3, 90)))


@settings(max_examples=25)
@given(st.lists(TABLE, min_size=6, max_size=12))
def test_without_noise_a_run_does_what_plain_sums_and_thresholds_say(
    steps: list[dict[str, tuple[int, int]]],
) -> None:
    """Key by key, with Python's integers: sums, smoothing, thresholds, and dropping."""
    recipe = KeyDiscovery(
        epsilon=6, delta="1e-9", horizon=12, records=4, looks=6, drop_after=4, slots=(4,)
    )
    law = recipe.selection
    weight: dict[str, int] = {}
    smooth: dict[str, int] = {}
    total: dict[str, int] = {}
    since: dict[str, int] = {}
    history: list[dict[str, int]] = [{}]
    run = recipe.start(Zero())
    for t, step in enumerate(steps, start=1):
        for key, (selected, amount) in step.items():
            total[key] = total.get(key, 0) + amount
            if selected and key not in since:
                weight[key] = weight.get(key, 0) + selected
        look = recipe.look_at(t)
        for key in sorted(weight) if look else []:
            before = smooth.get(key, 0)
            smooth[key] = before + (((weight[key] << law.noise.bits) - before) * law.gain >> 12)
            if smooth[key] >= law.thresholds[look - 1]:
                since[key] = t
                del weight[key], smooth[key]
        history.append({key: total[key] for key in since})
        out = run.step(step)
        assert shown(run, out) == {key: [value] for key, value in history[t].items()}
        assert dict(zip(run.names(out.public), out.since.tolist(), strict=True)) == since
        dropped = [
            key
            for key, first in since.items()
            if t % 4 == 0
            and first <= t - 4
            and abs(history[t][key] - history[t - 4][key])
            < recipe.value_error(first).between(t - 4, t).quantile(0.05)
        ]
        assert run.names(out.dropped) == dropped
        for key in dropped:
            del since[key], total[key]
