"""Rounded sums: bounds and deviations against all values of a few variables."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.hats.endless import EndlessHatsCounter
from ameles.mechanisms.counters.hats.error import FEW_VALUES
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.laplace.mixture import (
    MANY,
    LaplaceMixture,
    LaplacePart,
    quantiles,
    rounded_stds,
)
from tests.each import together

UNIT = 64  # all weights of these cases are whole numbers of one over this
CASES = {
    "one": [(Fraction(2, 3), 45)],
    "few": [(Fraction(1, 3), 60), (Fraction(1, 3), 9), (Fraction(1, 2), 31)],
    "many": [(Fraction(2), weight) for weight in (61, 61, 61, 3, 3, 40, 17, 5)],
    "mixed": [(Fraction(3), 50), (Fraction(1, 4), 64), (Fraction(7), 9)],
}


@lru_cache
def law(case: str) -> NDArray[np.float64]:
    """The probabilities of all values, in units: the middle one is 0."""
    size, far = 1 << 16, np.abs(np.arange(-400, 401))
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    for scale, weight in CASES[case]:
        q = math.exp(-1 / scale)
        spread = np.zeros(size)
        np.add.at(spread, np.arange(-400, 401) * weight % size, (1 - q) / (1 + q) * q**far)
        transform *= np.fft.rfft(spread)
    probabilities: NDArray[np.float64] = np.fft.fftshift(np.fft.irfft(transform, size))
    return probabilities


def mixture(parts: list[tuple[Fraction, int]], roundings: int) -> LaplaceMixture:
    different = tuple(LaplacePart(scale, weight / UNIT, 1) for scale, weight in parts)
    return LaplaceMixture(different, roundings=roundings)


@together("case", list(CASES))
@together("beta", [0.5, 0.05, 1e-5])
def test_bounds_are_the_smallest_integers(beta: float, case: str) -> None:
    probabilities = law(case)
    values = np.arange(len(probabilities)) - len(probabilities) // 2
    rounded = abs(np.floor(values / UNIT + 0.5))
    bound = mixture(CASES[case], 1).quantile(beta)
    assert probabilities[rounded > bound].sum() <= beta
    # the weights are so coarse here that values lie on the boundary, which counts as above
    at_least = abs(values) >= (bound - 0.5 - 0.06) * UNIT
    assert bound == 0 or probabilities[at_least].sum() > 0.99 * beta
    # two roundings may add one more
    assert bound <= mixture(CASES[case], 2).quantile(beta) <= bound + 1
    assert mixture(CASES[case], 2).quantile(beta) <= mixture(CASES[case], MANY).quantile(beta)


@together("case", list(CASES))
def test_rounding_adds_what_it_adds(case: str) -> None:
    probabilities = law(case)
    values = np.arange(len(probabilities)) - len(probabilities) // 2
    rounded = np.floor(values / UNIT + 0.5)
    exact = math.sqrt(float(probabilities @ rounded**2))
    assert mixture(CASES[case], 1).rounded_std == pytest.approx(exact, rel=0.03, abs=0.01)


def test_whole_noise_is_not_rounded() -> None:
    whole = LaplaceMixture((LaplacePart(Fraction(3), 1.0, 4),))
    assert whole.rounded_std == whole.std


def test_a_law_beside_others_has_its_own_deviation() -> None:
    whole = LaplaceMixture((LaplacePart(Fraction(3), 1.0, 4),))
    laws = [mixture(CASES[case], 1) for case in CASES] * 40 + [whole]  # in several batches
    assert rounded_stds(laws) == pytest.approx([one.rounded_std for one in laws], rel=1e-12)


@pytest.mark.parametrize("epsilon", [5, 20, 1000])
def test_small_noise_of_hats_at_many_steps_is_that_of_each_law(epsilon: int) -> None:
    for recipe in (HatsCounter(epsilon=epsilon, horizon=100), EndlessHatsCounter(epsilon=epsilon)):
        steps = np.arange(1, 101)
        laws = [recipe.error.law(t) for t in range(1, 101)]
        small = recipe.error.stds(steps) < FEW_VALUES
        expected = rounded_stds(laws)[small]
        assert small.any()
        assert recipe.error.stds(steps)[small] == pytest.approx(expected, rel=1e-12)


def test_a_law_beside_others_has_its_own_bound() -> None:
    laws = [mixture(CASES[case], roundings) for case in CASES for roundings in (1, 2)]
    assert quantiles(laws, 0.05).tolist() == [one.quantile(0.05) for one in laws]


def test_deviations_of_rare_noise_are_small() -> None:
    # A twelfth would be a deviation of 0.29 counts, where most releases are exact.
    for recipe in (SiblingsCounter(epsilon=30, horizon=64), HatsCounter(epsilon=30, horizon=64)):
        deviations = [recipe.error.std(t) for t in (1, 7, 40, 64)]
        assert max(deviations) < 0.2
        assert min(deviations) >= 0


@together("case", [(64, 1), (64, 3), (365, 1), (1024, 2), (1024, 5)])
def test_many_weights_are_never_below_the_smallest(case: tuple[int, int]) -> None:
    # The bounds of hats and siblings, without the search, and the same laws with it.
    horizon, epsilon = case
    hats, siblings = (
        kind(epsilon=epsilon, horizon=horizon).error for kind in (HatsCounter, SiblingsCounter)
    )
    for error, t in product((hats, siblings), (1, horizon // 3, horizon)):
        for beta in (0.3, 0.01):
            law = error.law(t)
            quick, searched = law.quantile(beta), replace(law, varied=False).quantile(beta)
            assert searched <= quick <= searched + 1
            window = replace(law, roundings=2)
            assert quick <= window.quantile(beta) <= quick + 1


def test_noise_that_is_almost_surely_zero_has_bounds() -> None:
    """Its exponents are too large for floats."""
    error = HatsCounter(epsilon=1000, horizon=9).error
    assert 0 <= error.std(9) < 0.03  # the series of the deviation is cut
    assert error.bound(9, 0.05) == 0
