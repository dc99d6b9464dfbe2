"""Regression from noisy sums: exact without noise, and radii that hold on every sample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.one_shot.regression import Moments
from ameles.mechanisms.one_shot.second_moments import SecondMoments
from ameles.noise import System, Zero

RECIPE = SecondMoments(epsilon=1, bounds=(1, 20, 20, 70), neighbours="add-remove")
X = np.arange(4000)
ROWS = np.stack((np.ones_like(X), X % 41 - 20, X * 7919 % 37 - 18, 0 * X), axis=1)
ROWS[:, 3] = 7 + 2 * ROWS[:, 1] - ROWS[:, 2] + X % 3 - 1


def moments(noise: Any, rows: Any = ROWS) -> Moments:
    return Moments(RECIPE, RECIPE.start(noise).step(rows))


def exact(penalty: float) -> Any:
    inside = np.clip(ROWS, [-1, -20, -20, -70], [1, 20, 20, 70]).astype(float)
    left = inside[:, :3].T @ inside[:, :3] + penalty * np.eye(3)
    return np.linalg.solve(left, inside[:, :3].T @ inside[:, 3])


@pytest.mark.parametrize("penalty", [0.0, 10.0, 1e6])
def test_without_noise_it_is_ridge_regression(penalty: float) -> None:
    coefficients = moments(Zero()).ridge(target=3, penalty=penalty)
    assert np.allclose(coefficients.values, exact(penalty))


def test_it_minimises_the_sum_of_squares() -> None:
    # a text prints the square of the sum, which is zero on a hyperplane of coefficients
    coefficients = moments(Zero()).ridge(target=3).values
    least = ((ROWS[:, 3] - ROWS[:, :3] @ coefficients) ** 2).sum()
    for direction in np.vstack((np.eye(3), -np.eye(3))):
        moved = ((ROWS[:, 3] - ROWS[:, :3] @ (coefficients + 1e-3 * direction)) ** 2).sum()
        assert moved > least


@pytest.mark.parametrize("penalty", [0.0, 1e4, 1e6])
def test_the_radius_holds_on_every_sample(penalty: float) -> None:
    # 20 samples at beta = 1e-7: false alarm 2e-6
    true = exact(penalty)
    finite = 0
    for _ in range(20):
        coefficients = moments(System()).ridge(target=3, penalty=penalty, beta=1e-7)
        assert np.linalg.norm(coefficients.values - true) <= coefficients.radius
        finite += math.isfinite(coefficients.radius)
    assert finite == (20 if penalty else 0)


def test_the_radius_is_finite_where_the_noise_is_small() -> None:
    many = np.tile(ROWS, (100, 1))
    sharp = SecondMoments(rho=100, bounds=(1, 20, 20, 70), neighbours="add-remove")
    coefficients = Moments(sharp, sharp.start(System()).step(many)).ridge(target=3, beta=1e-7)
    assert np.linalg.norm(coefficients.values - exact(0.0)) <= coefficients.radius < 1


def test_columns_without_anything_get_a_zero() -> None:
    coefficients = moments(Zero(), np.array([[1, 0, 0, 5], [1, 0, 0, 7]])).ridge(target=3)
    assert np.allclose(coefficients.values, [6, 0, 0])
    assert coefficients.radius == math.inf


def test_a_singular_table_has_no_radius_even_without_noise_to_speak_of() -> None:
    sure = SecondMoments(epsilon=1000, bounds=(1, 1), neighbours="add-remove")
    assert sure.error.bound_entries(0.05) == 0
    assert Moments(sure, np.array([0, 0, 3])).ridge(target=1).radius == math.inf
    assert Moments(sure, np.array([2, 1, 3])).ridge(target=1).radius == 0


def test_covariance_and_means() -> None:
    covariance = moments(Zero()).covariance(ones=0)
    assert np.allclose(covariance, np.cov(ROWS[:, 1:].T, bias=True))
    noisy = moments(System()).covariance(ones=0)
    assert np.linalg.eigvalsh(noisy).min() >= -1e-6
    assert moments(Zero(), np.array([[0, 0, 0, 0]])).covariance(ones=0).tolist() == [[0.0] * 3] * 3


def test_principal_directions() -> None:
    directions = moments(Zero()).principal(2)
    values, vectors = np.linalg.eigh((ROWS.T @ ROWS).astype(float))
    assert np.allclose(directions.moments, values[::-1][:2])
    assert np.allclose(np.abs(directions.vectors.T @ vectors[:, ::-1][:, :2]), np.eye(2), atol=1e-6)


def test_noisy_directions_are_as_good_as_stated() -> None:
    # 20 samples at beta = 1e-7: false alarm 2e-6
    true = (ROWS.T @ ROWS).astype(float)
    values = np.linalg.eigvalsh(true)[::-1]
    for _ in range(20):
        directions = moments(System()).principal(2, beta=1e-7)
        assert np.abs(directions.moments - values[:2]).max() <= directions.radius
        caught = float(np.trace(directions.vectors.T @ true @ directions.vectors))
        assert caught >= values[:2].sum() - 4 * directions.radius


def test_the_radius_grows_with_the_noise() -> None:
    released = moments(Zero())
    bound = RECIPE.error.bound_entries(0.05)
    coefficients = released.ridge(target=3, penalty=1e6)
    size = float(np.linalg.norm(coefficients.values))
    least = max(1e6, 1e6 + np.linalg.eigvalsh(released.matrix[:3, :3]).min() - 3 * bound)
    assert coefficients.radius == pytest.approx((math.sqrt(3) + 3 * size) * bound / least)
    assert released.principal(1).radius == 4 * bound


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: moments(Zero()).ridge(target=4),
        lambda: moments(Zero()).ridge(target=3, penalty=-1.0),
        lambda: moments(Zero()).principal(5),
        lambda: moments(Zero()).covariance(ones=-1),
        lambda: Moments(RECIPE, np.zeros(3, dtype=np.int64)),
        lambda: Moments(
            SecondMoments(epsilon=1, bounds=(1,), neighbours="add-remove"),
            np.zeros(1, dtype=np.int64),
        ).ridge(target=0),
    ],
)
def test_what_is_refused(wrong: Any) -> None:
    with pytest.raises(BadInput):
        wrong()
