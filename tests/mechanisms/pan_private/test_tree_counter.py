"""The pan-private tree counter: its draws, its blocks, and how it compares with figure 12.2."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.pan_private import tree_run
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.mechanisms.pan_private.tree_error import published_cost
from ameles.mechanisms.pan_private.tree_run import PanPrivateTreeRun
from ameles.mechanisms.snapshot import unpack
from ameles.noise import System, Tape, Zero
from tests import checks
from tests.each import together
from tests.mechanisms.pan_private import test_state
from tests.mechanisms.pan_private.test_counter import Failing
from tests.test_catalogue import VARIANTS


def mean_std(recipe: PanPrivateTreeCounter) -> float:
    """The root of the mean variance over the horizon, of the discrete noise."""
    assert recipe.horizon is not None
    blocks = published_cost(recipe.horizon, recipe.arity or 2) / recipe.levels**2
    one = 0.5 / math.sinh(1 / (2 * float(recipe.scale))) ** 2
    return math.sqrt(2 * blocks * one)


@pytest.mark.parametrize(("horizon", "frontier"), [(2**10, 22.1), (2**16, 43.8), (2**20, 61.2)])
def test_the_frontier_is_reached(horizon: int, frontier: float) -> None:
    recipe = PanPrivateTreeCounter(epsilon=1, horizon=horizon)
    assert mean_std(recipe) == pytest.approx(frontier, rel=0.005)
    assert mean_std(recipe) <= 0.45 * PanPrivateCounter(epsilon=1, horizon=horizon).error.std(1)


@pytest.mark.parametrize(("horizon", "arity"), [(40, 3), (27, 3), (28, 3), (1000, 11), (16, 16)])
def test_the_cost_is_that_of_every_step(horizon: int, arity: int) -> None:
    recipe = PanPrivateTreeCounter(epsilon=1, horizon=horizon, arity=arity)
    variances = [recipe.error.std(t) ** 2 for t in range(1, horizon + 1)]
    assert mean_std(recipe) == pytest.approx(math.sqrt(sum(variances) / horizon))


@pytest.mark.parametrize("horizon", [2, 5, 64, 100, 1000, 2**16])
def test_no_arity_is_better_than_the_chosen_one(horizon: int) -> None:
    chosen = PanPrivateTreeCounter(epsilon=1, horizon=horizon)
    costs = [published_cost(horizon, k) for k in range(2, 64)]
    assert published_cost(horizon, chosen.arity or 2) == min(costs)


def test_the_measured_deviation_is_the_stated_one() -> None:
    # 20,000 counters, 100 steps; the deviation of a mean square is below 1.1% of it at each step,
    # and 5 of those are below 6%: false alarm below 1e-4 for all steps together
    recipe = PanPrivateTreeCounter(epsilon=1, horizon=100, width=20_000)
    released = recipe.start(System.direct()).feed(np.zeros((100, 20_000), dtype=np.int64))
    measured = (released.astype(np.float64) ** 2).mean(axis=1)
    stated = [recipe.error.std(t) ** 2 for t in range(1, 101)]
    assert measured == pytest.approx(stated, rel=0.06)


@pytest.mark.parametrize(("horizon", "levels"), [(1, 1), (2, 1), (4, 2), (5, 3)])
def test_the_scale_is_what_one_unit_changes_in_all_levels(horizon: int, levels: int) -> None:
    recipe = PanPrivateTreeCounter(epsilon="1/2", horizon=horizon, arity=2, contributions=3)
    assert recipe.scale == 6 * levels


def test_blocks_open_before_their_first_event_and_are_published_with_fresh_noise() -> None:
    tape = Tape()
    run = PanPrivateTreeCounter(epsilon=1, horizon=4, arity=2).start(tape)
    assert isinstance(run, PanPrivateTreeRun)
    assert len(tape.draws) == 2
    counts = []
    for _ in range(4):
        run.add(1)
        before = len(tape.draws)
        run.release()
        counts.append(len(tape.draws) - before)
    # a publication each; one block opens, then two, one, and none after the last step
    assert counts == [2, 3, 2, 1]
    assert {draw.scale for draw in tape.draws} == {Fraction(2)}


def test_a_feed_that_fails_counts_the_steps_that_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_run, "CHUNK", 10)
    noise = Failing(1 + 2)  # the opening, and two chunks
    run = PanPrivateTreeCounter(epsilon=1, horizon=64, arity=3).start(noise)
    with pytest.raises(OSError, match="no entropy"):
        run.feed([1] * 50)
    assert run.t == 20
    noise.left = 100
    assert run.feed([1] * 15).tolist() == list(range(21, 36))


def test_what_is_published_is_not_what_was_in_the_state() -> None:
    recipe = PanPrivateTreeCounter(epsilon=1, horizon=4, arity=2)
    run = recipe.start(Tape([10, 20, 3]))
    assert isinstance(run, PanPrivateTreeRun)
    run.add(1)
    (opened, _) = unpack(run.snapshot(), recipe.fingerprint).parts
    assert opened.tolist() == [11, 21]
    assert run.release() == 14
    (opened, published) = unpack(run.snapshot(), recipe.fingerprint).parts
    assert opened.tolist() == [0, 21]  # the ended block's value is gone
    assert published.tolist() == [14, 0]


@pytest.mark.parametrize(("horizon", "arity"), [(200, 2), (200, 3), (125, 5), (200, 200)])
def test_a_long_feed_equals_steps(horizon: int, arity: int) -> None:
    recipe = PanPrivateTreeCounter(epsilon=1, horizon=horizon, arity=arity, width=2)
    script = Tape(beyond=System()).laplace(Fraction(9), 3000).tolist()
    xs = np.arange(2 * horizon).reshape(horizon, 2) % 7
    fed, stepped = recipe.start(Tape(script)), recipe.start(Tape(script))
    expected = [stepped.step(x).tolist() for x in xs]
    assert fed.feed(xs[:50]).tolist() + fed.feed(xs[50:]).tolist() == expected
    assert unpack(fed.snapshot(), recipe.fingerprint).parts[0].tolist() == (
        unpack(stepped.snapshot(), recipe.fingerprint).parts[0].tolist()
    )


# Without a horizon, and told of intrusions ----------------------------------------------------


OTHERS = [
    {"horizon": None},
    {"horizon": None, "arity": 3},
    {"intrusions": "announced"},
    {"horizon": None, "intrusions": "announced"},
]
EACH = pytest.mark.parametrize("other", OTHERS, ids=str)


@together("check", checks.CHECKS)
@together("variant", VARIANTS)
@EACH
def test_every_check(
    other: dict[str, Any], variant: str, check: Callable[[CounterRecipe], None]
) -> None:
    check(PanPrivateTreeCounter(**{**VARIANTS[variant], **other}))


@pytest.mark.parametrize(
    "check",
    [
        test_state.test_nothing_lives_in_a_run_but_its_snapshot,
        test_state.test_buffers_are_overwritten_and_never_replaced,
        test_state.test_no_input_outlives_its_call,
        test_state.test_what_was_drawn_is_wiped,
        test_state.test_the_snapshot_has_one_size,
        test_state.test_a_run_resumes_between_add_and_release,
        test_state.test_a_keystream_in_memory_is_refused,
    ],
    ids=lambda check: check.__name__,
)
@EACH
def test_the_state_is_the_snapshot(
    other: dict[str, Any], check: Callable[[CounterRecipe], None]
) -> None:
    check(PanPrivateTreeCounter(**{"epsilon": 1, "horizon": 64, "width": 2, **other}))


def started(recipe: PanPrivateTreeCounter, noise: Any) -> PanPrivateTreeRun:
    run = recipe.start(noise)
    assert isinstance(run, PanPrivateTreeRun)
    return run


def test_a_tree_opens_before_its_first_event_with_noise_of_its_own() -> None:
    tape = Tape()
    run = started(PanPrivateTreeCounter(epsilon=1, arity=2), tape)
    scales = []
    for _ in range(5):
        before = len(tape.draws)
        run.add(1)
        assert len(tape.draws) == before
        run.release()
        scales.append([draw.scale for draw in tape.draws[before:]])
    # a publication and what opens: one step; two levels; a step; three levels; a step
    assert scales == [[1, 1], [1, 2, 2], [2, 2], [2, 3, 3, 3], [3, 3]]


def test_what_earlier_trees_published_stays_in_all_later_counts() -> None:
    recipe = PanPrivateTreeCounter(epsilon=1, arity=2)
    run = recipe.start(Zero())
    assert [run.step(x) for x in range(1, 40)] == [t * (t + 1) // 2 for t in range(1, 40)]
    # after 4 steps: two single steps of the first tree, and one block of the second
    tape = Tape()
    recipe.start(tape).feed([0] * 16)
    rows = np.array([recipe.start(Tape.impulse(i)).feed([0] * 16) for i in range(len(tape.draws))])
    assert np.abs(rows).sum(axis=0)[[1, 3, 7, 15]].tolist() == [4, 6, 8, 10]


@pytest.mark.parametrize("arity", [2, 3, 16])
@pytest.mark.parametrize("intrusions", ["one", "announced"])
def test_a_long_feed_equals_steps_without_a_horizon(
    arity: int, intrusions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_run, "CHUNK", 100)
    recipe = PanPrivateTreeCounter(epsilon=1, arity=arity, width=2, intrusions=intrusions)
    script = Tape(beyond=System()).laplace(Fraction(9), 3000).tolist()
    xs = np.arange(400).reshape(200, 2) % 7
    fed, stepped = started(recipe, Tape(script)), started(recipe, Tape(script))
    expected, released = [], []
    for part in (xs[:21], xs[21:90], xs[90:]):
        expected += [stepped.step(x).tolist() for x in part]
        released += fed.feed(part).tolist()
        if intrusions == "announced":
            stepped.announce()
            fed.announce()
    assert released == expected
    states = [unpack(run.snapshot(), recipe.fingerprint).parts for run in (fed, stepped)]
    assert all(np.array_equal(one, other) for one, other in zip(*states, strict=True))


@pytest.mark.parametrize("calls", [0, 1])
def test_a_release_that_fails_has_not_happened(calls: int) -> None:
    # the second release also draws for the next tree
    noise = Failing(1 + 1)
    run = started(PanPrivateTreeCounter(epsilon=1, arity=2), noise)
    run.step(1)
    run.add(1)
    before = run.snapshot()
    noise.left = calls
    with pytest.raises(OSError, match="no entropy"):
        run.release()
    assert run.snapshot() == before
    noise.left = 10
    assert run.release() == 2


def test_an_announcement_adds_a_noise_to_every_open_block() -> None:
    recipe = PanPrivateTreeCounter(epsilon=1, horizon=8, arity=2, intrusions="announced")
    tape = Tape([0] * 5 + [100, 200, 300])
    run = started(recipe, tape)
    run.step(1)
    run.add(1)
    assert len(tape.draws) == 5
    run.announce()
    assert len(tape.draws) == 8
    opened, published = unpack(run.snapshot(), recipe.fingerprint).parts
    assert opened.tolist() == [101, 202, 302]
    assert published.tolist() == [1, 0, 0]  # what is public already stays
    # the block of two steps takes over, with its one noise
    assert [run.release(), run.step(1), run.step(1)] == [202, 203, 304]
