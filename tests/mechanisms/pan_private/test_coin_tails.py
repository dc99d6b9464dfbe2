"""Tails of coins with noise: never below the exact law, and close to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.mechanisms.pan_private.coin_tails import CoinTails

Floats = NDArray[np.float64]
HIGH = 1e4


def coins(count: int, chance: float) -> Floats:
    """The law of the number of ones."""
    law = np.ones(1)
    for _ in range(count):
        law = np.convolve(law, [1 - chance, chance])
    return law


def laplace(scale: float) -> Floats:
    far = math.ceil(40 * scale) + 2
    law = np.exp(-np.abs(np.arange(-far, far + 1)) / scale)
    found: Floats = law / law.sum()
    return found


def gaussian(variance: float) -> Floats:
    far = math.ceil(9 * math.sqrt(variance)) + 2
    law = np.exp(-(np.arange(-far, far + 1) ** 2) / (2 * variance))
    found: Floats = law / law.sum()
    return found


def outside(law: Floats, margin: float) -> float:
    """The probability of being further from the mean."""
    values = np.arange(len(law))
    return float(law[np.abs(values - values @ law) > margin * (1 + 1e-9)].sum())


@pytest.mark.parametrize("count", [1, 2, 5, 20, 100])
def test_no_law_of_coins_has_larger_tails(count: int) -> None:
    noises = [(CoinTails(coins=((1.0, count / 4),), scale=b), laplace(b)) for b in (0.05, 1, 9)]
    noises += [(CoinTails(coins=((1.0, count / 4),), normal=v), gaussian(v)) for v in (0.2, 40)]
    noises.append((CoinTails(coins=((1.0, count / 4),)), np.ones(1)))
    for second in sorted({0, 1, count // 2, count}):
        for chance in (0.6, 0.99):
            sums = np.convolve(coins(count - second, 0.5), coins(second, chance))
            for tails, noise in noises:
                for beta in (0.5, 0.05, 1e-4, 1e-8):
                    margin = tails.quantile(beta, HIGH)
                    assert outside(np.convolve(sums, noise), margin) <= beta * (1 + 1e-9)


@pytest.mark.parametrize(("weights", "most"), [((2, -1), 1.12), ((1, -2, 1), 1.2)])
def test_no_law_of_weighted_coins_has_larger_tails(weights: tuple[int, ...], most: float) -> None:
    sums = laplace(2.0)
    for weight in weights:
        spaced = np.zeros(30 * abs(weight) + 1)
        spaced[:: abs(weight)] = coins(30, 0.5)
        sums = np.convolve(sums, spaced)
    tails = CoinTails(coins=tuple((float(weight), 7.5) for weight in weights), scale=2.0)
    for beta in (0.5, 0.05, 1e-4):
        margin = tails.quantile(beta, HIGH)
        assert outside(sums, margin) <= beta
        # one for each weight and half a count for the noise, which is less in a larger table
        spare = sum(map(abs, weights)) + 0.5
        assert outside(sums, (margin - spare) / most) > beta or beta > 0.1


def test_the_rest_may_be_what_has_the_largest_moments() -> None:
    # a discrete Gaussian variable has nearly the moments of the bound
    for rest in (1.0, 3.0, 400.0):
        tails = CoinTails(coins=((1.0, 25.0),), scale=2.0, rest=rest)
        sums = np.convolve(np.convolve(coins(100, 0.5), laplace(2.0)), gaussian(rest))
        for beta in (0.5, 0.05, 1e-4):
            margin = tails.quantile(beta, HIGH)
            assert outside(sums, margin) <= beta
            # of a large rest nothing but its moments is known
            close = outside(sums, (margin - 1.5) / 1.1 - 1) > beta
            assert close or beta > 0.1 or rest > 100


def test_large_tables_have_nearly_the_normal_margin() -> None:
    for count in (1e4, 1e6, 1e9):
        margin = CoinTails(coins=((1.0, count / 4),), scale=1.0).quantile(0.05, 2 * count**0.5)
        assert 1 <= margin / (1.959964 * math.sqrt(count / 4 + 2)) <= 1 + 4 / math.sqrt(count)


def test_no_parameters_are_too_extreme() -> None:
    for count in (1.0, 1e3, 4e9):
        for scale in (1e-3, 1.0, 1e6, 1e12):
            for beta in (0.9, 0.05, 1e-60, 1e-250):
                for rest in (0.0, 1e-6 * count, 100 * count):
                    ranges = math.sqrt(2 * (count / 4 + rest) * math.log(4 / beta))
                    high = ranges + scale * math.log(4 / beta) + 2
                    of = CoinTails(coins=((1.0, count / 4),), scale=scale, rest=rest)
                    assert 0 < of.quantile(beta, high) <= high
                    of = CoinTails(coins=((1.0, count / 4),), normal=scale**2, rest=rest)
                    assert 0 < of.quantile(beta, high) <= high


def test_a_smaller_bound_that_is_known_stays() -> None:
    assert CoinTails(coins=((1.0, 25.0),), scale=1.0).quantile(0.05, 3.0) == 3.0
    assert CoinTails(coins=((1.0, 25.0),), scale=1.0).quantile(0.05, 1.0) == 1.0
