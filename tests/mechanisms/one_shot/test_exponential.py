"""The exponential mechanism: its exact law, its loss, its error, and the text's doubled loss."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Norm
from ameles.core.loss import Pure
from ameles.mechanisms.one_shot import ExponentialMechanism
from ameles.mechanisms.one_shot.exact_inputs import scores
from ameles.noise import System, Tape, Zero

from .neighbouring import law, refuted

THREE: dict[str, Any] = {"candidates": 3, "neighbours": "replace"}
ROWS: dict[str, Any] = {"candidates": 3, "neighbours": "add-remove", "monotone": True}
SOME = [(0, 0, 0), (2, 0, 1), (0, 5, 5)]


class TextRate(ExponentialMechanism):
    """exp(epsilon q / Delta) whether or not the scores are monotone, as on the slides."""

    @property
    def rate(self) -> Fraction:
        return 2 * super().rate


def test_without_noise_it_is_the_best_candidate() -> None:
    recipe = ExponentialMechanism(epsilon=1, **THREE)
    assert recipe.start(Zero()).step((3, 9, 1)) == 1
    assert recipe.start(Zero()).step(np.array([3, 9, 11], dtype=np.uint8)) == 2
    assert recipe.start(Tape([0])).step([3, 9, 11]) == 0


def test_the_guarantee_is_about_the_largest_change_of_a_score() -> None:
    promise = ExponentialMechanism(epsilon="0.3", sensitivity=7, **THREE).guarantee
    assert (promise.loss, promise.contribution.bound) == (Pure("0.3"), 7)
    assert promise.contribution.norm is Norm.MAX


def test_the_law_is_that_of_the_theorem() -> None:
    weights = {0: Fraction(8), 1: Fraction(1), 2: Fraction(2)}
    chances = law(ExponentialMechanism(epsilon=2, **THREE), (3, 0, 1))  # e^1 a point, here 2^1
    assert chances == {i: w / 11 for i, w in weights.items()}
    measured = ExponentialMechanism(epsilon=2, weights=("1/2", 3, "1/4"), **THREE)
    assert law(measured, (3, 0, 1)) == {0: Fraction(8, 15), 1: Fraction(6, 15), 2: Fraction(1, 15)}


@pytest.mark.parametrize("weights", [None, (1, 7, "1/2")])
def test_it_loses_at_most_epsilon(weights: Any) -> None:
    assert not refuted(
        ExponentialMechanism(epsilon=2, weights=weights, **THREE), SOME, monotone=False
    )
    assert not refuted(
        ExponentialMechanism(epsilon=1, weights=weights, **ROWS), SOME, monotone=True
    )


def test_the_rate_of_the_slides_is_for_monotone_scores_only() -> None:
    assert refuted(TextRate(epsilon=1, **THREE), SOME, monotone=False)
    # one candidate gains and all others lose: the loss tends to 2 epsilon with their number
    wrong = TextRate(epsilon=1, candidates=9, neighbours="replace")
    before, after = law(wrong, (0,) * 9), law(wrong, (1,) + (-1,) * 8)
    assert math.log2(after[0] / before[0]) == pytest.approx(math.log2(36 / 12), abs=1e-12)


@pytest.mark.parametrize("beta", [0.4, 0.05, 1e-9])
@pytest.mark.parametrize("weights", [None, (5, 1, 2, 2)])
def test_the_error_is_exact_in_the_worst_case(beta: float, weights: Any) -> None:
    recipe = ExponentialMechanism(
        epsilon="1/3", candidates=4, weights=weights, neighbours="replace"
    )
    odds, scale = (3 if weights is None else 9), 6

    def tail(distance: float) -> float:
        return odds / (odds + math.exp(distance / scale))

    bound = recipe.error.bound(1, beta)
    assert tail(bound + 1) <= beta < tail(bound)
    assert bound <= scale * (math.log(odds + 1) + math.log(1 / beta))  # as usually stated
    assert recipe.error.bound_all(3, beta) == recipe.error.bound(1, beta / 3)


def test_the_mean_is_bounded_as_the_catalogue_says() -> None:
    recipe = ExponentialMechanism(epsilon=2, **THREE)
    assert recipe.error.mean == pytest.approx(math.log(3))
    for given in product(range(6), repeat=3):
        weights = np.exp(np.array(given, dtype=float))
        expected = float((weights * (max(given) - np.array(given))).sum() / weights.sum())
        assert expected <= recipe.error.mean


def test_scores_of_any_size_are_clamped_and_not_refused() -> None:
    assert scores([-(2**63) - 1, 2**64 - 1, 2**60 - 1], 3).tolist() == [-(2**60), 2**60, 2**60 - 1]
    recipe = ExponentialMechanism(epsilon=1, **THREE)
    assert recipe.start(System()).step([-(10**30), 10**30, 0]) == 1
    assert recipe.start(System()).step(np.array([1, 2**64 - 1, 5], dtype=np.uint64)) == 1
    assert recipe.start(System()).step(np.array([1, -(2**63), 2**63 - 1])) == 2


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"monotone": True}, "monotone only where"),
        ({"weights": (1, 2)}, "must be 3 numbers"),
        ({"weights": (1, 2, 0)}, "above 0"),
        ({"weights": "123"}, "a list"),
        ({"weights": (1, 2, 2**70)}, "below 2"),
        ({"candidates": 0}, "candidates"),
    ],
)
def test_what_it_refuses(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        ExponentialMechanism(**{"epsilon": 1, **THREE, **changed})


def test_one_candidate_is_the_answer_and_has_no_error() -> None:
    recipe = ExponentialMechanism(epsilon=1, candidates=1, neighbours="replace")
    assert recipe.start(System()).step([-5]) == 0
    assert (recipe.error.bound(1, 0.01), recipe.error.mean) == (0, 0)


def test_the_scores_of_a_median_move_by_one() -> None:
    """Catalogue 44: |rank - n/2| has sensitivity 1/2 if rows are added, so twice it has 1."""
    grid = range(4)

    def halving(rows: tuple[int, ...]) -> list[int]:
        return [-abs(2 * sum(row < v for row in rows) - len(rows)) for v in grid]

    changes = {
        abs(a - b)
        for size in range(5)
        for rows in combinations_with_replacement(grid, size)
        for row in grid
        for a, b in zip(halving(rows), halving((*rows, row)), strict=True)
    }
    assert changes == {1}  # and they go up and down, so they are not monotone
    # so a point of |rank - n/2| is a factor of e^epsilon, as the catalogue has it
    assert 2 * ExponentialMechanism(epsilon=1, **THREE).rate == 1


def test_a_million_candidates() -> None:
    recipe = ExponentialMechanism(epsilon=1, sensitivity=50, candidates=10**6, neighbours="replace")
    scores = np.arange(10**6, dtype=np.int64) * 48_271 % 1_000_003
    run = recipe.start(System())
    chosen = run.step(scores)
    assert scores[chosen] > 10**6 - 10_000  # fails once in e^85 / 10^6
