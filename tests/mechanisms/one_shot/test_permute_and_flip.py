"""Permute and flip: its exact law and loss; it is never worse than the exponential mechanism."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.one_shot import ExponentialMechanism, PermuteAndFlip
from ameles.noise import System, Tape, Zero

from .neighbouring import law, refuted

THREE: dict[str, Any] = {"candidates": 3, "neighbours": "replace"}
ROWS: dict[str, Any] = {"candidates": 3, "neighbours": "add-remove", "monotone": True}
SOME = [(0, 0, 0), (2, 0, 1), (0, 5, 5)]


class Hasty(PermuteAndFlip):
    """The rate that is right for monotone scores only."""

    @property
    def rate(self) -> Fraction:
        return 2 * super().rate


def test_without_noise_it_is_the_best_candidate() -> None:
    assert PermuteAndFlip(epsilon=1, **THREE).start(Zero()).step((3, 9, 1)) == 1


def test_a_fair_draw_decides_among_those_with_heads() -> None:
    recipe = PermuteAndFlip(epsilon=1, **THREE)
    assert recipe.start(Tape([1, 0, 1, 1])).step([5, 6, 6]) == 1  # the best always has heads
    assert recipe.start(Tape([1, 0, 1, 2])).step([5, 6, 6]) == 2
    assert recipe.start(Tape([0, 0, 0, 0])).step([5, 6, 5]) == 1


def visited(scores: tuple[int, ...]) -> dict[int, Fraction]:
    """The law by its definition, in base 2: P(r) = p_r sum over S of (-1)^|S| p_S / (|S| + 1)."""
    p = [Fraction(1, 2 ** (max(scores) - q)) for q in scores]
    chances = {}
    for r in range(len(p)):
        others = [one for i, one in enumerate(p) if i != r]
        chances[r] = p[r] * sum(
            (-1) ** size * Fraction(math.prod(some, start=Fraction(1)), size + 1)
            for size in range(len(p))
            for some in combinations(others, size)
        )
    return chances


def test_the_law_is_that_of_the_first_heads_in_random_order() -> None:
    for scores in ((3, 0, 1), (0, 0, 0), (4, 4, 1)):
        assert law(PermuteAndFlip(epsilon=2, **THREE), scores) == visited(scores)


def test_it_loses_at_most_epsilon() -> None:
    assert not refuted(PermuteAndFlip(epsilon=2, **THREE), SOME, monotone=False)
    assert not refuted(PermuteAndFlip(epsilon=1, **ROWS), SOME, monotone=True)
    assert refuted(Hasty(epsilon=1, **THREE), SOME, monotone=False)


def test_it_is_never_worse_than_the_exponential_mechanism() -> None:
    def distance(kind: Any, scores: tuple[int, ...]) -> Fraction:
        chances = law(kind(epsilon=2, **THREE), scores)
        return sum((max(scores) - scores[i]) * p for i, p in chances.items()) or Fraction(0)

    better = 0
    for scores in product(range(4), repeat=3):
        ours, theirs = distance(PermuteAndFlip, scores), distance(ExponentialMechanism, scores)
        assert ours <= theirs
        better += ours < theirs
    assert better == 4**3 - 4  # all but those where every candidate is the best


@pytest.mark.parametrize("beta", [0.4, 0.05, 1e-9])
@pytest.mark.parametrize("candidates", [2, 3, 1000, 10**6])
def test_the_error_is_exact_in_the_worst_case(beta: float, candidates: int) -> None:
    recipe = PermuteAndFlip(epsilon="1/30", candidates=candidates, neighbours="replace")

    def tail(distance: int) -> float:
        p = np.exp(-np.longdouble(distance) / 60)
        binomial = -np.expm1(candidates * np.log1p(-p)) / (candidates * p) if p < 1 else 1
        return float(1 - binomial) if p < 1 else 1 - 1 / candidates

    bound = int(recipe.error.bound(1, beta))
    assert tail(bound + 1) <= beta * (1 + 1e-6)
    assert bound == 0 or tail(bound) > beta * (1 - 1e-6)
    theirs = ExponentialMechanism(epsilon="1/30", candidates=candidates, neighbours="replace")
    assert bound <= theirs.error.bound(1, beta)
    assert recipe.error.bound_all(3, beta) == recipe.error.bound(1, beta / 3)


def test_the_worst_case_is_the_exact_law_of_one_ahead_of_all_others() -> None:
    recipe = PermuteAndFlip(epsilon=2, candidates=4, neighbours="replace")
    chances = law(recipe, (3, 0, 0, 0))  # in base 2, so three points here are 3 ln 2 there
    assert recipe.error.tail(3 * math.log(2)) == pytest.approx(float(1 - chances[0]), abs=1e-12)
    for scores in ((3, 2, 0, 0), (3, 1, 0, -4), (3, 3, 0, 0)):
        far = sum(p for i, p in law(recipe, scores).items() if scores[i] <= 0)
        assert far < 1 - chances[0]


def test_far_tails_do_not_cancel() -> None:
    error = PermuteAndFlip(epsilon=2, candidates=1001, neighbours="replace").error
    assert error.tail(50) == pytest.approx(500 * math.exp(-50), rel=1e-6)


def test_one_candidate_is_the_answer_and_replaced_rows_are_not_monotone() -> None:
    recipe = PermuteAndFlip(epsilon=1, candidates=1, neighbours="replace")
    assert recipe.start(System()).step([-5]) == 0
    assert recipe.error.bound(1, 0.01) == 0
    with pytest.raises(BadInput, match="monotone only where"):
        PermuteAndFlip(epsilon=1, monotone=True, **THREE)


def test_a_million_candidates_take_little_processor_time() -> None:
    recipe = PermuteAndFlip(epsilon=1, sensitivity=50, candidates=10**6, neighbours="replace")
    scores = np.arange(10**6, dtype=np.int64) * 48_271 % 1_000_003
    run = recipe.start(System())
    start = time.process_time()
    chosen = run.step(scores)
    assert time.process_time() - start < 2  # 0.1 seconds on an idle machine
    assert scores[chosen] > 10**6 - 10_000  # fails once in e^85 / 10^6
