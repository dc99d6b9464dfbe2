"""Siblings gives the numbers of its definition: by steps, in bulk, and with the compiled loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ameles.mechanisms.counters import siblings, siblings_kernel
from ameles.mechanisms.counters.siblings import SiblingsCounter, integer_weights, settle
from ameles.mechanisms.counters.siblings_kernel import AT_A_TIME, HALF, SHIFT
from ameles.noise import System, Tape, kernels
from ameles.noise.arrays import IntArray


def script_for(recipe: SiblingsCounter) -> list[int]:
    """Real draws for all steps of a recipe."""
    tape = Tape(beyond=System())
    recipe.process(tape, None).take(recipe.horizon)
    return tape.values


def by_definition(recipe: SiblingsCounter, script: list[int]) -> list[list[int]]:
    """The noise of every step, from the tree's nodes and the weights, one number at a time."""
    sizes, k = recipe.sizes, recipe.sizes[0]
    weights = integer_weights(k, len(sizes)).tolist()
    rows = iter(np.array(script).reshape(-1, recipe.columns).tolist())
    groups: list[list[list[int]]] = [[] for _ in sizes]
    released = []
    for t in range(1, recipe.horizon + 1):
        for level, size in enumerate(sizes):
            top = level == len(sizes) - 1
            if t == 1 or (not top and t % k ** (level + 1) == 0):
                groups[level] = [next(rows) for _ in range(size)]
        digits = [t // k**level % k for level in range(len(sizes))]
        row = []
        for column in range(recipe.columns):
            noises = [[node[column] for node in group] for group in groups]
            left = sum(sum(noises[level][:digit]) for level, digit in enumerate(digits))
            pull = 0
            for level in range(1, len(sizes)):
                residual = noises[level][digits[level]] - sum(noises[level - 1])
                pull += residual * sum(
                    weight * digit for weight, digit in zip(weights[level - 1], digits, strict=True)
                )
            row.append(left + (pull + HALF >> SHIFT))
        released.append(row)
    assert next(rows, None) is None, "the script has draws that the definition does not know"
    return released


RECIPES = [
    SiblingsCounter(epsilon=1, horizon=1, width=2),
    SiblingsCounter(epsilon=1, horizon=6, arity=7, width=2),  # one level
    SiblingsCounter(epsilon=1, horizon=130, arity=2, width=1),
    SiblingsCounter(epsilon="1/100", horizon=300, arity=5, width=3),
]
recipes = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: f"arity {recipe.arity}")


@pytest.fixture(params=["numpy", "compiled"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without numba; or with it, for however few counters."""
    monkeypatch.setattr(kernels, "available", lambda: request.param == "compiled")
    monkeypatch.setattr(siblings, "WORTH_COMPILING", 1)


@recipes
@pytest.mark.usefixtures("either_way")
def test_steps_have_the_noise_of_the_definition(recipe: SiblingsCounter) -> None:
    script = script_for(recipe)
    process = recipe.process(Tape(script), None)
    taken = [process.take(1)[0].tolist() for _ in range(recipe.horizon)]
    assert taken == by_definition(recipe, script)


@recipes
@pytest.mark.parametrize("together", [20, 60, 1 << 16])
def test_bulk_has_the_noise_of_the_definition(
    recipe: SiblingsCounter, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = script_for(recipe)
    monkeypatch.setattr(siblings, "TOGETHER", together)
    expected = by_definition(recipe, script)
    for cuts in ([], [1], [4, 5], [0, 24, 25, 26], [10, 124, 125, 126, 200]):
        process = recipe.process(Tape(script), None)
        taken: list[list[int]] = []
        for end in [*(cut for cut in cuts if cut < recipe.horizon), recipe.horizon]:
            taken += process.take(end - len(taken)).tolist()
        assert taken == expected, f"cut at {cuts}"


def settled(loop: Callable[..., int], columns: int) -> IntArray:
    """Some rows after a loop; two levels above five leaves."""
    rows = np.arange(18 * columns, dtype=np.int64).reshape(18, columns) * 7919 % 10_007 - 5_000
    lefts, totals = np.array([7, 14]), np.array([5, 11])
    loop(rows, 5, lefts, totals, np.array([-300, 1234]), np.array([55, -4096]))
    return rows


@pytest.mark.parametrize("columns", [1, AT_A_TIME - 1, AT_A_TIME, 2 * AT_A_TIME + 3])
def test_the_loop_settles_as_numpy_does(columns: int) -> None:
    expected = settled(settle, columns).tolist()
    assert settled(siblings_kernel.settle, columns).tolist() == expected
    assert settled(kernels.compiled(siblings_kernel.settle), columns).tolist() == expected


def test_both_ways_wrap_alike() -> None:
    def wrapping(loop: Callable[..., int]) -> IntArray:
        rows = np.full((6, 1), (1 << 63) - 1)
        rows[4] = -5
        loop(rows, 2, np.array([3]), np.array([2]), np.array([1 << 40]), np.array([3]))
        return rows

    expected = wrapping(settle).tolist()
    assert wrapping(kernels.compiled(siblings_kernel.settle)).tolist() == expected


def test_narrow_counters_never_load_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(kernels, "compiled")
    run = SiblingsCounter(epsilon=1, horizon=50, width=100).start(System(compiled=False))
    run.step(np.zeros(100, dtype=np.int64))


def test_a_wide_step_gives_a_row_that_is_no_part_of_the_state() -> None:
    recipe = SiblingsCounter(epsilon=1, horizon=50, arity=3, width=2000)
    run = recipe.start(System())
    ones = np.ones(2000, dtype=np.int64)
    release = run.step(ones)
    before = run.snapshot()
    release[:] = 0
    assert run.snapshot() == before
