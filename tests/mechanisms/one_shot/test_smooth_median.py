"""Smooth median: its sensitivity by brute force, its exact loss, and the false claims of a text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement as multisets
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Pure
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.one_shot.local_sensitivity import (
    ROUNDING,
    MedianSpread,
    smooth_sensitivity,
)
from ameles.mechanisms.one_shot.smooth_median import SmoothMedian
from ameles.noise import System, Tape, Zero
from tests.noise.sources import Stream
from tests.recipe_checks import cached

TOP = 3  # values 0 to 3
TABLES: list[tuple[int, ...]] = list(multisets(range(TOP + 1), 5))
RECIPE = SmoothMedian(epsilon=1, rows=5, largest=TOP, neighbours="replace")


def replaced(table: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for place in range(len(table)):
        for value in range(TOP + 1):
            yield tuple(sorted((*table[:place], value, *table[place + 1 :])))


# The mechanism -------------------------------------------------------------------------------


def test_without_noise_it_is_the_median() -> None:
    for recipe in (RECIPE, replace(RECIPE, delta="1e-6")):
        for table in TABLES:
            assert recipe.start(Zero()).step(table[::-1]) == table[2]


def test_values_outside_are_moved_and_so_are_releases() -> None:
    recipe = replace(RECIPE, delta="1e-3")
    assert recipe.start(Zero()).step([-50, -50, -50, 9, 9]) == 0
    assert recipe.start(Tape([1 << 55])).step([1, 1, 1, 1, 1]) == TOP
    assert recipe.start(Tape([0, 1 << 55])).step([1, 1, 1, 1, 1]) == 0


def test_the_noise_has_the_table_s_scale() -> None:
    table = np.array([0, 1000, 1000, 3000, 3000])
    recipe = SmoothMedian(epsilon=1, delta="1e-3", rows=5, largest=10**6, neighbours="replace")
    smooth = smooth_sensitivity(MedianSpread(table, largest=10**6), recipe.smoothing)
    assert recipe.scale_for(table) == 2 * smooth
    # an exponential number of 1/16, and a bit more than 0
    tape = Tape([1 << 44])
    assert recipe.start(tape).step(table) == 1000 + math.floor(2 * smooth / 16)
    assert replace(RECIPE, epsilon="1/4").scale_for(table) == 8 * smooth_sensitivity(
        MedianSpread(table, largest=TOP), Fraction(1, 8) - ROUNDING
    )


@pytest.mark.parametrize("delta", [0, "1e-3"])
def test_what_is_drawn_does_not_tell_the_scale(delta: str) -> None:
    recipe = replace(RECIPE, delta=delta)
    tapes = []
    for table in TABLES:
        tape = Tape([], beyond=System(entropy=Stream("one stream")))
        recipe.start(tape).step(table)
        tapes.append([one for one in tape.laws if one[0] != "bernoulli_exp"])
    assert len({recipe.scale_for(np.array(table)) for table in TABLES}) > 3
    assert all(laws == tapes[0] for laws in tapes)


def cauchy_law(scale: float, centre: int) -> Any:
    """The chance of each value from 0 to 3 when noise is rounded and moved inside."""
    edges = 0.5 + np.arctan((np.arange(TOP) + 0.5 - centre) / scale) / math.pi
    return np.diff(np.concatenate(([0.0], edges, [1.0])))


def laplace_law(scale: float, centre: int) -> Any:
    """The same for discrete Laplace noise."""
    a = math.exp(-1 / scale)
    points = np.arange(-400, 401)
    mass = (1 - a) / (1 + a) * a ** np.abs(points)
    return np.bincount(np.clip(points + centre, 0, TOP), weights=mass, minlength=TOP + 1)


def worst(
    law: Callable[[float, int], Any], scale: Callable[[tuple[int, ...]], float], epsilon: float
) -> tuple[float, float]:
    """The largest log-ratio over all neighbours, and the largest delta at epsilon."""
    laws = {table: law(scale(table), table[2]) for table in TABLES}
    ratio = delta = 0.0
    for table, here in laws.items():
        for other in set(replaced(table)):
            there = laws[other]
            ratio = max(ratio, float(np.log(here / there).max()))
            delta = max(delta, float(np.maximum(here - math.exp(epsilon) * there, 0).sum()))
    return ratio, delta


@pytest.mark.parametrize("epsilon", ["1/10", 1, 3])
def test_no_two_neighbours_tell_more_than_epsilon(epsilon: str) -> None:
    recipe = replace(RECIPE, epsilon=epsilon)

    def scale(table: tuple[int, ...]) -> float:
        return float(recipe.scale_for(np.array(table)))

    ratio, _ = worst(cauchy_law, scale, 0)
    claimed = float(Fraction(epsilon))
    assert claimed / 6 < ratio <= claimed
    # noise of a quarter is caught
    assert worst(cauchy_law, lambda table: scale(table) / 4, 0)[0] > claimed


@pytest.mark.parametrize("delta", ["1e-2", "1e-5"])
def test_with_delta_no_two_neighbours_tell_more(delta: str) -> None:
    recipe = replace(RECIPE, delta=delta)

    def scale(table: tuple[int, ...]) -> float:
        return float(recipe.scale_for(np.array(table)))

    assert worst(laplace_law, scale, 1)[1] <= float(Fraction(delta))
    assert worst(laplace_law, lambda table: scale(table) / 4, 1)[1] > float(Fraction(delta))


def test_the_claims_are_what_is_sold() -> None:
    assert RECIPE.guarantee.loss == Pure(1)
    assert replace(RECIPE, delta="1e-6").guarantee.loss == Approx(1, "1e-6")
    assert RECIPE.smoothing + ROUNDING == Fraction(1, 2)
    limit = 1 / (2 * math.log(2e6))
    smoothing = replace(RECIPE, delta="1e-6").smoothing
    assert 0.95 * limit < float(smoothing) < limit
    # below ln(1 + limit) by the margin for floats and by the rounding of S
    allowed = Fraction(math.log1p(limit) * (1 - 1e-12))
    assert allowed - smoothing >= ROUNDING * Fraction(99, 100)


# Continuous laws: a scale that shrinks by exp(beta), and a shift by S -------------------------

Y = np.linspace(-400, 400, 800_001)


def log_laplace(scale: float, centre: float) -> Any:
    return -np.abs(Y - centre) / scale - math.log(2 * scale)


def delta_of(one: Any, other: Any, epsilon: float) -> float:
    return float(np.maximum(np.exp(one) - np.exp(epsilon + other), 0).sum() * (Y[1] - Y[0]))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0082), (0.5, 0.051), (1.0, 0.130)])
def test_the_text_s_claim_of_two_epsilon_is_false(epsilon: float, delta: float) -> None:
    # Lap(S / epsilon) with beta = epsilon, on the same median and a shifted one
    smooth = 1.0 if epsilon > 0.3 else 0.2
    here = log_laplace(smooth * math.exp(epsilon) / epsilon, smooth)
    needed = max(
        delta_of(here, log_laplace(smooth / epsilon, shift), 2 * epsilon)
        for shift in (0.0, smooth, 2 * smooth)
    )
    assert needed == pytest.approx(delta, rel=0.02)


def test_its_loss_has_no_bound() -> None:
    # at y = 100 S: |y| eps (1 - exp(-eps)) / S - eps
    far = log_laplace(math.e, 0.0) - log_laplace(1.0, 0.0)
    assert float(far[np.argmin(np.abs(Y - 100))]) == pytest.approx(62.2, abs=0.05)


def test_the_corrected_constants_hold_with_room() -> None:
    beta = 1 / (2 * math.log(2e5))
    needed = delta_of(log_laplace(2 * math.exp(beta), 1.0), log_laplace(2.0, 0.0), 1.0)
    assert needed < 1e-5
    # pure: a shift by S and a scale that grows by exp(beta), at scale 2 S / epsilon, beta = 1/2
    one = -np.log1p((Y / 2) ** 2) - math.log(2)
    wide = 2 * math.exp(0.5)
    for shift in (-1.0, 0.0, 1.0):
        other = -np.log1p(((Y - shift) / wide) ** 2) - math.log(wide)
        assert float(np.abs(one - other).max()) <= 1


# The error -----------------------------------------------------------------------------------


def test_the_error_is_a_quantile_of_the_noise() -> None:
    recipe = SmoothMedian(epsilon=1, rows=101, largest=10**6, neighbours="replace")
    error = recipe.error_for([500_000] * 50 + [500_001] * 51)
    scale = float(error.scale)
    for beta in (0.5, 0.05):
        noise = scale * math.tan(math.pi * (1 - beta) / 2)
        assert noise - 0.5 <= error.bound(1, beta) <= noise + 0.5
        assert error.bound_all(5, beta) == error.bound(1, beta / 5)
    assert recipe.error.bound(1, 1e-9) == 10**6
    assert replace(recipe, delta="1e-3").error.bound(1, 0.01) == 10**6


def test_releases_are_as_close_as_stated() -> None:
    # 400 draws; at most 10 percent beyond, 5 standard errors: false alarm 1e-6
    recipe = SmoothMedian(epsilon=1, rows=21, largest=10**6, neighbours="replace")
    table = [500_000 + i for i in range(21)]
    bound = recipe.error_for(table).bound(1, 0.1)
    noise = System()
    beyond = sum(abs(recipe.start(noise).step(table) - 500_010) > bound for _ in range(400))
    assert beyond <= 400 * 0.1 + 5 * math.sqrt(400 * 0.09)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rows": 4}, "must be odd"),
        ({"neighbours": "add-remove"}, "one row is replaced"),
        ({"epsilon": "1e-9", "delta": Fraction(1, 10**39)}, None),
        ({"delta": "0.6"}, "delta"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], words: str | None) -> None:
    if words is None:
        assert replace(RECIPE, **changes).smoothing > 0
        return
    with pytest.raises(BadInput, match=words):
        replace(RECIPE, **changes)


@pytest.mark.parametrize("rows", [[500_000] * 21, [0, 3] * 10 + [5], list(range(21)), [7] * 21])
def test_the_error_with_delta_is_the_exact_quantile_and_is_not_remembered(rows: Any) -> None:
    recipe = SmoothMedian(epsilon=9, delta="1e-3", rows=21, largest=10**9, neighbours="replace")
    error = recipe.error_for(rows)
    before = cached()
    bounds = [error.bound(1, beta) for beta in (0.9, 0.5, 0.05, 1e-9)]
    assert cached() == before
    assert bounds == [laplace_sum.quantile(1, error.scale, beta) for beta in (0.9, 0.5, 0.05, 1e-9)]
