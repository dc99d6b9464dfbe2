"""Sums of coins and noise: tails against sums of products, intervals against every truth."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.mechanisms.pan_private.coin_sums import CoinSum
from ameles.mechanisms.pan_private.cropped_mean import CroppedMean
from ameles.mechanisms.pan_private.density import Density
from ameles.mechanisms.pan_private.estimate import EstimateError
from tests.each import together

FAR = 400  # how far noise is followed


def law(count: int, second: int, chances: tuple[float, float], scale: float) -> NDArray[np.float64]:
    """The probabilities of V = -FAR, ..., count + FAR."""
    total = np.ones(1)
    for number, chance in ((count - second, chances[0]), (second, chances[1])):
        for _ in range(number):
            total = np.convolve(total, [1 - chance, chance])
    far = np.abs(np.arange(-FAR, FAR + 1))
    noise = (far == 0).astype(np.float64)
    if scale:
        q = math.exp(-1 / scale)
        noise = (1 - q) / (1 + q) * q**far
    return np.convolve(total, noise)


@together("scale", [0.0, 0.2, 2.0, 12.0])
@together("chances", [(0.5, 0.8), (0.02, 0.9), (0.5, 0.5001), (0.4, 1.0)])
@together("count", [1, 2, 17, 60])
def test_tails_are_exact(count: int, chances: tuple[float, float], scale: float) -> None:
    coins = CoinSum(count=count, chances=chances, scale=scale)
    for second in (0, count // 2, count):
        probabilities = law(count, second, chances, scale)
        k = np.arange(-20, count + 20, 3)
        at = np.full(len(k), second)
        above = np.array([probabilities[FAR + one :].sum() for one in k])
        below = np.array([probabilities[: FAR + one + 1].sum() for one in k])
        # convolutions are good to about 1e-15; tails that are close to 1 may be given as 1
        for exact, found in ((above, coins.at_least(at, k)), (below, coins.at_most(at, k))):
            assert (found >= exact * (1 - 1e-9) - 1e-14).all()
            small = exact < 0.4
            assert found[small] == pytest.approx(exact[small], rel=1e-5, abs=1e-14)


@together("scale", [0.0, 1.5])
@together("beta", [0.05, 1e-3])
def test_intervals_cover_every_truth(beta: float, scale: float) -> None:
    # The exact probability of an interval without the truth, for every truth.
    count, chances = 12, (0.5, 0.9)
    coins = CoinSum(count=count, chances=chances, scale=scale)
    values = np.arange(-FAR, count + FAR + 1)
    # noise goes further with probability 1e-7, which counts as missing
    intervals = [coins.interval(int(v), beta) if abs(v - 6) <= 30 else None for v in values]
    for second in range(count + 1):
        missing = sum(
            p
            for p, interval in zip(law(count, second, chances, scale), intervals, strict=True)
            if interval is None or not interval[0] <= second <= interval[1]
        )
        assert missing <= beta


@together("scale", [0.0, 3.0])
def test_mixed_coins_are_covered_too(scale: float) -> None:
    # Coins of many chances, whose mean is that of 12 second chances among 30.
    coins = CoinSum(count=30, chances=(0.5, 0.8), scale=scale, mixed=True)
    total = np.ones(1)
    for part in [*[1.0] * 6, *[0.5] * 8, *[0.25] * 8, *[0.0] * 8]:
        total = np.convolve(total, [0.5 - 0.3 * part, 0.5 + 0.3 * part])
    noise = law(1, 0, (0.0, 0.0), scale)[:-1]
    probabilities = np.convolve(total, noise)
    k = np.arange(19, 40)
    exact = np.array([probabilities[FAR + one :].sum() for one in k])
    found = coins.at_least(np.full(len(k), 12), k)
    assert (found >= exact * (1 - 1e-9)).all()


def test_margins_are_those_of_the_worst_truth() -> None:
    for count in (1, 7, 200):
        coins = CoinSum(count=count, chances=(0.3, 0.9), scale=1.0)
        margin = coins.margin(0.05)
        outside = []
        for second in range(0, count + 1, 1 if count < 50 else 20):
            mean = float(coins.mean(np.array([second]))[0])
            values = np.arange(-FAR, count + FAR + 1)
            far = abs(values - mean) > margin
            outside.append(float(law(count, second, (0.3, 0.9), 1.0)[far].sum()))
        assert 0.5 * 0.05 < max(outside) <= 0.05


def test_tables_are_a_third_narrower_than_by_ranges() -> None:
    given: dict[str, Any] = {"neighbours": "user-presence", "epsilon_state": 1, "epsilon_output": 1}
    for table in (
        Density(users=10_000, **given),
        CroppedMean(users=10_000, crop=3, **given),
    ):
        ranges = EstimateError.margins(table.error, 0.05)[0]
        normal = 1.96 * table.error.std(1)
        assert table.error.bound(1, 0.05) < min(ranges / 1.36, 1.03 * normal)
        assert table.error.bound(1, 0.05) > normal


def test_no_scale_means_no_noise() -> None:
    fair = CoinSum(count=10, chances=(0.5, 0.6), scale=0.0)
    exact = Fraction(sum(math.comb(10, k) for k in range(8, 11)), 1 << 10)
    assert float(fair.at_least(np.array([0]), np.array([8]))[0]) == pytest.approx(float(exact))
