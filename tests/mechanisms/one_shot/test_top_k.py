"""Top k, by noisy scores and by peeling: exact laws, losses with the known answers, errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.loss import Concentrated, Pure
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.one_shot import NoisyTopK, PeeledTopK
from ameles.noise import System, Tape, Zero
from ameles.noise.enumeration import law_of

from .neighbouring import law, look, moved, refuted

TWO_OF_THREE: dict[str, Any] = {"candidates": 3, "k": 2, "neighbours": "replace"}
ROWS: dict[str, Any] = {**TWO_OF_THREE, "neighbours": "add-remove", "monotone": True}


class HalfNoise(NoisyTopK):
    """k Delta / epsilon for scores that are not monotone."""

    @property
    def scale(self) -> Fraction:
        return super().scale / 2


class Spendthrift(PeeledTopK):
    """All of epsilon for each choice."""

    @property
    def round_epsilon(self) -> Fraction:
        return super().round_epsilon * self.k


@pytest.mark.parametrize("kind", [NoisyTopK, PeeledTopK])
def test_without_noise_it_is_the_best_in_order(kind: Any) -> None:
    recipe = kind(epsilon=1, candidates=5, k=3, neighbours="replace")
    assert recipe.start(Zero()).step((3, 9, 1, 9, 4)).tolist() == [1, 3, 4]
    everyone = kind(epsilon=1, candidates=3, k=3, neighbours="replace")
    assert everyone.start(Zero()).step((3, 9, 1)).tolist() == [1, 0, 2]


# Noisy scores ------------------------------------------------------------------------------


def ordered(
    weights: Mapping[int, Any], scores: tuple[int, ...], *, fair: bool = True
) -> dict[tuple[int, int], Any]:
    """The exact law of the first two of three; ties are as likely either way, or by index."""
    one = sum(weights.values())
    places = np.array(sorted(weights), dtype=np.int64)
    law_at = np.array([weights[int(k)] / one for k in places])
    dense = np.zeros((3, len(places) + max(scores) - min(scores)), dtype=law_at.dtype)
    for i, score in enumerate(scores):
        dense[i, score - min(scores) + places - places[0]] = law_at
    below = np.cumsum(dense, axis=1) - dense
    above = np.cumsum(dense[:, ::-1], axis=1)[:, ::-1] - dense
    chances = {}
    for i, j, last in permutations(range(3)):
        if not fair:
            first = above[i] + dense[i] * (i < j)
            chances[i, j] = (dense[j] * first * (below[last] + dense[last] * (j < last))).sum()
            continue
        strict = above[i] * below[last]
        tied = (dense[i] * below[last] + above[i] * dense[last]) * (one / one / 2)
        chances[i, j] = (
            dense[j] * (strict + tied + dense[i] * dense[last] * (one / one / 6))
        ).sum()
    return chances


def test_the_law_of_the_real_code_is_that_of_ordered_noisy_scores() -> None:
    # noise modulo 7 in base 2, of scale 4 / epsilon = 1
    recipe = NoisyTopK(epsilon=4, **TWO_OF_THREE)
    noise = law_of(lambda z: int(z.laplace(Fraction(1), 1)[0]), modulus=7)
    assert law_of(look(recipe, (2, 0, 1)), modulus=7) == ordered(noise, (2, 0, 1))


def worst(recipe: NoisyTopK, *, reach: int = 160, fair: bool = True) -> float:
    """The largest log-ratio over the neighbours of all scores in {0, 3, 8}^3."""
    a = math.exp(-1 / recipe.scale)
    weights = {k: a ** abs(k) for k in range(-reach, reach + 1)}
    laws: dict[tuple[int, ...], dict[tuple[int, int], float]] = {}

    def law_at(scores: tuple[int, ...]) -> dict[tuple[int, int], float]:
        base = min(scores)
        key = tuple(score - base for score in scores)
        if key not in laws:
            laws[key] = ordered(weights, key, fair=fair)
        return laws[key]

    return max(
        abs(math.log(p / law_at(y)[pair]))
        for x in product((0, 3, 8), repeat=3)
        for y in moved(x, monotone=False)
        for pair, p in law_at(x).items()
    )


def test_the_known_losses_of_two_of_three() -> None:
    right, half = NoisyTopK(epsilon=1, **TWO_OF_THREE), HalfNoise(epsilon=1, **TWO_OF_THREE)
    # the catalogue's: noise up to 30 on either side, and ties go to the lower index
    assert worst(right, reach=30, fair=False) == pytest.approx(0.494, abs=6e-4)
    assert worst(half, reach=30, fair=False) == pytest.approx(0.9985, abs=6e-5)
    # ours: all of the noise, and ties that are as likely either way
    assert worst(right) == pytest.approx(0.4893, abs=6e-5)
    assert worst(half) == pytest.approx(0.9978, abs=6e-5)


class OneWinner(NoisyTopK):
    """The noise of report noisy max, which pays for one winner."""

    @property
    def scale(self) -> Fraction:
        return super().scale / (2 * self.k)


def test_the_noise_of_one_winner_does_not_pay_for_two() -> None:
    assert worst(OneWinner(epsilon=1, **TWO_OF_THREE)) > 1.9


def test_noise_and_ties_on_the_tape() -> None:
    tape = Tape([0, 4, 3, 1])
    recipe = NoisyTopK(epsilon="1/2", **TWO_OF_THREE)
    assert recipe.start(tape).step([5, 1, 2]).tolist() == [1, 0]  # 5, 5, 5: the second, then
    assert tape.laws == [*[("laplace", Fraction(8))] * 3, ("uniform", 3), ("uniform", 2)]
    assert NoisyTopK(epsilon="1/2", **ROWS).scale == 4


@pytest.mark.parametrize("beta", [0.4, 0.05, 1e-9])
def test_the_error_of_noisy_scores(beta: float) -> None:
    recipe = NoisyTopK(epsilon=1, candidates=50, k=5, neighbours="replace")
    bound = recipe.error.bound(1, beta)
    assert bound % 2 == 0
    assert 1 - (1 - laplace_sum.tail(1, recipe.scale, int(bound) // 2)) ** 50 <= beta * (1 + 1e-6)
    assert bound <= 2 * float(recipe.scale) * math.log(50 / beta)  # catalogue 41
    assert recipe.error.bound_all(3, beta) == recipe.error.bound(1, beta / 3)


# Peeling -----------------------------------------------------------------------------------


def gumbel(weights: list[Fraction], k: int) -> dict[tuple[int, ...], Fraction]:
    """The law of the k highest of scores with Gumbel noise: Plackett-Luce."""
    chances = {}
    for chosen in permutations(range(len(weights)), k):
        left, chance = sum(weights, Fraction(0)), Fraction(1)
        for i in chosen:
            chance, left = chance * weights[i] / left, left - weights[i]
        chances[chosen] = chance
    return chances


def test_peeling_has_the_law_of_one_shot_gumbel_noise() -> None:
    recipe = PeeledTopK(epsilon=4, **TWO_OF_THREE)  # 2 a choice, 1 a point; here 2^1
    weights = [Fraction(8), Fraction(1), Fraction(2)]
    assert law(recipe, (3, 0, 1)) == gumbel(weights, 2)


def test_peeling_loses_at_most_epsilon() -> None:
    some = [(2, 0, 1)]
    assert not refuted(PeeledTopK(epsilon=4, **TWO_OF_THREE), some, monotone=False)
    assert not refuted(PeeledTopK(epsilon=2, **ROWS), some, monotone=True)
    assert refuted(Spendthrift(epsilon=2, **TWO_OF_THREE), some, monotone=False)


def renyi(p: Mapping[Any, float], q: Mapping[Any, float], order: float) -> float:
    logs = [order * math.log(p[o]) + (1 - order) * math.log(q[o]) for o in p]
    return float(np.logaddexp.reduce(logs)) / (order - 1)


@pytest.mark.parametrize("monotone", [False, True])
def test_with_rho_every_renyi_divergence_is_within_it(monotone: bool) -> None:
    recipe = PeeledTopK(rho="1/2", **(ROWS if monotone else TWO_OF_THREE))
    assert recipe.loss == Concentrated("1/2")
    assert recipe.round_epsilon**2 * recipe.k / 8 <= Fraction(1, 2)
    assert float(recipe.round_epsilon) == pytest.approx(math.sqrt(2), abs=1e-15)

    def law_at(scores: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        weights = [Fraction(math.exp(float(recipe.rate) * q)) for q in scores]
        return {chosen: float(p) for chosen, p in gumbel(weights, 2).items()}

    largest = 0.0
    for x in product((0, 1), (0, 4), (0, 1)):
        for y in moved(x, monotone=monotone):
            p, q = law_at(x), law_at(y)
            for order in (1.01, 2.0, 8.0, 64.0):
                largest = max(largest, renyi(p, q, order) / order, renyi(q, p, order) / order)
    assert 0.15 < largest <= 0.5


@pytest.mark.parametrize("beta", [0.4, 0.05, 1e-9])
def test_the_error_of_peeling(beta: float) -> None:
    recipe = PeeledTopK(epsilon=1, candidates=50, k=5, neighbours="replace")
    bound = recipe.error.bound(1, beta)
    assert bound <= 10 * (math.log(50) + math.log(5 / beta))  # catalogue 41
    # one choice: the worst case has 49 candidates at the same distance
    assert 49 / (49 + math.exp((bound + 1) / 10)) <= beta / 5
    assert recipe.error.bound_all(3, beta) == recipe.error.bound(1, beta / 3)
    noisy = NoisyTopK(epsilon=1, candidates=50, k=5, neighbours="replace")
    assert bound < noisy.error.bound(1, beta)


def test_long_lists_are_better_with_rho() -> None:
    shared: dict[str, Any] = {"candidates": 1000, "k": 200, "neighbours": "replace"}
    # epsilon 1 is rho 1/2 at the most, and here rho is that much
    assert 5 * PeeledTopK(rho="1/2", **shared).error.bound(1, 0.05) < (
        PeeledTopK(epsilon=1, **shared).error.bound(1, 0.05)
    )


def test_what_they_refuse() -> None:
    for kind in (NoisyTopK, PeeledTopK):
        with pytest.raises(BadInput, match=r"at most the number of candidates, 3\. Got 4"):
            kind(epsilon=1, **{**TWO_OF_THREE, "k": 4})
        with pytest.raises(BadInput, match="monotone only where"):
            kind(epsilon=1, monotone=True, **TWO_OF_THREE)
    with pytest.raises(BadInput, match="Exactly one"):
        PeeledTopK(**TWO_OF_THREE)
    with pytest.raises(BadInput, match="Exactly one"):
        PeeledTopK(epsilon=1, rho=1, **TWO_OF_THREE)
    with pytest.raises(BadInput, match="does not fit into 64 bits"):
        NoisyTopK(epsilon="1e-9", sensitivity=2**40, **TWO_OF_THREE)
    assert PeeledTopK(epsilon="1/3", **TWO_OF_THREE).loss == Pure("1/3")


@pytest.mark.parametrize("kind", [NoisyTopK, PeeledTopK])
def test_a_clear_order_among_many_is_found(kind: Any) -> None:
    scores = np.arange(10**4, dtype=np.int64) * 1000
    recipe = kind(epsilon=1, candidates=10**4, k=5, neighbours="replace")
    top = recipe.start(System()).step(scores)  # fails once in e^40
    assert top.tolist() == [9_999, 9_998, 9_997, 9_996, 9_995]
