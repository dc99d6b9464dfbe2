"""The net mechanism: the best database without noise, its exact loss, and the missing factor 2."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot.net import SmallDatabase, multisets, size_for
from ameles.noise import System, Zero

SMALL = SmallDatabase(epsilon=2, universe=3, queries=1, rows=2, size=1, neighbours="replace")
LAST = [[0, 0, 1]]


@pytest.mark.parametrize(("universe", "size"), [(1, 4), (2, 1), (3, 4), (5, 2)])
def test_all_multisets_are_listed_once(universe: int, size: int) -> None:
    listed = Counter(tuple(row) for row in multisets(universe, size).tolist())
    expected = Counter(
        tuple(chosen.count(element) for element in range(universe))
        for chosen in combinations_with_replacement(range(universe), size)
    )
    assert listed == expected
    assert replace(SMALL, universe=universe, size=size).net == len(expected)


def test_without_noise_it_is_a_best_database() -> None:
    recipe = SmallDatabase(
        epsilon=1, universe=3, queries=3, rows=100, size=10, neighbours="replace"
    )
    asked = np.eye(3, dtype=np.int64)
    assert recipe.start(Zero()).step((asked, [50, 30, 20])).tolist() == [5, 3, 2]
    fine = replace(recipe, grid=2)
    assert fine.start(Zero()).step((asked.astype(bool), [50, 30, 20])).tolist() == [5, 3, 2]
    # no multiset of 10 is exact here: the worst gap is the least
    made = recipe.start(Zero()).step((asked, [33, 33, 34]))
    assert sorted(made.tolist()) == [3, 3, 4]


class Missing(SmallDatabase):
    """The text: no 2 in the exponent."""

    @property
    def rate(self) -> Fraction:
        return self.epsilon / (self.size * self.grid)


class Weights(Zero):
    """Keeps the law that a pick is drawn from."""

    law: Any = None

    def pick(self, penalties: Any, rate: Fraction, weights: Any = None) -> int:
        raw = np.exp(-float(rate) * penalties.astype(np.float64))
        self.law = raw / raw.sum()
        return super().pick(penalties, rate, weights)


def lost(kind: type[SmallDatabase], net: int) -> float:
    """The log-ratio for one query and one row, in shares of epsilon; the row moves to the query."""
    recipe = kind(epsilon=1, universe=net, queries=1, rows=1, size=1, neighbours="replace")
    query = np.zeros((1, net), dtype=np.int64)
    query[0, -1] = 1
    laws = []
    for place in (0, net - 1):
        table = np.zeros(net, dtype=np.int64)
        table[place] = 1
        noise = Weights()
        recipe.start(noise).step((query, table))
        laws.append(noise.law)
    return float(np.abs(np.log(laws[0] / laws[1])).max())


@pytest.mark.parametrize(("net", "expected"), [(3, 1.311), (10, 1.776), (1000, 1.997)])
def test_without_the_two_it_loses_more_than_epsilon(net: int, expected: float) -> None:
    assert lost(Missing, net) == pytest.approx(expected, abs=0.002)
    assert lost(SmallDatabase, net) <= 1


def program(recipe: SmallDatabase, table: list[int]) -> Callable[[Noise], Hashable]:
    return lambda noise: tuple(recipe.start(noise).step((LAST, table)).tolist())


def test_every_tape_of_the_code() -> None:
    verdicts = {}
    for kind in (SmallDatabase, Missing):
        # a unit of the score is rows * size * |gap|: with one row and size 1, base 2 is exact
        recipe = kind(epsilon=2, universe=3, queries=1, rows=1, size=1, neighbours="replace")
        finding = enumerated_loss(
            program(recipe, [1, 0, 0]), program(recipe, [0, 0, 1]), epsilon=2, modulus=3
        )
        verdicts[kind] = finding.verdict
    assert verdicts == {SmallDatabase: Verdict.CERTIFIED, Missing: Verdict.REFUTED}


def test_the_example_of_the_catalogue() -> None:
    # 100 queries, alpha = 0.1, 2^10 elements, epsilon 1, beta 0.05: n = 36,797 for 0.2 in all
    assert size_for(queries=100, alpha=0.1) == 265
    needed = 2 * (265 * math.log(1024) + math.log(20)) / 0.1
    assert math.ceil(needed) == 36_797
    # on equality one more
    alpha = math.sqrt(math.log(2) / 2)
    assert 2 * math.exp(-2 * size_for(queries=1, alpha=alpha) * alpha**2) < 1


def test_the_error_is_the_formula() -> None:
    recipe = SmallDatabase(
        epsilon="1/2", universe=4, queries=7, rows=10**5, size=50, grid=2, neighbours="replace"
    )
    alpha = math.sqrt(math.log(14) / 100)
    rest = 2 * math.log(math.comb(53, 3) / 0.01) / (0.5 * 10**5)
    assert recipe.error.bound(1, 0.01) == pytest.approx(2 * 10**5 * (alpha + rest))
    assert recipe.error.bound(1, 0.01) > 2 * 10**5 * (alpha + rest)  # Hoeffding's is strict
    assert recipe.error.bound_all(3, 0.03) == pytest.approx(recipe.error.bound(1, 0.01))
    assert replace(recipe, rows=3).error.bound(1, 0.01) == 6


def test_the_error_holds() -> None:
    # false alarm 1e-6
    recipe = SmallDatabase(
        epsilon=1, universe=4, queries=15, rows=10**5, size=40, neighbours="replace"
    )
    asked = (np.arange(1, 16)[:, None] >> np.arange(4)[None, :]) & 1
    table = np.array([61_234, 20_000, 18_700, 66])
    made = recipe.start(System()).step((asked, table))
    assert made.sum() == 40
    worst = np.abs(asked @ table - 10**5 / 40 * (asked @ made)).max()
    assert worst <= recipe.error.bound(1, 1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"universe": 100, "size": 10}, "too many databases"),
        ({"rows": 2**40, "grid": 2**16, "size": 99}, "64 bits"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        replace(SMALL, **changes)
