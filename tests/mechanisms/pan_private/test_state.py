"""The state is the snapshot: all that a run can reach is looked at, after many steps."""

from __future__ import annotations

import gc
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.noise import Shape
from ameles.mechanisms.counters.folded import FoldedCounterRun
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray
from ameles.noise.coin import count_of
from tests.mechanisms.pan_private.twins import HoardingRun, KeepsExpiredNoise, KeepsItsInput

CANARY = 8_675_309
RECIPES: list[CounterRecipe] = [
    PanPrivateCounter(epsilon=1, horizon=64),
    PanPrivateCounter(epsilon=1, horizon=50, width=3),
    PanPrivateCounter(epsilon=1, width=2),
    PanPrivateCounter(epsilon=1, horizon=64, intrusions="announced"),
    PanPrivateTreeCounter(epsilon=1, horizon=64, width=3),
    PanPrivateTreeCounter(epsilon=1, horizon=64, arity=2),
    PanPrivatePlaceCounter(epsilon=1, horizon=64, width=3),
    PanPrivatePlaceCounter(epsilon=1, horizon=365, intrusions="announced"),
]
EACH = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: repr(recipe)[:90])


class Marked(Zero):
    """Noise of which every draw is another number, handed out and remembered elsewhere."""

    handed: ClassVar[list[IntArray]] = []
    values: ClassVar[list[int]] = []

    def laplace(self, scale: Fraction, size: Shape) -> IntArray:
        first = len(self.values) + 1
        drawn = np.arange(first, first + count_of(size), dtype=np.int64) ** 3 * 1_000_003
        self.values.extend(drawn.tolist())
        self.handed.append(drawn.reshape(size))
        return self.handed[-1]


def reachable(run: object) -> list[object]:
    """All objects that can be reached from a run, but for code and classes."""
    waiting: list[object] = [run]
    objects: dict[int, object] = {}
    while waiting:
        held = waiting.pop()
        if id(held) in objects or isinstance(held, type) or callable(held):
            continue
        objects[id(held)] = held
        waiting.extend(gc.get_referents(held))
    return list(objects.values())


def numbers(run: object) -> set[int]:
    """All numbers that can be reached, in whatever they are."""
    values: set[int] = set()
    for held in reachable(run):
        if isinstance(held, int | np.integer):
            values.add(int(held))
        elif isinstance(held, np.ndarray):
            values.update(held.reshape(-1).tolist())
    return values


def arrays(run: object) -> dict[int, int]:
    """The arrays that can be reached: where their numbers are, and how many."""
    return {held.ctypes.data: held.size for held in reachable(run) if isinstance(held, np.ndarray)}


def folded(recipe: CounterRecipe, noise: Any) -> FoldedCounterRun:
    run = recipe.start(noise)
    assert isinstance(run, FoldedCounterRun)
    return run


def some_input(recipe: CounterRecipe, value: int) -> Any:
    return value if recipe.width is None else np.full(recipe.width, value)


def state_of(recipe: CounterRecipe, run: FoldedCounterRun) -> set[int]:
    parts = unpack(run.snapshot(), recipe.fingerprint).parts
    return {int(number) for part in parts for number in part}


def fresh_marks() -> Marked:
    Marked.handed.clear()
    Marked.values.clear()
    return Marked()


@EACH
def test_nothing_lives_in_a_run_but_its_snapshot(recipe: CounterRecipe) -> None:
    run = folded(recipe, System.direct())
    for _ in range(37):
        run.step(some_input(recipe, 1))
    run.add(some_input(recipe, 1))
    public = numbers(recipe) | {run.t} | set(run.id.encode()) | numbers(recipe.start(Zero()))
    assert numbers(run) - public <= state_of(recipe, run)
    assert not [held for held in reachable(run) if isinstance(held, bytearray | memoryview)]


@EACH
def test_buffers_are_overwritten_and_never_replaced(recipe: CounterRecipe) -> None:
    run = folded(recipe, System.direct())
    before = arrays(run)
    for _ in range(20):
        run.step(some_input(recipe, 1))
    run.feed([some_input(recipe, 1)] * 20)
    assert arrays(run) == before
    assert sum(before.values()) <= recipe.memory


