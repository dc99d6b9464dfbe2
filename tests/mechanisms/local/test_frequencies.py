"""Estimated counts: exact coverage of intervals and bounds, exact standard deviations."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from ameles.core.exceptions import BadInput
from ameles.mechanisms.local import HadamardResponse, RandomizedResponse, UnaryEncoding
from ameles.mechanisms.local.frequencies import FrequencyError, chance_interval
from ameles.noise import System
from tests.each import together

CHANCES = [(0.75, 0.25), (0.5, 0.27), (0.73, 0.5), (0.05, 0.01), (0.999, 0.998)]


@lru_cache(maxsize=4096)
def law(users: int, others: int, p: float, q: float) -> NDArray[np.float64]:
    """The law of the support, if ``users`` have the category."""
    own = binom.pmf(np.arange(users + 1), users, p)
    rest = binom.pmf(np.arange(others + 1), others, q)
    return np.convolve(own, rest)


@together("chances", CHANCES)
@together("n", [1, 2, 7, 60, 400])
@together("beta", [0.3, 0.05, 1e-3])
def test_intervals_and_bounds_hold(chances: tuple[float, float], n: int, beta: float) -> None:
    # Exact: the law of the support for every number of users with the category (of 400, for 21).
    p, q = chances
    error = FrequencyError(p, q)
    supports = np.arange(n + 1)
    estimate = error.estimate(supports, n, beta=beta)
    bound = error.bound(n, beta)
    for users in sorted(set(np.linspace(0, n, 21).astype(int).tolist())):
        weights = law(users, n - users, p, q)
        # 1e-9: the interval is computed in floats, and may end on the truth itself
        covered = (estimate.low <= users + 1e-9) & (users - 1e-9 <= estimate.high)
        assert weights[covered].sum() >= 1 - beta
        assert weights[np.abs(estimate.counts - users) <= bound + 1e-9].sum() >= 1 - beta
        mean = (weights * estimate.counts).sum()
        assert mean == pytest.approx(users, abs=1e-6 / (p - q))
        deviation = np.sqrt((weights * (estimate.counts - users) ** 2).sum())
        assert deviation <= error.std(n) * (1 + 1e-9)
        exact = np.sqrt(users * p * (1 - p) + (n - users) * q * (1 - q)) / (p - q)
        assert deviation == pytest.approx(exact, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("beta", [0.2, 0.01])
def test_intervals_of_a_population_hold(beta: float) -> None:
    # The support is binomial there; 101 shares, exactly.
    n = 300
    low, high = chance_interval(np.arange(n + 1), n, beta)
    for m in np.linspace(0, 1, 101):
        covered = (low <= m + 1e-12) & (m - 1e-12 <= high)
        assert binom.pmf(np.arange(n + 1), n, m)[covered].sum() >= 1 - beta


def test_intervals_are_not_much_wider_than_they_must_be() -> None:
    error = FrequencyError(0.5, 0.27)
    estimate = error.estimate(np.array([27_500]), 100_000, beta=0.05)
    width = float(estimate.high[0] - estimate.low[0])
    assert width < 2 * 1.96 * float(estimate.standard_errors[0]) * 1.01
    assert error.bound(100_000, 0.05) < 1.96 * error.std(100_000) * 1.05


def test_the_bound_of_all_steps_holds_at_each() -> None:
    error = FrequencyError(0.05, 0.01)
    for steps in (1, 10, 1000):
        assert all(error.bound_all(steps, 0.1) >= error.bound(t, 0.1 / steps) for t in (1, steps))
    assert FrequencyError(0.5, 0.25, 50).bound_entries(100, 0.1) == error_of(100, 0.1 / 50)


def error_of(t: int, beta: float) -> float:
    return FrequencyError(0.5, 0.25).bound(t, beta)


def test_real_reports_are_within_their_intervals() -> None:
    # 3 x 200 intervals at 1e-7 each: false alarm below 1e-4
    values = np.repeat(np.arange(200), np.arange(200))
    for recipe in (
        RandomizedResponse(categories=200, epsilon=3),
        HadamardResponse(categories=200, epsilon=1),
        UnaryEncoding(categories=200, epsilon=1),
    ):
        reports = recipe.start(System.direct()).feed(values[:2_000])
        estimate = recipe.estimate(reports, beta=1e-7)
        seen = np.bincount(values[:2_000], minlength=200)
        assert ((estimate.low <= seen) & (seen <= estimate.high)).all()
        assert estimate.reports == 2_000
        assert float(estimate.shares.sum()) == pytest.approx(float(estimate.counts.sum()) / 2_000)


def test_steps_and_betas_are_checked() -> None:
    error = FrequencyError(0.75, 0.25)
    for call in (error.bound, error.bound_all):
        with pytest.raises(BadInput):
            call(0, 0.05)
        with pytest.raises(BadInput):
            call(1, 1.0)
    with pytest.raises(BadInput):
        error.std(0)
