"""Perceptron and mixtures: what one row adds to the sums of a round, and what is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.learning import Mixture, MixtureModel, Perceptron
from ameles.mechanisms.learning.mixture import WEIGHT
from ameles.noise import System, Zero
from ameles.noise.arrays import IntArray


class Shown(Zero):
    """Draws zeros, and keeps the sizes of the noises; ``sums`` are read from a wrapped release."""

    def __init__(self) -> None:
        super().__init__()
        self.scales: list[Any] = []

    def laplace(self, scale: Any, size: Any) -> IntArray:
        self.scales.append(scale)
        return super().laplace(scale, size)


def sums_of_mixture(recipe: Mixture, rows: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The exact sums of the first round."""
    seen: list[Any] = []
    following = Mixture._next

    def shown(self: Mixture, noisy: Any) -> Any:
        seen.append(noisy)
        return following(self, noisy)

    monkeypatch.setattr(Mixture, "_next", shown)
    recipe.start(Zero()).step(rows)
    return seen[0]


@pytest.mark.parametrize("corner", [[0, 0], [7, 7], [0, 7], [3, 5]])
def test_a_row_adds_to_the_sums_of_a_mixture_what_is_claimed(
    corner: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Mixture(epsilon=1, rounds=1, features=2, grid=7, groups=3, neighbours="add-remove")
    rows = System().uniform(8, (20, 2)).tolist()
    change = sums_of_mixture(recipe, [*rows, corner], monkeypatch)
    change = change - sums_of_mixture(recipe, rows, monkeypatch)
    assert 0 < np.abs(change).sum() <= recipe.row_norm == recipe.reach
    replaced = Mixture(epsilon=1, rounds=1, features=2, grid=7, groups=3, neighbours="replace")
    assert replaced.reach == 2 * recipe.reach


def test_the_largest_row_reaches_what_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Mixture(epsilon=1, rounds=1, features=2, grid=7, groups=1, neighbours="add-remove")
    change = sums_of_mixture(recipe, [[7, 7], [1, 1]], monkeypatch)
    change = change - sums_of_mixture(recipe, [[1, 1]], monkeypatch)
    assert np.abs(change).sum() == recipe.row_norm


def test_the_weights_of_a_row_depend_on_no_other_row() -> None:
    """Whole numbers that add up to the weight, and are those of the formula but for roundings."""
    recipe = Mixture(epsilon=1, rounds=1, features=3, grid=999, groups=4, neighbours="replace")
    noise = System()
    rows = noise.uniform(1000, (40, 3))
    parts = [noise.uniform(900, (4, 3)) + 50.0 for _ in range(2)]
    model = MixtureModel(
        (0.1, 0.2, 0.3, 0.4), *(tuple(map(tuple, part.tolist())) for part in parts)
    )
    together = recipe._weights(rows, model)
    for place in range(40):
        assert recipe._weights(rows[[place]], model).tolist() == [together[place].tolist()]
    assert (together.sum(axis=1) == WEIGHT).all()
    assert together.min() >= 0
    away = (rows[:, None, :] - parts[0]) / parts[1]
    odds = np.array(model.shares) / parts[1].prod(axis=1) * np.exp(-(away**2).sum(axis=2) / 2)
    shares = odds / odds.sum(axis=1, keepdims=True)
    assert np.abs(together - shares * WEIGHT).max() < 4 + 0.01 * WEIGHT


def test_a_mixture_is_found_with_noise() -> None:
    # 3,000 rows, epsilon 2 over 6 rounds: centres are off by far less than their distance
    rows = np.concatenate(
        [
            200 + System().uniform(100, (1000, 1)),
            700 + System().uniform(100, (2000, 1)),
        ]
    )
    recipe = Mixture(epsilon=2, rounds=6, features=1, grid=1000, groups=2, neighbours="add-remove")
    model = recipe.start(System()).step(rows)
    assert abs(model.centres[0][0] - 250) < 60
    assert abs(model.centres[1][0] - 750) < 60
    assert abs(model.shares[0] - 1 / 3) < 0.1
    assert min(spread for (spread,) in model.spreads) > 0


def perceptron(neighbours: str = "add-remove", **given: Any) -> Perceptron:
    return Perceptron(
        **{"epsilon": 2, "rounds": 4, "features": 2, "grid": 100, "neighbours": neighbours, **given}
    )


def test_a_row_adds_to_the_sums_of_a_perceptron_what_is_claimed() -> None:
    """With one round the direction is the sum itself, but for its length."""
    recipe = perceptron(rounds=1)
    noise = Shown()
    recipe.start(noise).step(([[100, -100]], [1]))
    assert noise.scales == [recipe.scale] == [100]
    assert recipe.row_norm == 200
    assert perceptron("replace", rounds=1).reach == 2 * recipe.row_norm == 400
    assert perceptron().scale == 4 * recipe.scale, "each round has its share"


def test_a_perceptron_separates_with_noise() -> None:
    rows = System().uniform(201, (6000, 2)) - 100
    labels = rows @ [2, -1] > 0
    direction = perceptron().start(System()).step((rows, labels))
    assert float(np.linalg.norm(direction)) == pytest.approx(1)
    assert float(np.mean((rows @ direction > 0) == labels)) > 0.8


def test_rows_outside_of_the_grid_are_clamped() -> None:
    recipe = perceptron()
    one = recipe.start(Zero()).step(([[500, -3]], [1]))
    two = recipe.start(Zero()).step(([[100, -3]], [True]))
    assert one.tolist() == two.tolist()
    big = np.array([[2**63, 3]], dtype=np.uint64)
    assert recipe.start(Zero()).step((big, [1])).tolist() == (
        recipe.start(Zero()).step(([[100, 3]], [1])).tolist()
    )


@pytest.mark.parametrize(
    "given",
    [
        None,
        ([[1, 2]], [1, 0]),
        (np.array([[1, 2, 3]]), [1]),
        (np.array([[1.0, 2.0]]), [1]),
        (np.array([1, 2]), [1, 1]),
        ([[1, 2]], np.array([0.5])),
        ([[1, 2]], np.array([[1]])),
        ("12", [1]),
    ],
)
def test_what_is_no_table_is_refused(given: Any) -> None:
    with pytest.raises(BadInput):
        perceptron().start(Zero()).step(given)


@pytest.mark.parametrize(
    "rows", [None, np.array([1, 2]), np.array([[1.5]]), np.array([[1, 2]]), {1}]
)
def test_what_is_no_table_of_a_mixture_is_refused(rows: Any) -> None:
    recipe = Mixture(epsilon=1, rounds=1, features=1, grid=7, groups=2, neighbours="replace")
    with pytest.raises(BadInput):
        recipe.start(Zero()).step(rows)


def test_a_table_without_rows_is_a_table() -> None:
    empty: list[Any] = [[], np.zeros((0, 2)), np.zeros((0, 2), dtype=int)]
    for rows in empty:
        assert perceptron().start(Zero()).step((rows, [])).tolist() == [0, 0]
    recipe = Mixture(epsilon=1, rounds=1, features=2, grid=7, groups=1, neighbours="add-remove")
    assert recipe.start(Zero()).step([]).shares == (1.0,)
    with pytest.raises(BadInput, match="2 columns"):
        recipe.start(Zero()).step(np.zeros((1, 0), dtype=int))
