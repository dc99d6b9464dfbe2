"""The helper for what only grows: how often it jumps, the best jump, the bound that holds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from scipy.stats import binom

from ameles.core.exceptions import BadInput
from ameles.mechanisms.continual.estimators.distinct import NoisyDistinct
from ameles.mechanisms.continual.monotone import continual_monotone, jumps
from ameles.mechanisms.continual.transformation import HALTED, continual
from tests.mechanisms.continual.scripted import Scripted
from tests.pooled_noise import Pooled


@pytest.mark.parametrize("rise", [1, 3, 7, 100])
@pytest.mark.parametrize("alpha", [0, 2])
def test_answers_jump_no_more_often_than_it_says(rise: int, alpha: int) -> None:
    highest = 60
    most, jump = jumps(highest=highest, rise=rise, alpha=alpha)
    # f rises by one; the answers are as far off as they may be, downwards and upwards in turn,
    # and a change is counted as soon as there is one
    for offset in (0, 1):
        answers = [f + alpha * (-1) ** (f + offset) for f in range(highest + 1)]
        last, changes = 0, 0
        for answer in answers:
            if abs(answer - last) > jump:
                last, changes = answer, changes + 1
        assert changes <= most


@pytest.mark.parametrize("highest", [50, 5000, 10**7])
def test_no_other_number_of_changes_has_a_smaller_bound(highest: int) -> None:
    given: dict[str, Any] = {"horizon": 256, "epsilon": 1, "sensitivity": 1}
    inner = Scripted(answers=(0,))
    best = continual_monotone(inner, highest=highest, **given)
    bound = best.error.bound_all(256, 0.05)
    for rise in {max(1, round(highest / 1.1**power)) for power in range(120)}:
        changes, jump = jumps(highest=highest, rise=rise, alpha=0)
        other = continual(inner, changes=changes, jump=jump, **given)
        # rounding to whole units can hide a smaller one nearby, by a few parts in a thousand
        assert bound <= 1.005 * other.error.bound_all(256, 0.05)


def test_the_jump_leaves_room_for_the_algorithms_own_error() -> None:
    inner = NoisyDistinct(users=10_000, epsilon=1, neighbours="user-presence")
    recipe = continual_monotone(
        inner, highest=inner.highest, horizon=64, epsilon=1, sensitivity=inner.sensitivity
    )
    alpha = inner.answer_error.bound_all(64, 0.025)
    assert recipe.jump >= 2 * alpha
    assert recipe.error.bound_all(64, 0.05) >= recipe.jump + alpha


def test_a_rising_count_is_followed_without_a_halt() -> None:
    # 200 runs; false alarm 1e-6
    steps, beta, noise = 32, 0.4, Pooled()
    answers = tuple(3000 * (t + 1) for t in range(steps))
    recipe = continual_monotone(
        Scripted(answers=answers),
        highest=answers[-1],
        horizon=steps,
        epsilon=1,
        sensitivity=1,
        beta=beta,
    )
    bound, wrong, moved = recipe.error.bound_all(steps, beta), 0, 0
    for _ in range(200):
        released = recipe.start(noise).feed([None] * steps)
        moved += sum(one != two for one, two in pairwise(released))
        wrong += any(
            r is HALTED or abs(r - a) > bound for r, a in zip(released, answers, strict=True)
        )
    assert wrong <= binom.isf(1e-6, 200, beta)
    assert 200 < moved < 200 * (recipe.changes + 1)


def test_what_cannot_be_is_refused() -> None:
    good: dict[str, Any] = {"highest": 100, "horizon": 8, "epsilon": 1, "sensitivity": 1}
    for bad in ({"highest": 0}, {"grid": 0}, {"beta": 0}, {"sensitivity": 0}, {"horizon": 0}):
        with pytest.raises(BadInput):
            continual_monotone(Scripted(answers=(0,)), **{**good, **bad})
