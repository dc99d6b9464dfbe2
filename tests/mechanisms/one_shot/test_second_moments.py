"""Second moments: exact sums without noise, exact sensitivity, and the loss of every tape."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from ameles.audit import Verdict, enumerated_loss
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Pure
from ameles.core.noise import Noise
from ameles.mechanisms.one_shot.second_moments import SecondMoments
from ameles.noise import Tape, Zero

RECIPE = SecondMoments(epsilon=1, bounds=(1, 2, 3), neighbours="add-remove")


def test_without_noise_they_are_the_sums_of_products() -> None:
    rows = np.array([[1, 2, -3], [1, -1, 0], [0, 2, 2]])
    expected = (rows.T @ rows)[np.triu_indices(3)].tolist()
    assert RECIPE.start(Zero()).step(rows).tolist() == expected
    assert RECIPE.start(Zero()).step(rows.tolist()).tolist() == expected
    assert RECIPE.start(Zero()).step([[9, -9, 9]]).tolist() == [1, -2, 3, 4, -6, 9]


def test_an_empty_table_is_a_table() -> None:
    tables: list[Any] = [[], np.empty((0, 3), dtype=np.int64)]
    for empty in tables:
        assert RECIPE.start(Zero()).step(empty).tolist() == [0] * 6


def changes(bounds: tuple[int, ...]) -> list[Any]:
    """What each possible row adds to the sums."""
    rows = product(*(range(-bound, bound + 1) for bound in bounds))
    places = np.triu_indices(len(bounds))
    return [np.outer(row, row)[places] for row in rows]


@pytest.mark.parametrize("bounds", [(1,), (1, 2), (2, 1, 3)])
def test_the_sensitivity_is_that_of_the_worst_row(bounds: tuple[int, ...]) -> None:
    recipe = replace(RECIPE, bounds=bounds)
    added = changes(bounds)
    assert recipe.largest_change == max(np.abs(one).sum() for one in added)
    assert recipe.squared_change == max((one**2).sum() for one in added)
    swapped = replace(recipe, neighbours="replace")
    assert swapped.largest_change == 2 * recipe.largest_change
    assert swapped.squared_change == 4 * recipe.squared_change
    if len(added) < 50:
        worst = max(np.abs(one - other).sum() for one in added for other in added)
        assert recipe.largest_change <= worst <= swapped.largest_change


def test_the_noise_has_the_stated_law() -> None:
    tape = Tape([5])
    assert RECIPE.start(tape).step([[1, 0, 0]]).tolist() == [6, 0, 0, 0, 0, 0]
    assert tape.laws == [("laplace", Fraction(25))] * 6
    tape = Tape()
    gauss = SecondMoments(rho="1/2", bounds=(1, 2), neighbours="add-remove")
    gauss.start(tape).step([[1, 0]])
    assert tape.laws == [("gaussian", Fraction(1 + 4 + 16))] * 3
    assert RECIPE.guarantee.loss == Pure(1)
    assert gauss.guarantee.loss == Concentrated("1/2")
    assert replace(RECIPE, delta="1e-6").guarantee.loss == Approx(1, "1e-6")
    assert float(replace(RECIPE, delta="1e-6").variance) > 0


class Diagonal(SecondMoments):
    """Counts each column once, and forgets the products."""

    @property
    def largest_change(self) -> int:
        return sum(bound**2 for bound in self.bounds)


def program(recipe: SecondMoments, rows: list[list[int]]) -> Callable[[Noise], Hashable]:
    return lambda noise: tuple(recipe.start(noise).step(rows) % 5)


@pytest.mark.parametrize("row", [[1, 1], [1, -1], [0, 1]])
def test_every_tape_of_an_added_row(row: list[int]) -> None:
    recipe = SecondMoments(epsilon=3, bounds=(1, 1), neighbours="add-remove")
    pair = program(recipe, [[0, 0]]), program(recipe, [[0, 0], row])
    assert enumerated_loss(*pair, epsilon=3, modulus=5).verdict is Verdict.CERTIFIED


def test_forgotten_products_are_found() -> None:
    wrong = Diagonal(epsilon=2, bounds=(1, 1), neighbours="add-remove")
    pair = program(wrong, [[0, 0]]), program(wrong, [[0, 0], [1, 1]])
    assert enumerated_loss(*pair, epsilon=2, modulus=5).verdict is Verdict.REFUTED


def test_the_error_is_the_noise_s() -> None:
    a = math.exp(-1 / 25)
    bound = RECIPE.error.bound(1, 0.01)
    assert 2 * math.pow(a, bound + 1) / (1 + a) <= 0.01 < 2 * math.pow(a, bound) / (1 + a)
    assert RECIPE.error.bound_entries(0.01) > bound
    gauss = SecondMoments(rho="1/2", bounds=(1, 2), neighbours="add-remove")
    assert gauss.error.bound(1, 0.05) == pytest.approx(1.96 * math.sqrt(21), abs=1)


@pytest.mark.parametrize(
    "bad", [3, np.ones((2, 2), int), np.ones(3, int), np.zeros((2, 3)), {1: 2}, "abc"]
)
def test_what_a_step_takes(bad: object) -> None:
    with pytest.raises(BadInput, match="rows of 3 whole numbers"):
        RECIPE.start(Zero()).step(bad)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"bounds": (1, 2**11 + 1)}, "bounds up to 2048"),
        ({"bounds": (1,) * 1025}, "1024 columns"),
        ({"rho": 1}, "Exactly one"),
        ({"epsilon": None, "rho": 1, "delta": "1e-6"}, "Exactly one"),
        ({"neighbours": "step"}, "not of a stream"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        replace(RECIPE, **changed)
