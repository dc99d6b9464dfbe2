"""What all counters share: parameters, wrap, inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.catalogue import COUNTERS
from ameles.mechanisms.counters.gaussian.calibration import GaussianCounter
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.noise import Tape, Zero
from tests.checks import build
from tests.each import together

EACH = pytest.mark.parametrize("mechanism", COUNTERS, ids=lambda kind: kind.__name__)
Kind = Callable[..., CounterRecipe]
# A counter of bits has another mean without noise, and its sums have one bit a step.
SUMS = [kind for kind in COUNTERS if not kind.bits]
EACH_SUM = pytest.mark.parametrize("mechanism", SUMS, ids=lambda kind: kind.__name__)
PURE = [kind for kind in SUMS if not issubclass(kind, GaussianCounter)]


@EACH
@together(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": 1e-300},
        {"epsilon": 10**6},
        {"epsilon": "much"},
        {"epsilon": None},
        {"horizon": 0},
        {"horizon": 2.0},
        {"horizon": -5},
        {"width": 0},
        {"width": 2**40},
        {"contributions": 0},
        {"contributions": 1.5},
        {"bound": 0},
        {"bound": True},
        {"unit": "person"},
    ],
)
def test_bad_parameters_finish_the_sentence(mechanism: Kind, wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(BadInput, match="must be") as refusal:
        build(mechanism, **{"epsilon": 1, "horizon": 8, **wrong})
    assert name in str(refusal.value) or name == "unit"


@EACH_SUM
def test_parameters_that_could_reach_the_wrap_are_refused(mechanism: Kind) -> None:
    with pytest.raises(BadInput, match="64 bits"):
        build(mechanism, epsilon=1, horizon=8, bound=2**30)


@pytest.mark.parametrize("mechanism", PURE, ids=lambda kind: kind.__name__)
def test_noise_that_could_reach_the_wrap_is_refused(mechanism: Kind) -> None:
    with pytest.raises(BadInput, match="64 bits"):
        build(mechanism, epsilon=1e-8, horizon=2**12, contributions=2**36, bound=2**20)


@EACH_SUM
@pytest.mark.parametrize("width", [None, 2])
def test_sums_wrap_and_never_fail(mechanism: Kind, width: int | None) -> None:
    largest = 2**63 - 1
    x = largest if width is None else np.full(width, largest)
    recipe = build(mechanism, epsilon=1, horizon=8, width=width)
    for releases in (
        [recipe_run.step(x) for recipe_run in [recipe.start(Zero())] for _ in range(3)],
        recipe.start(Zero()).feed([x, x, x]),
    ):
        expected = [largest, -2, largest - 2]
        assert [int(np.asarray(release).flat[0]) for release in releases] == expected


def test_integers_beyond_64_bits_wrap_too() -> None:
    for recipe in (SimpleOneCounter(epsilon=1, horizon=3), SimpleTwoCounter(epsilon=1)):
        run = recipe.start(Zero())
        assert run.step(2**64 + 5) == 5
        again = recipe.resume(run.snapshot(), Zero())
        assert again.step(2**70) == 5


@EACH_SUM
def test_a_feed_takes_large_integers_as_steps_do(mechanism: Kind) -> None:
    # numpy makes floats, objects or unsigned numbers of these lists
    for numbers in ([1, 2**63], [2**63, -1], [2**64 + 5, 3], [2**64 - 1, 2]):
        recipe = build(mechanism, epsilon=1, horizon=8)
        run = recipe.start(Zero())
        steps = [run.step(x) for x in numbers]
        assert recipe.start(Zero()).feed(numbers).tolist() == steps
        wide = build(mechanism, epsilon=1, horizon=8, width=2).start(Zero())
        assert wide.feed([[x, x] for x in numbers])[:, 1].tolist() == steps


@EACH
def test_ragged_and_masked_inputs_are_refused_before_anything_changes(mechanism: Kind) -> None:
    for width in (None, 2):
        tape = Tape()
        run = build(mechanism, epsilon=1, horizon=8, width=width).start(tape)
        before, drawn = run.snapshot(), tape.count
        for bad in ([[1], [0, 1]], np.ma.array([1, 0], mask=[False, True]), [1, 2**70, 0.5]):
            with pytest.raises(BadInput, match="takes integers"):
                run.feed(bad)
        if width:
            with pytest.raises(BadInput, match="masked"):
                run.step(np.ma.array([1, 0], mask=[False, True]))
        assert (run.snapshot(), tape.count) == (before, drawn)


@EACH
def test_bools_among_integers_are_refused_before_anything_changes(mechanism: Kind) -> None:
    # numpy makes integers of such lists
    plain: list[Any] = [[1, True], (True, 0), [0, np.False_], [np.int64(1), np.True_]]
    wide: list[Any] = [
        *([[1, True], [0, 1]], [(1, 0), (0, False)], [[1, np.True_]]),
        *([np.array([1, 0]), np.array([True, False])], [[1, 0], np.array([True, True])]),
    ]
    for width, inputs in ((None, plain), (2, wide)):
        tape = Tape()
        run = build(mechanism, epsilon=1, horizon=8, width=width).start(tape)
        before, drawn = run.snapshot(), tape.count
        for bad in inputs:
            with pytest.raises(BadInput, match=r"takes integers\. Got a bool"):
                run.feed(bad)
        if width:
            with pytest.raises(BadInput, match=r"takes integers\. Got a bool"):
                run.step([1, True])
        assert (run.snapshot(), tape.count) == (before, drawn)


@EACH_SUM
def test_numpy_integers_of_all_kinds_are_integers(mechanism: Kind) -> None:
    run = build(mechanism, epsilon=1, horizon=20).start(Zero())
    for kind in (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64):
        run.step(kind(1))
    assert run.feed(np.ones(2, dtype=np.uint8)).tolist() == [7, 8]
    assert run.step(np.array(1)) == 9


@EACH
def test_an_empty_feed_is_no_steps(mechanism: Kind) -> None:
    for width in (None, 3):
        run = build(mechanism, epsilon=1, horizon=20, width=width).start(Zero())
        assert len(run.feed([])) == 0
        assert run.t == 0


@EACH
def test_recipes_compare_hash_and_print(mechanism: Kind) -> None:
    one, same, other = (build(mechanism, epsilon=e, horizon=8) for e in (0.1, "1/10", 0.2))
    assert one == same
    assert len({one, same, other}) == 2
    assert "epsilon=Fraction(1, 10)" in repr(one)
