"""Synthetic tables: near the truth without noise, exact loss of a round, a bound that holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot.mwem import SyntheticTable
from ameles.noise import System, Tape, Zero

SMALL = SyntheticTable(epsilon=1, universe=4, queries=2, rows=100, rounds=3, neighbours="replace")
ASKED = np.array([[1, 1, 0, 0], [0, 1, 1, 0]])
TABLE = [70, 10, 10, 10]


def test_without_noise_it_comes_near_the_truth() -> None:
    worst = []
    for rounds in (1, 10, 1000):
        recipe = replace(SMALL, rounds=rounds)
        made = recipe.start(Zero()).step((ASKED, TABLE))
        assert made.sum() == pytest.approx(100)
        worst.append(float(np.abs(ASKED @ made - ASKED @ TABLE).max()))
    assert worst == sorted(worst, reverse=True)
    assert worst[-1] < 0.5


def test_a_round_picks_the_worst_query_and_adds_noise() -> None:
    tape = Tape([0, 5])
    assert SMALL.round(np.array([80, 20]), np.array([50, 45]), tape) == (0, 85)
    (law, rate), (other, scale) = tape.laws
    assert (law, other, scale) == ("pick", "laplace", Fraction(6))
    # penalties from the best, and the rate epsilon / (2 * rounds) / 2
    assert Fraction(1, 12) in (rate if isinstance(rate, tuple) else (rate,))
    assert Zero().pick(np.array([0, 5]), Fraction(1, 12)) == 0


def test_the_release_is_made_of_what_was_published_alone() -> None:
    # neighbours whose noises give the same picks and answers
    one = replace(SMALL, rounds=2).start(Tape([0, 3, 1, -2])).step((ASKED, TABLE))
    other = replace(SMALL, rounds=2).start(Tape([0, 4, 1, -2])).step((ASKED, [69, 10, 10, 11]))
    assert (one == other).all()


def test_the_answers_are_exact_on_a_grid_and_booleans_count_whole_rows() -> None:
    fine = replace(SMALL, grid=4, rounds=200)
    made = fine.start(Zero()).step((ASKED.astype(bool), TABLE))
    same = fine.start(Zero()).step((4 * ASKED, TABLE))
    assert (made == same).all()
    assert abs(float(ASKED[0] @ made) - 80) < 4


def test_what_one_row_changes_is_stated() -> None:
    promise = replace(SMALL, grid=7).guarantee
    assert (promise.contribution.bound, promise.contribution.norm.value) == (7, "each")


def test_a_huge_noise_is_no_overflow() -> None:
    made = SMALL.start(Tape([0, 10**15, 1, -(10**15)])).step((ASKED, TABLE))
    assert made.sum() == pytest.approx(100)
    assert (made > 0).all()


def test_a_table_is_moved_to_what_its_rows_allow() -> None:
    huge = SMALL.start(Zero()).step((ASKED, [10**18, -5, 0, 0]))
    assert (huge == SMALL.start(Zero()).step((ASKED, [100, 0, 0, 0]))).all()
    with pytest.raises(BadInput, match="64 bits"):
        replace(SMALL, rows=2**40, grid=2**20)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (ASKED, "must be a pair"),
        ((ASKED[:1], TABLE), "must be 2 x 4"),
        ((ASKED, [1, 2, 3]), "must be 4 whole numbers"),
        ((ASKED, [1.0, 2.0, 3.0, 4.0]), "must be 4 whole numbers"),
    ],
)
def test_what_a_step_takes(bad: object, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        SMALL.start(Zero()).step(bad)


class FullRate(SyntheticTable):
    """Forgets that scores of two queries may move apart: no factor 2."""

    def round(self, exact: np.ndarray, guesses: np.ndarray, noise: Noise) -> tuple[int, int]:
        gaps = np.abs(exact - guesses)
        place = noise.pick(gaps.max() - gaps, self.share / self.grid)
        return place, int(exact[place]) + int(noise.laplace(self.scale, 1)[0])


class SharedBudget(SyntheticTable):
    """Pays for the pick and forgets the answer."""

    @property
    def scale(self) -> Fraction:
        return self.grid / (2 * self.share)


def seen(recipe: SyntheticTable, exact: list[int]) -> Callable[[Noise], Hashable]:
    def program(noise: Noise) -> Hashable:
        place, answer = recipe.round(np.array(exact), np.array([5, 5, 5]), noise)
        return place, answer % 9

    return program


def lost(kind: type[SyntheticTable]) -> float:
    # one round at epsilon 4: the pick has rate 1, the answer scale 1/2
    recipe = kind(epsilon=4, universe=3, queries=3, rows=10, rounds=1, neighbours="replace")
    pairs = [([9, 1, 5], [8, 0, 5]), ([9, 9, 9], [8, 10, 10]), ([8, 9, 9], [9, 8, 8])]
    return max(
        enumerated_loss(seen(recipe, one), seen(recipe, other), epsilon=4, modulus=9).loss
        for one, other in pairs
    )


def test_every_tape_of_a_round_and_of_its_wrong_variants() -> None:
    assert 3 < lost(SyntheticTable) <= 4
    assert lost(FullRate) > 4
    assert lost(SharedBudget) > 4


def test_a_round_of_the_code_is_certified() -> None:
    recipe = replace(SMALL, epsilon=4, rounds=1, queries=3)
    finding = enumerated_loss(
        seen(recipe, [9, 9, 9]), seen(recipe, [8, 10, 10]), epsilon=4, modulus=9
    )
    assert finding.verdict is Verdict.CERTIFIED


def test_the_error_bound_is_the_formula() -> None:
    recipe = SyntheticTable(
        epsilon=2, universe=1024, queries=50, rows=10**6, rounds=40, neighbours="replace"
    )
    beta, share = 0.1, 2 / 80
    a = math.exp(-share)
    noise = next(m for m in range(10**6) if 2 * a ** (m + 1) / (1 + a) <= beta / 80)
    picks = 2 / share * math.log(2 * 50 * 40 / beta) + 1
    spread = math.sqrt(math.log(1024) / 80 + (noise / 10**6) ** 2)
    expected = picks + 2 * noise + spread * 10**6
    assert recipe.error.bound(1, beta) == pytest.approx(expected)
    assert recipe.error.bound_all(4, 0.4) == recipe.error.bound(1, 0.1)
    assert replace(recipe, rows=10).error.bound(1, beta) == 10


def test_the_bound_holds() -> None:
    # false alarm 1e-6
    universe = 64
    masks = (np.arange(universe)[None, :] // (1 + np.arange(40)[:, None])) % 3 == 0
    table = np.zeros(universe, dtype=np.int64)
    table[[3, 7, 50]] = 2_000_000, 500_000, 500_000
    recipe = SyntheticTable(
        epsilon=1, universe=universe, queries=40, rows=3 * 10**6, rounds=25, neighbours="replace"
    )
    made = recipe.start(System()).step((masks, table))
    worst = float(np.abs(masks @ made - masks @ table).max())
    assert worst <= recipe.error.bound(1, 1e-6) < 3 * 10**6
