"""Toeplitz counter: its certified sensitivity, its exact dot products, its figures."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.gaussian.encoded import Encoding
from ameles.mechanisms.counters.gaussian.toeplitz import (
    COEFFICIENT,
    PRECISION,
    ToeplitzCounter,
    square_root,
)
from ameles.noise import Tape
from tests.mechanisms.counters.twins import scattered, shift, squares

STEPS = 12


def certified(recipe: ToeplitzCounter, bits: int) -> Fraction:
    return recipe.encoding_with(bits).variance * 2 * recipe.spend


def encoding_shift(
    recipe: ToeplitzCounter, noises: list[int], change: list[int], bits: int
) -> list[int]:
    """On the grid of 2^-bits; a process on the grid of whole numbers gives the encoding itself."""
    grid = [step << bits for step in change]
    return shift(recipe.process, np.array([0]), noises, grid)


@settings(max_examples=60, deadline=None)
@given(
    noises=st.lists(st.integers(-(2**30), 2**30), min_size=STEPS, max_size=STEPS),
    changed=st.sets(st.integers(0, STEPS - 1), min_size=1, max_size=3),
    signs=st.lists(st.sampled_from([-2, 2]), min_size=3, max_size=3),
    bits=st.sampled_from([0, 3, 16]),
)
def test_no_neighbours_exceed_the_certificate(
    noises: list[int], changed: set[int], signs: list[int], bits: int
) -> None:
    recipe = ToeplitzCounter(rho=1, horizon=STEPS, contributions=3, bound=2)
    change = [0] * STEPS
    for step, sign in zip(sorted(changed), signs, strict=False):
        change[step] = sign
    assert squares(encoding_shift(recipe, noises, change, bits)) <= certified(recipe, bits)


def test_a_certificate_without_the_roundings_is_caught() -> None:
    recipe = ToeplitzCounter(rho=1, horizon=STEPS)
    change, _ = recipe._sensitivity
    without = Encoding.of(change=change, rounding=Fraction(0), bits=4, rho=recipe.spend)
    worst = max(
        squares(encoding_shift(recipe, scattered(STEPS, 2**20, seed), [1] + [0] * 11, 4))
        for seed in range(20)
    )
    assert without.variance * 2 < worst <= certified(recipe, 4)


@pytest.mark.parametrize("m", [1, 2, 5, 9])
def test_the_norm_is_exactly_that_of_the_upper_ends(m: int) -> None:
    upper = [c + j for j, c in enumerate(square_root(9).lower)]
    summed = [sum(upper[max(0, t - m + 1) : t + 1]) for t in range(9)]
    exact = Fraction(sum(value**2 for value in summed), 1 << 2 * PRECISION)
    assert square_root(9).squared_norm(m) == exact


def test_the_first_steps_are_the_worst() -> None:
    horizon = 9
    c = np.array([c / 2**96 for c in square_root(horizon).lower])
    columns = [np.concatenate([np.zeros(s), c[: horizon - s]]) for s in range(horizon)]
    for m in range(1, horizon + 1):
        worst = max(
            float(np.sum(np.sum([columns[s] for s in changed], axis=0) ** 2))
            for changed in combinations(range(horizon), m)
        )
        claimed = square_root(horizon).squared_norm(m)
        assert float(claimed) == pytest.approx(worst, rel=1e-12)
    assert square_root(horizon).squared_norm(99) == square_root(horizon).squared_norm(horizon)


def test_coefficients_are_those_of_the_square_root() -> None:
    root = square_root(1000)
    product = np.convolve(root.coefficients / 2.0**30, root.coefficients / 2.0**30)[:1000]
    assert product == pytest.approx(np.ones(1000), abs=1e-6)
    assert root.coefficients[0] == 1 << COEFFICIENT
    assert 0 < root.perturbation < Fraction(1, 10**6)


def test_an_impulse_of_noise_shows_the_coefficients() -> None:
    recipe = ToeplitzCounter(rho=1, horizon=40)
    tape = Tape([1 << COEFFICIENT])
    column = recipe.process(tape, np.array([0])).take(40)[:, 0]
    assert column.tolist() == recipe.filter.coefficients.tolist()


def test_dot_products_are_exact_for_the_largest_numbers() -> None:
    recipe = ToeplitzCounter(rho=1, horizon=50, width=2)
    noises = scattered(100, 2**40)
    noise = recipe.process(Tape(noises), np.array([0])).take(50)
    coefficients = recipe.filter.coefficients.tolist()
    for t in range(50):
        for key in range(2):
            exact = sum(coefficients[j] * noises[2 * (t - j) + key] for j in range(t + 1))
            assert noise[t, key] == exact >> COEFFICIENT


@pytest.mark.parametrize(
    ("horizon", "mean", "worst"), [(2**10, 3.110, 3.273), (2**16, 4.434, 4.596)]
)
def test_the_figures_of_the_frontier(horizon: int, mean: float, worst: float) -> None:
    recipe = ToeplitzCounter(rho="1e-4", horizon=horizon)
    sigma = float(1 / (2 * recipe.spend)) ** 0.5
    # what the grid and its roundings cost is below 0.1%
    assert recipe.error.rms(horizon) / sigma == pytest.approx(mean, rel=1e-3)
    assert recipe.error.std(horizon) / sigma == pytest.approx(worst, rel=1e-3)


def test_horizons_and_widths_have_limits() -> None:
    with pytest.raises(BadInput, match="65536"):
        ToeplitzCounter(rho=1, horizon=2**16 + 1)
    with pytest.raises(BadInput, match="keeps all its noise"):
        ToeplitzCounter(rho=1, horizon=2**16, width=2**12)


def test_a_resumed_run_keeps_its_grid() -> None:
    recipe = ToeplitzCounter(rho=1, horizon=8)
    other = recipe.process(Tape(), np.array([3, 5, 6]))
    assert other.state().tolist() == [3, 5, 6]
    tape = Tape()
    recipe.process(tape, np.array([3])).take(1)
    assert tape.draws[0].scale == recipe.encoding_with(3).variance
