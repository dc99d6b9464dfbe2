"""Simple counter II: its loss from the code, with states; its walk; add and release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ameles.audit import Instant, Verdict
from ameles.audit import exact_loss as certified
from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Intrusions
from ameles.core.noise import Noise
from ameles.mechanisms.counters.folded import FoldedCounterRun
from ameles.mechanisms.counters.recipe import CounterRun
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter
from ameles.mechanisms.snapshot import State, unpack
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray
from tests.mechanisms.counters.loss import exact_loss


def folded(recipe: SimpleTwoCounter, noise: Any) -> FoldedCounterRun:
    run = recipe.start(noise)
    assert isinstance(run, FoldedCounterRun)
    return run


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 15])
def test_the_loss_is_exactly_epsilon_for_ever(steps: int) -> None:
    assert exact_loss(SimpleTwoCounter(epsilon="1/3"), steps) == Fraction(1, 3)


@pytest.mark.parametrize("contributions", [1, 2, 4])
def test_contributions_add_up(contributions: int) -> None:
    recipe = SimpleTwoCounter(epsilon=2, contributions=contributions, bound=3)
    assert exact_loss(recipe, 5) == 2


def test_half_the_scale_is_caught() -> None:
    @dataclass(frozen=True, kw_only=True)
    class HalfTheNoise(SimpleTwoCounter):
        @property
        def scale(self) -> Fraction:
            return super().scale / 2

    assert exact_loss(HalfTheNoise(epsilon=1), 4) == 2


def test_the_state_is_the_last_release_and_nothing_else() -> None:
    # so that seizing it after every step tells nothing that was not published
    recipe = SimpleTwoCounter(epsilon=1, width=3)
    run = recipe.start(System.direct())
    for _ in range(5):
        release = run.step(np.array([1, 2, 3]))
        sums, counted = unpack(run.snapshot(), recipe.fingerprint).parts
        assert sums.tolist() == release.tolist()
        assert counted.tolist() == [2 * run.t]  # how many noises there were: public


def test_the_state_between_add_and_release_has_its_noise() -> None:
    recipe = SimpleTwoCounter(epsilon=1)
    run = folded(recipe, Tape([5, 9]))
    run.add(1)
    (sums, counted) = unpack(run.snapshot(), recipe.fingerprint).parts
    assert (sums.tolist(), counted.tolist()) == ([6], [2 * 1 + 1])
    assert run.release() == 6
    run.add(1)
    resumed = recipe.resume(run.snapshot(), Zero())
    assert isinstance(resumed, FoldedCounterRun)
    assert resumed.release() == 16


def test_a_step_without_input_still_gets_noise() -> None:
    tape = Tape([4, 2])
    run = folded(SimpleTwoCounter(epsilon=1), tape)
    assert [run.release(), run.release()] == [4, 6]
    assert run.t == 2


def test_it_refuses_noise_whose_future_is_in_memory() -> None:
    with pytest.raises(BadInput, match=r"start\(System.direct\(\)\)"):
        SimpleTwoCounter(epsilon=1).start(System())
    assert SimpleTwoCounter(epsilon=1).guarantee.intrusions is Intrusions.EVERY


@pytest.mark.parametrize(("t", "worst"), [(2**10, 45.3), (2**16, 362), (2**20, 1448)])
def test_the_walk_of_the_frontier(t: int, worst: float) -> None:
    # sqrt(2t), less 4% at epsilon = 1 since discrete noise is narrower than continuous
    assert SimpleTwoCounter(epsilon=1).error.std(t) == pytest.approx(worst, rel=0.05)
    assert SimpleTwoCounter(epsilon="1/100").error.std(t) == pytest.approx(100 * worst, rel=0.002)


def test_levy_bounds_the_whole_walk() -> None:
    # 4,000 walks of 100 steps; false alarm below 1e-6 at 4.9 standard errors
    count, beta = 4000, 0.2
    recipe = SimpleTwoCounter(epsilon=1, width=count)
    walks = np.abs(recipe.start(System.direct()).feed(np.zeros((100, count), dtype=np.int64)))
    left = float((walks > recipe.error.bound_all(100, beta)).any(axis=0).mean())
    slack = 4.9 * math.sqrt(beta * (1 - beta) / count)
    assert left <= beta + slack
    # and it is not idle: the band of the last step alone is left more often than beta
    assert float((walks > recipe.error.bound(100, beta)).any(axis=0).mean()) > beta + slack


def test_it_counts_its_noises_and_their_law_is_that_of_so_many_steps() -> None:
    # 40,000 counters; false alarm below 1e-6 at 4.9 standard errors
    width, beta = 40_000, 0.05
    recipe = SimpleTwoCounter(epsilon=1, width=width)
    run = folded(recipe, System.direct())
    nothing = np.zeros(width, dtype=np.int64)
    counts = []
    for adds in (3, 0, 7):
        for _ in range(adds):
            run.add(nothing)
        release = run.release()
        counts.append(vars(run)["_noises"])
    assert counts == [3, 4, 11]
    run.feed(np.zeros((4, width), dtype=np.int64))
    assert vars(run)["_noises"] == 15
    outside = float((np.abs(release) > recipe.error.bound(11, beta)).mean())
    assert outside <= beta + 4.9 * math.sqrt(beta * (1 - beta) / width)
    # and far more often outside of what is stated for one call a step
    assert float((np.abs(release) > recipe.error.bound(3, beta)).mean()) > 4 * beta


@dataclass(frozen=True, kw_only=True)
class OneNoiseAStep(SimpleTwoCounter):
    """Draws with the first event of a step, and nothing with the next ones."""

    def _run(self, state: State, noise: Noise) -> CounterRun:
        run: Any = super()._run(state, noise)
        fold = run._fold

        def once(row: IntArray) -> None:
            if run._added:
                run._sums += row
            else:
                fold(row)

        run._fold = once
        kept: CounterRun = run
        return kept


@pytest.mark.parametrize(
    "view",
    [
        (Instant(1), Instant(1, between=True), Instant(1, added=True), Instant(2)),
        (Instant(1, between=True), Instant(1, added=True)),
        (Instant(1, between=True),),  # one look: the release tells the rest of the step
    ],
    ids=len,
)
def test_one_noise_for_all_batches_of_a_step_gives_them_away(view: tuple[Instant, ...]) -> None:
    assert certified(SimpleTwoCounter(epsilon=1), steps=3, views=[view]).exact == 1
    broken = certified(OneNoiseAStep(epsilon=1), steps=3, views=[view])
    assert broken.exact == math.inf
    assert broken.verdict is Verdict.REFUTED