@EACH
def test_no_input_outlives_its_call(recipe: CounterRecipe) -> None:
    # noise is non-zero, so no number of the state equals an input or a sum of them
    run = folded(recipe, fresh_marks())
    for _ in range(5):
        run.add(some_input(recipe, CANARY))
        assert not {CANARY * n for n in range(1, 10)} & numbers(run)
        run.release()
    run.feed([some_input(recipe, CANARY)] * 4)
    assert not {CANARY * n for n in range(1, 10)} & numbers(run)


def test_a_run_that_keeps_its_input_is_caught() -> None:
    run = folded(KeepsItsInput(epsilon=1, horizon=64, width=3), fresh_marks())
    run.step(np.full(3, CANARY))
    assert CANARY in numbers(run)


@EACH
def test_expired_noise_is_overwritten_at_the_step_that_ends_it(recipe: CounterRecipe) -> None:
    run = folded(recipe, fresh_marks())
    for step in range(1, 41):
        run.step(some_input(recipe, 0))
        left = set(Marked.values) & numbers(run)
        levels = getattr(recipe, "levels", 1)
        if isinstance(recipe, PanPrivatePlaceCounter):
            levels = recipe.shape.levels
        # level l has an open interval unless one has just ended; trees have one block a level
        still = sum(step % (1 << level) != 0 for level in range(levels))
        if isinstance(recipe, PanPrivateTreeCounter | PanPrivatePlaceCounter):
            still = levels
        assert len(left) <= recipe.columns * (still + 1)


def test_a_run_that_keeps_expired_noise_is_caught() -> None:
    recipe = KeepsExpiredNoise(epsilon=1, horizon=64)
    run = folded(recipe, fresh_marks())
    assert isinstance(run, HoardingRun)
    for _ in range(4):
        run.step(0)
    assert len(set(Marked.values) & numbers(run)) > 1 + 3


@EACH
def test_what_was_drawn_is_wiped(recipe: CounterRecipe) -> None:
    # what a step publishes is returned by the tree's publication noise: a number, not the noise
    run = folded(recipe, fresh_marks())
    for _ in range(5):
        run.step(some_input(recipe, 1))
    run.feed([some_input(recipe, 1)] * 20)
    for drawn in Marked.handed:
        assert not set(drawn.reshape(-1).tolist()) & set(Marked.values)


@EACH
def test_the_snapshot_has_one_size(recipe: CounterRecipe) -> None:
    run = folded(recipe, System.direct())
    sizes = {len(run.snapshot())}
    for x in range(40):
        run.add(some_input(recipe, 1000**5 * (x % 2)))
        sizes.add(len(run.snapshot()))
        run.release()
        sizes.add(len(run.snapshot()))
    assert len(sizes) == 1


@EACH
def test_a_run_resumes_between_add_and_release(recipe: CounterRecipe) -> None:
    run = folded(recipe, Tape(range(1, 100)))
    for _ in range(3):
        run.step(some_input(recipe, 1))
    run.add(some_input(recipe, 5))
    resumed = recipe.resume(run.snapshot(), Zero())
    assert isinstance(resumed, FoldedCounterRun)
    assert resumed.snapshot() == run.snapshot()
    resumed.release()
    assert resumed.t == 4


@EACH
def test_a_keystream_in_memory_is_refused(recipe: CounterRecipe) -> None:
    with pytest.raises(BadInput, match=r"start\(System.direct\(\)\)"):
        recipe.start(System())


@pytest.mark.parametrize("width", [None, 3])
def test_intrusions_at_every_step_find_a_noisy_sum(width: int | None) -> None:
    recipe = SimpleTwoCounter(epsilon=1, width=width)
    run = folded(recipe, fresh_marks())
    for _ in range(5):
        run.step(some_input(recipe, CANARY))
    assert not {CANARY * n for n in range(1, 10)} & numbers(run)
