"""Key counts: the exact law of the real code, its delta, the mistakes that show, its intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Norm
from ameles.core.loss import Approx
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot import KeyCounts
from ameles.mechanisms.one_shot.key_counts import composed_delta
from ameles.mechanisms.one_shot.key_selection import keep_probabilities
from ameles.mechanisms.one_shot.truncated_law import ONE, TruncatedLaplace
from ameles.noise import System, Tape, Zero
from ameles.noise.arrays import IntArray

ROWS: dict[str, Any] = {"epsilon": 1, "delta": "1/20", "neighbours": "add-remove"}
USERS: dict[str, Any] = {
    **ROWS,
    "max_rows": 2,
    "neighbours": "user-presence",
    "unit": "user",
}
Counts = Mapping[str, int]
Law = dict[tuple[tuple[str, int], ...], Fraction]
TINY = Fraction(1, 10**70)  # what rounding outward may cost


class LowThreshold(KeyCounts):
    """Names keys from one lower on."""

    def release(self, x: IntArray, noise: Noise) -> IntArray:
        noisy = x + noise.truncated_laplace(self.scale, self.within, x.size)
        named = np.flatnonzero(noisy >= self.within)
        return np.stack([named, noisy[named]], axis=1)


class NotComposed(KeyCounts):
    """Has the delta of one row, however many rows a unit has."""

    @property
    def reach_of_key(self) -> int:
        return 1


class Redrawn(KeyCounts):
    """Draws another noise for the count than for the choice."""

    def release(self, x: IntArray, noise: Noise) -> IntArray:
        places = super().release(x, noise)[:, 0]
        counts = super().release(x + 2 * self.within + 1, noise)[places, 1]  # all are named
        return np.stack([places, counts - 2 * self.within - 1], axis=1)


@cache
def power_of_e(exponent: Fraction) -> Fraction:
    """To 100 digits."""
    digits = Context(prec=100)
    return Fraction(
        digits.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)).exp(digits)
    )


def law_of_counts(recipe: KeyCounts, counts: Counts, draws: int = 1) -> Law:
    """The exact law of what the real code names, over every tape; ``draws`` for each key."""
    keys = [key for key, count in counts.items() if count]  # a key that nobody has is not there
    values = range(-recipe.within, recipe.within + 1)
    weights = [power_of_e(-abs(k) / recipe.scale) for k in values]
    total = sum(weights)
    chances = dict(zip(values, (weight / total for weight in weights), strict=True))
    law: defaultdict[tuple[tuple[str, int], ...], Fraction] = defaultdict(Fraction)
    for script in product(values, repeat=draws * len(keys)):
        named = recipe.start(Tape(script)).step([counts[key] for key in keys])
        chance = Fraction(1)
        for k in script:
            chance *= chances[k]
        law[tuple((keys[place], count) for place, count in named.tolist())] += chance
    return dict(law)


def hockey_stick(one: Law, other: Law, epsilon: Fraction) -> Fraction:
    """The exact delta between two laws, both ways."""
    grown, none = power_of_e(epsilon), Fraction(0)
    return max(
        sum((max(chance - grown * q.get(o, none), none) for o, chance in p.items()), none)
        for p, q in ((one, other), (other, one))
    )


def worst(recipe: KeyCounts, changes: list[tuple[int, ...]], top: int, draws: int = 1) -> Fraction:
    """The largest delta over keys whose counts change so, from each count up to ``top``."""
    largest = Fraction(0)
    for change in changes:
        for before in product(range(top), repeat=len(change)):
            if before != tuple(sorted(before)):
                continue
            names = "abc"[: len(change)]
            less = dict(zip(names, before, strict=True))
            more = {key: less[key] + c for key, c in zip(names, change, strict=True)}
            one, other = (law_of_counts(recipe, x, draws) for x in (less, more))
            largest = max(largest, hockey_stick(one, other, recipe.epsilon))
    return largest


def exact_delta(recipe: KeyCounts) -> Fraction:
    return Fraction(composed_delta(recipe.law, recipe.reach, recipe.reach_of_key), ONE)


def test_delta_of_one_row_is_reached_and_not_passed() -> None:
    recipe = KeyCounts(**ROWS)
    assert recipe.within == 3
    delta = worst(recipe, [(1,)], 2 * recipe.within + 3)
    assert exact_delta(recipe) - TINY <= delta <= exact_delta(recipe) <= recipe.delta
    narrower = TruncatedLaplace(recipe.scale, recipe.within - 1)
    assert Fraction(composed_delta(narrower, 1, 1), ONE) > recipe.delta


def test_delta_of_several_rows_and_keys_is_reached_and_not_passed() -> None:
    shared: dict[str, Any] = {**USERS, "epsilon": 2, "delta": "1/10"}
    recipe = KeyCounts(**shared)
    delta = worst(recipe, [(2,), (1, 1)], recipe.within + 2)
    assert exact_delta(recipe) - TINY <= delta <= exact_delta(recipe) <= recipe.delta
    apart = KeyCounts(**shared, max_per_key=1)
    assert (apart.within, recipe.within) == (3, 3)
    assert exact_delta(apart) < exact_delta(recipe)
    delta = worst(apart, [(1, 1)], 2 * apart.within + 2)
    assert exact_delta(apart) - TINY <= delta <= exact_delta(apart) <= apart.delta


def test_mistakes_show() -> None:
    low = LowThreshold(**ROWS)
    assert worst(low, [(1,)], 1) > low.delta
    alone = NotComposed(**USERS)
    assert worst(alone, [(2,)], 1) > alone.delta
    again = Redrawn(**{**ROWS, "epsilon": 2, "delta": "1/10"})
    assert worst(again, [(1,)], 2 * again.within + 2, draws=2) > 2 * again.delta


@pytest.mark.parametrize(
    ("rows", "per_key", "split"),
    [(5, 5, (5,)), (5, 2, (2, 2, 1)), (6, 3, (3, 3)), (4, 1, (1, 1, 1, 1)), (10**6, 10, None)],
)
def test_the_worst_split_has_as_few_keys_as_can_be(
    rows: int, per_key: int, split: tuple[int, ...] | None
) -> None:
    law = TruncatedLaplace(Fraction(rows), 9 * rows)

    def split_delta(changes: tuple[int, ...]) -> Fraction:
        kept = Fraction(1)
        for c in changes:
            kept *= 1 - Fraction(law.lost(c), ONE)
        return 1 - kept

    composed = Fraction(composed_delta(law, rows, per_key), ONE)
    if split is None:
        kept = rows // per_key * math.log1p(-law.lost(per_key) / ONE)
        assert float(composed) == pytest.approx(-math.expm1(kept), rel=1e-12)
        return
    assert abs(composed - split_delta(split)) < TINY
    others = combinations_with_replacement(range(per_key + 1), rows)
    assert max(split_delta(c) for c in others if sum(c) <= rows) <= composed + TINY


def test_what_is_lost_is_rounded_up() -> None:
    for scale, within, shift in [
        (Fraction(1), 3, 1),
        (Fraction(50), 60, 7),
        (Fraction(1, 9), 2, 2),
    ]:
        weights = [power_of_e(-abs(k) / scale) for k in range(-within, within + 1)]
        exact = sum(weights[:shift]) / sum(weights)
        assert exact <= Fraction(TruncatedLaplace(scale, within).lost(shift), ONE) <= exact + TINY


def test_a_key_is_named_as_often_as_can_be_with_its_delta() -> None:
    recipe = KeyCounts(**{**ROWS, "delta": "1e-5"})
    law = recipe.law
    table = keep_probabilities(recipe.epsilon, Fraction(law.lost(1), ONE))
    chances = [float(law.tail(recipe.within + 1 - n)) for n in range(len(table))]
    assert chances == pytest.approx([pi / ONE for pi in table], rel=1e-9, abs=1e-15)


def test_where_one_unit_replaces_another_two_keys_move() -> None:
    comes = KeyCounts(**USERS)
    replaces = KeyCounts(**{**USERS, "neighbours": "user-substitution"})
    assert (comes.reach, replaces.reach, replaces.reach_of_key) == (2, 4, 2)
    assert replaces.scale == 2 * comes.scale
    promise = replaces.guarantee
    assert (promise.contribution.bound, promise.contribution.norm) == (4, Norm.L1)
    assert promise.loss == Approx(1, "1/20")


@pytest.mark.parametrize("given", [ROWS, {**ROWS, "epsilon": "1/10", "delta": "1e-4"}])
def test_intervals_hold_for_every_count_of_a_named_key(given: dict[str, Any]) -> None:
    recipe = KeyCounts(**given)
    within, law, error = recipe.within, recipe.law, recipe.error
    fails = 0.0  # of the noisy count, give or take the bound
    for count in range(1, 3 * within + 2):
        noisy = np.arange(max(count - within, within + 1), count + within + 1)
        chances = law.tail(noisy - count) - law.tail(noisy + 1 - count)
        chances /= chances.sum()  # given that it is named
        low, high = error.interval(noisy, 0.05)
        assert ((low <= noisy) & (noisy <= high) & (low >= 1)).all()
        assert chances[(low <= count) & (count <= high)].sum() >= 0.95
        fails = max(fails, chances[abs(noisy - count) > error.bound(1, 0.05)].sum())
    assert fails > 0.9
    far = np.array([10 * within])
    half = int(error.bound(1, 0.05))
    assert error.interval(far, 0.05) == (far - half, far + half)


@pytest.mark.parametrize("beta", [0.4, 0.05, 1e-4])
def test_the_error_is_that_of_the_law(beta: float) -> None:
    recipe = KeyCounts(**{**USERS, "delta": "1e-6"})
    law, bound = recipe.law, int(recipe.error.bound(1, beta))
    assert 2 * law.tail(bound + 1) <= beta < 2 * law.tail(bound)
    assert recipe.error.bound_all(3, beta) == recipe.error.bound(1, beta / 3)
    enough = recipe.error.named(beta) + 1
    chances = [float(law.tail(recipe.within + 1 - n)) for n in (enough, enough - 1)]
    assert chances[0] >= 1 - beta > chances[1]


def test_without_noise_large_keys_are_counted() -> None:
    recipe = KeyCounts(**ROWS)
    step = recipe.start(Zero()).step
    assert step([3, 4, 0, -5, 2**70]).tolist() == [[1, 4], [4, 2**60]]
    assert recipe.start(System()).step([]).tolist() == []
    small = recipe.start(System()).step(np.array([200, 0], dtype=np.uint8))
    assert small[:, 0].tolist() == [0]
    assert abs(int(small[0, 1]) - 200) <= recipe.within


def test_each_key_has_one_draw() -> None:
    tape = Tape([1, -1])
    recipe = KeyCounts(**ROWS)
    assert recipe.start(tape).step([3, 4, 9]).tolist() == [[0, 4], [2, 9]]
    assert tape.laws == [("truncated_laplace", (recipe.scale, Fraction(recipe.within)))] * 3


def test_what_it_refuses() -> None:
    with pytest.raises(BadInput, match="more than 2\\*\\*60 rows"):
        KeyCounts(**{**ROWS, "epsilon": "1e-9", "max_rows": 2**39})
    with pytest.raises(BadInput, match="a list of counts"):
        KeyCounts(**ROWS).start(Zero()).step({3: 4})
    with pytest.raises(BadInput, match="delta"):
        KeyCounts(**{**ROWS, "delta": 0})
