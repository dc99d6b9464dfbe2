"""The error of comparisons: exact against summing the laws, and that it holds on real runs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from ameles.mechanisms.continual.noisy_threshold import Said, ThresholdError
from ameles.mechanisms.continual.sparse_vector import above_threshold
from ameles.noise import System


def mass(scale: float, reach: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    k = np.arange(-reach, reach + 1)
    return math.tanh(1 / (2 * scale)) * np.exp(-np.abs(k) / scale)


@pytest.mark.parametrize(("threshold", "query"), [(1, 1), (6, 6), (2, 7), (5, "1/2")])
@pytest.mark.parametrize("beta", [0.3, 0.05, 1e-4])
def test_one_query_is_within_the_quantile_of_both_noises(
    threshold: int, query: int | str, beta: float
) -> None:
    one, two = Fraction(threshold), Fraction(query)
    reach = 400
    law = np.convolve(mass(float(one), reach), mass(float(two), reach))
    far = np.abs(np.arange(-2 * reach, 2 * reach + 1))
    bound = ThresholdError(one, two).bound(1, beta)
    assert law[far > bound].sum() <= beta * (1 + 1e-9)
    if one == two:  # a sum of equal noises is computed exactly
        assert law[far > bound - 1].sum() > beta
    exact = next(q for q in range(reach) if law[far > q].sum() <= beta)
    assert bound <= 1.1 * exact + 5


def test_all_queries_share_the_threshold_and_halve_beta() -> None:
    error = ThresholdError(Fraction(3), Fraction(5))
    for steps in (1, 10, 1000):
        # P(|Z| > q) = 2 a^(q + 1) / (1 + a), a = exp(-1 / scale)
        quantiles = []
        for scale, beta in ((3, 0.05), (5, 0.05 / steps)):
            a = math.exp(-1 / scale)
            quantiles.append(next(q for q in range(999) if 2 * a ** (q + 1) / (1 + a) <= beta))
        assert error.bound_all(steps, 0.1) == sum(quantiles)
    assert error.bound(1, 0.1) <= error.bound_all(1, 0.1) < error.bound_all(2, 0.1) + 1


def test_the_bound_holds_as_often_as_it_says() -> None:
    # 500 runs of 20 queries, all just far enough below; false alarm 1e-6
    beta, steps = 0.3, 20
    recipe = above_threshold(epsilon=1, aboves=1, threshold=0, neighbours="replace")
    below = -int(recipe.error.bound_all(steps, beta)) - 1
    wrong = sum(
        any(reply.said is not Said.BELOW for reply in recipe.start(System()).feed([below] * steps))
        for _ in range(500)
    )
    assert wrong <= binom.isf(1e-6, 500, beta)
