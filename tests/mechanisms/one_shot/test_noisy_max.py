"""Report noisy max: its exact law, its loss, and how much the text's noise loses."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.one_shot import NoisyMax
from ameles.noise import System, Tape, Zero

from .neighbouring import look

TWO: dict[str, Any] = {"candidates": 2, "neighbours": "replace"}
FINE = 1000  # points of score that one unit moves: so fine that the noise is as good as continuous


class TextNoise(NoisyMax):
    """Lap(Delta / epsilon) whether or not the scores are monotone."""

    @property
    def scale(self) -> Fraction:
        return super().scale / 2


def behind(recipe: NoisyMax, gap: int) -> float:
    """The exact probability that the second of two wins though it is ``gap`` > 0 behind."""
    ahead = laplace_sum.tail(2, recipe.scale, gap) / 2
    tied = laplace_sum.tail(2, recipe.scale, gap - 1) / 2 - ahead
    return ahead + tied / 2


def log_ratio(recipe: NoisyMax, gap: int, change: int) -> float:
    """How much likelier the second gets to win when it loses ``change`` units less."""
    unit = recipe.sensitivity
    before = 0.5 if gap == 0 else behind(recipe, gap * unit)
    return math.log(before / behind(recipe, (gap + change) * unit))


def test_without_noise_it_is_the_best_candidate() -> None:
    recipe = NoisyMax(epsilon=1, candidates=3, neighbours="replace")
    assert recipe.start(Zero()).step((3, 9, 1)) == 1
    assert recipe.start(Tape([7])).step((3, 9, 1)) == 0


def test_each_score_has_its_own_noise_of_the_stated_scale() -> None:
    for monotone, scale in ((False, 12), (True, 6)):
        tape = Tape()
        recipe = NoisyMax(
            epsilon="1/2", sensitivity=3, candidates=2, neighbours="add-remove", monotone=monotone
        )
        recipe.start(tape).step([1, 2])
        assert tape.laws == [*[("laplace", Fraction(scale))] * 2, ("uniform", 1)]


def test_ties_are_broken_by_a_fair_draw() -> None:
    recipe = NoisyMax(epsilon=1, candidates=3, neighbours="replace")
    tape = Tape([0, 1, 5, 1])
    assert recipe.start(tape).step([6, 5, 1]) == 2 - 1  # noisy scores 6, 6, 6
    assert tape.draws[-1].scale == 3
    assert recipe.start(Tape([0, 1, 0, 1])).step([6, 5, 1]) == 1


def test_the_exact_law_is_that_of_the_real_code() -> None:
    # Every pair of noises up to 20, which is all but exp(-20) of them, through the code itself.
    recipe = TextNoise(epsilon=1, **TWO)
    a = math.exp(-1)

    def weight(k: int) -> float:
        return (1 - a) / (1 + a) * a ** abs(k)

    def second_wins(first: int, second: int) -> float:
        tape = Tape([first, second])
        winner = recipe.start(tape).step([2, 0])
        return 0.5 if tape.draws[-1].scale == 2 else float(winner == 1)

    window = range(-20, 21)
    total = math.fsum(weight(i) * weight(j) * second_wins(i, j) for i in window for j in window)
    assert total == pytest.approx(behind(recipe, 2), abs=1e-8)


def test_the_exact_law_tends_to_that_of_the_catalogue() -> None:
    recipe = TextNoise(epsilon=1, sensitivity=FINE, **TWO)
    for gap in (1, 5, 20):
        continuous = math.exp(-gap) * (2 + gap) / 4
        assert behind(recipe, gap * FINE) == pytest.approx(continuous, rel=1e-3)


@pytest.mark.parametrize(("gap", "loss"), [(0, 1.307), (5, 1.749), (10, 1.846), (20, 1.913)])
def test_the_noise_of_the_text_loses_almost_twice_as_much(gap: int, loss: float) -> None:
    wrong = TextNoise(epsilon=1, sensitivity=FINE, **TWO)
    assert log_ratio(wrong, gap, 2) == pytest.approx(loss, abs=6e-4)
    right = NoisyMax(epsilon=1, sensitivity=FINE, **TWO)
    assert log_ratio(right, gap, 2) <= 1


def test_monotone_scores_need_half_the_noise_and_reach_epsilon() -> None:
    rows = NoisyMax(
        epsilon=1, sensitivity=FINE, candidates=2, neighbours="add-remove", monotone=True
    )
    assert log_ratio(rows, 20, 1) == pytest.approx(0.956, abs=6e-4)
    assert all(log_ratio(rows, gap, 1) <= 1 for gap in range(60))


def test_the_enumerated_loss_of_the_real_code() -> None:
    # wrapped noise modulo 7 in base 2; at a small gap the wrap adds little
    far, near = (0, 2, 0), (1, 1, 1)
    shared: dict[str, Any] = {"candidates": 3, "neighbours": "replace"}
    right = NoisyMax(epsilon=2, **shared)
    finding = enumerated_loss(look(right, far), look(right, near), epsilon=2, modulus=7)
    assert finding.verdict is Verdict.CERTIFIED
    wrong = TextNoise(epsilon=1, **shared)
    finding = enumerated_loss(look(wrong, far), look(wrong, near), epsilon=1, modulus=7)
    assert finding.verdict is Verdict.REFUTED


@pytest.mark.parametrize("beta", [0.4, 0.05, 1e-9])
def test_the_error_is_exact_for_two_and_a_union_bound_for_more(beta: float) -> None:
    recipe = NoisyMax(epsilon="1/3", **TWO)
    bound = int(recipe.error.bound(1, beta))
    assert behind(recipe, bound + 1) <= beta
    assert laplace_sum.tail(2, recipe.scale, bound) / 2 <= beta
    assert bound == 0 or laplace_sum.tail(2, recipe.scale, bound - 1) / 2 > beta
    many = NoisyMax(epsilon="1/3", candidates=101, neighbours="replace").error
    assert many.bound(1, beta) == recipe.error.bound(1, beta / 100)
    assert many.bound_all(7, beta) == many.bound(1, beta / 7)


def test_what_it_refuses() -> None:
    with pytest.raises(BadInput, match="monotone only where"):
        NoisyMax(epsilon=1, monotone=True, **TWO)
    with pytest.raises(BadInput, match="does not fit into 64 bits"):
        NoisyMax(epsilon="1e-9", sensitivity=2**40, **TWO)
    assert NoisyMax(epsilon=1, candidates=1, neighbours="replace").error.bound(1, 0.01) == 0


def test_extreme_scores_do_not_wrap() -> None:
    recipe = NoisyMax(epsilon=1, candidates=3, neighbours="replace")
    assert recipe.start(System()).step([-(10**30), 10**30, 0]) == 1


def test_the_largest_noise_that_cannot_wrap_is_allowed() -> None:
    largest = NoisyMax(epsilon=Fraction(1, 2**9), sensitivity=2**40, **TWO)
    assert largest.scale == 2**50
    with pytest.raises(BadInput, match="does not fit into 64 bits"):
        NoisyMax(epsilon=Fraction(1, 2**9 + 1), sensitivity=2**40, **TWO)
