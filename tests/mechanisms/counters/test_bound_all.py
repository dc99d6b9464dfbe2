"""Bounds for all steps at once: exact for walks of walks, close to simulated noise elsewhere."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from ameles.mechanisms.counters.binary import BinaryCounter
from ameles.mechanisms.counters.elders import EldersCounter
from ameles.mechanisms.counters.gaussian.binary import GaussianBinaryCounter
from ameles.mechanisms.counters.hats.counter import HatsCounter
from ameles.mechanisms.counters.honaker import HonakerCounter
from ameles.mechanisms.counters.hybrid import HybridCounter
from ameles.mechanisms.counters.k_ary import KAryCounter
from ameles.mechanisms.counters.laplace_error import LaplaceError
from ameles.mechanisms.counters.psum import PSumCounter
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.mechanisms.counters.summed import SummedCounter
from ameles.mechanisms.counters.tree import TreeCounter
from ameles.mechanisms.counters.two_level import TwoLevelCounter
from ameles.mechanisms.laplace import equal_sums as laplace_sum
from ameles.mechanisms.laplace.clusters import clustered
from ameles.mechanisms.laplace.confined import Band
from ameles.mechanisms.pan_private.counter import PanPrivateCounter
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.noise import System, Zero
from ameles.noise.arrays import IntArray

BETAS = (0.5, 0.3, 0.05, 1e-3, 1e-6)


class Units(Zero):
    """The n-th noise of each counter is 1 for the n-th counter and 0 for all others."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scales: list[Fraction] = []
        self.width = width

    def laplace(self, scale: Fraction, size: int | tuple[int, ...]) -> IntArray:
        drawn = np.zeros(size, dtype=np.int64)
        for row in drawn.reshape(-1, self.width):
            row[len(self.scales)] = 1
            self.scales.append(scale)
        return drawn


def enumerated(recipe: SummedCounter, steps: int) -> NDArray[np.float64]:
    """P(largest error > m) for m = 0, 1, ..., from all values of all noises of the real process."""
    width = 12
    noise = Units(width)
    wide = replace(recipe, width=width).process(noise, None)
    weights = np.array([wide.take(1)[0] for _ in range(steps)])[:, : len(noise.scales)]
    used = np.flatnonzero(np.abs(weights).sum(axis=0))
    scales = [float(noise.scales[place]) for place in used]
    errors = np.zeros((steps, 1), dtype=np.int64)
    chances = np.ones(1)
    for column, scale in zip(weights[:, used].T, scales, strict=True):
        values = np.arange(-int(28 * scale), int(28 * scale) + 1)
        law = np.exp(-np.abs(values) / scale)
        chances = np.multiply.outer(chances, law / law.sum()).reshape(-1)
        errors = (errors[:, :, None] + column[:, None, None] * values).reshape(steps, -1)
    counts = np.bincount(np.abs(errors).max(axis=0), weights=chances)
    beyond: NDArray[np.float64] = counts[::-1].cumsum(dtype=np.float64)[::-1][1:]
    return beyond


DYADIC = ((1, 1), (1, 2), (3, 3), (1, 4), (3, 4))
SMALL = [
    (BinaryCounter(epsilon=6, horizon=4), 4),
    (BinaryCounter(epsilon=6, horizon=4), 3),
    (BinaryCounter(epsilon=3, horizon=2), 2),
    (TreeCounter(epsilon=6, horizon=4), 4),
    (KAryCounter(epsilon=5, horizon=4, arity=3), 4),
    (TwoLevelCounter(epsilon=5, horizon=4), 4),
    (EldersCounter(epsilon=5, horizon=4, arity=3), 4),
    (EldersCounter(epsilon=5, horizon=4, arity=3), 3),
    (EldersCounter(epsilon=5, horizon=2, arity=5), 2),
    (HybridCounter(epsilon=12), 4),
    (HybridCounter(epsilon=9, first=3, growth=2, inside="EldersCounter"), 4),
    (PSumCounter(epsilon=6, horizon=4, intervals=DYADIC), 4),
]


@pytest.mark.parametrize(("recipe", "steps"), SMALL, ids=lambda value: repr(value)[:60])
def test_the_bound_is_the_smallest_of_all_values_of_all_noises(
    recipe: SummedCounter, steps: int
) -> None:
    beyond = enumerated(recipe, steps)
    for beta in BETAS:
        bound = int(recipe.error.bound_all(steps, beta))
        assert beyond[bound] <= beta * (1 + 1e-9)
        assert bound == 0 or beyond[bound - 1] > beta * (1 - 1e-9)


# 40,000 runs; the share beyond a bound is compared with beta and 5 standard errors, which a
# binomial exceeds with probability 3e-7.
RUNS, BETA = 40_000, 0.05
OFF = 5 * sqrt(BETA * (1 - BETA) / RUNS)
LARGER = [
    BinaryCounter(epsilon=1, horizon=45),
    KAryCounter(epsilon=1, horizon=45, arity=4),
    EldersCounter(epsilon=1, horizon=40, arity=3),
    EldersCounter(epsilon=1, horizon=62, arity=5),
    HybridCounter(epsilon=1, horizon=45),
    HybridCounter(epsilon=1, horizon=45, first=5, growth=3, inside="EldersCounter", share="4/25"),
    GaussianBinaryCounter(rho="1/50", horizon=27),
]


def largest_errors(recipe: SummedCounter, steps: int, runs: int) -> IntArray:
    """The largest error of each of so many runs."""
    process = replace(recipe, width=runs).process(System(), None)
    largest = np.zeros(runs, dtype=np.int64)
    for _ in range(steps):
        np.maximum(largest, np.abs(process.take(1)[0]), out=largest)
    return largest


@pytest.mark.parametrize("recipe", LARGER, ids=lambda recipe: repr(recipe)[:60])
def test_the_bound_is_exact_for_the_noise_of_the_code(recipe: SummedCounter) -> None:
    steps = recipe.steps or 0
    largest = largest_errors(recipe, steps, RUNS)
    bound = recipe.error.bound_all(steps, BETA)
    assert np.mean(largest > bound) <= BETA + OFF
    assert np.mean(largest > bound - 1) > BETA - OFF


SEIZED: list[tuple[PanPrivateCounter | PanPrivateTreeCounter, float]] = [
    (PanPrivateTreeCounter(epsilon=1, horizon=22, arity=3), 1.0),
    (PanPrivateTreeCounter(epsilon=1, arity=4), 1.0),
    # sums of some of a step's noises count as if they were released
    (PanPrivateCounter(epsilon=1, horizon=22), 1.06),
    (PanPrivateCounter(epsilon=1), 1.06),
]


@pytest.mark.parametrize(("recipe", "most"), SEIZED, ids=lambda value: repr(value)[:60])
def test_bounds_of_counters_that_may_be_seized_hold_and_are_close(
    recipe: PanPrivateCounter | PanPrivateTreeCounter, most: float
) -> None:
    run = replace(recipe, width=RUNS).start(System.direct())
    largest = np.zeros(RUNS, dtype=np.int64)
    for _ in range(22):
        np.maximum(largest, np.abs(run.step(np.zeros(RUNS, dtype=np.int64))), out=largest)
    bound = recipe.error.bound_all(22, BETA)
    assert np.mean(largest > bound) <= BETA + OFF
    assert np.mean(largest > bound / most - 1) > BETA - OFF


def test_announced_intrusions_keep_the_union_bound() -> None:
    # when they were announced is not known, so no walk is
    for recipe in (
        PanPrivateCounter(epsilon=1, horizon=32, intrusions="announced"),
        PanPrivateTreeCounter(epsilon=1, horizon=32, intrusions="announced"),
    ):
        error = recipe.error_after(2)
        assert error.walk(32) is None
        assert error.bound_all(32, BETA) == error.worst_law(32).quantile(BETA / 32)


def test_every_number_of_steps_of_a_seized_tree_has_its_bound() -> None:
    for recipe in (PanPrivateCounter(epsilon=1), PanPrivateTreeCounter(epsilon=1, arity=3)):
        bounds = [recipe.error.bound_all(steps, 0.05) for steps in range(1, 70)]
        assert all(one <= other for one, other in pairwise(bounds))


def test_two_noises_at_a_step_leave_a_band_as_their_sum_does() -> None:
    for scale in (Fraction(3), Fraction(1, 5)):
        band, far = Band(10, 1), 400
        leaving = np.linspace(0.0, 0.2, 21) ** 2
        law = np.exp(-np.abs(np.arange(-far, far + 1)) / float(scale))
        law /= law.sum()
        two = np.convolve(law, law)
        outside = np.ones(2 * far - 10)
        all_values = np.concatenate([outside, leaving, outside])
        exact = np.convolve(all_values, two, "same")[len(outside) : len(outside) + 21]
        assert band.then_two(scale, leaving) == pytest.approx(exact, rel=1e-9)


def test_a_coarser_lattice_of_gaussian_noise_costs_little() -> None:
    fine = GaussianBinaryCounter(rho="1/50", horizon=1 << 12).error.bound_all(1 << 12, 0.05)
    for power in (2, 4, 8):
        recipe = GaussianBinaryCounter(rho=Fraction(1, 50 * 10**power), horizon=1 << 12)
        coarse = recipe.error.bound_all(1 << 12, 0.05)
        assert fine - 1 <= coarse / 10 ** (power / 2) <= 1.03 * fine + 0.5


def test_faint_probabilities_of_gaussian_noise_have_the_union_bound() -> None:
    error = GaussianBinaryCounter(rho="1/50", horizon=64).error
    assert error.bound_all(64, 1e-12) == error.quantile(6, 1e-12 / 64)
    assert error.bound_all(64, 1e-8) < error.quantile(6, 1e-8 / 64)


WEIGHTED = [
    (SiblingsCounter(epsilon=1, horizon=200), 200, 1.1),
    # the totals of epochs are in all later steps, which blocks of a few steps do not see
    (HybridCounter(inside="SiblingsCounter", growth=8, first=8, share="4/25", epsilon=1), 200, 1.2),
    (HatsCounter(epsilon=1, horizon=60), 60, 1.1),
    (HonakerCounter(epsilon=1, horizon=45), 45, 1.1),
    (HonakerCounter(epsilon=1, horizon=60, arity=4), 60, 1.12),
]


@pytest.mark.parametrize(("recipe", "steps", "most"), WEIGHTED, ids=lambda value: repr(value)[:30])
def test_a_bound_for_weighted_noise_holds_and_is_not_much_too_wide(
    recipe: SummedCounter, steps: int, most: float
) -> None:
    largest = largest_errors(recipe, steps, RUNS)
    bound = recipe.error.bound_all(steps, BETA)
    assert np.mean(largest > bound) <= BETA + OFF
    # half a count, because a bound is whole
    assert np.mean(largest > bound / most - 0.5) > BETA - OFF


def test_a_bound_for_weighted_noise_is_always_the_same() -> None:
    recipe = SiblingsCounter(epsilon="1.5", horizon=1 << 13)
    error = recipe.error
    clusters = error.clusters(1 << 13)
    assert clusters is not None
    high = error.worst_law(1 << 13).quantile(BETA / (1 << 13))
    again = clustered(clusters, steps=1 << 13, beta=BETA, high=high)
    assert again == error.bound_all(1 << 13, BETA)
    assert clustered(clusters, steps=1 << 13, beta=BETA, high=5) == 5


def test_faint_probabilities_of_weighted_noise_are_not_lost() -> None:
    error = SiblingsCounter(epsilon=1, horizon=300).error
    for beta in (0.5, 1e-3, 1e-9, 1e-30, 1e-150):
        alone = (
            max(error.bounds(np.arange(1, 301), beta)) - 2
        )  # steps may be a count or two too wide
        assert alone <= error.bound_all(300, beta) <= error.worst_law(300).quantile(beta / 300)


def test_blocks_of_a_honaker_counter_are_followed_where_that_is_quick_and_precise() -> None:
    for recipe, beta in (
        (HonakerCounter(epsilon=100, horizon=64), 0.05),  # noise on a visible lattice
        (HonakerCounter(epsilon=1, horizon=64), 1e-12),
        (HonakerCounter(epsilon=1, horizon=64, arity=65), 0.05),
    ):
        error = recipe.error
        assert error.bound_all(64, beta) == error.worst_law(64).quantile(beta / 64)
    error = HonakerCounter(epsilon="1/10", horizon=70).error
    bounds = [error.bound_all(steps, 0.05) for steps in (1, 2, 3, 7, 8, 20, 64, 70)]
    assert all(one <= other * 1.02 for one, other in pairwise(bounds))
    # scales of ten times the noise give ten times the bound, up to a lattice that is as fine
    finer = HonakerCounter(epsilon="1/1000", horizon=70).error.bound_all(70, 0.05)
    assert finer == pytest.approx(100 * bounds[-1], rel=0.03)


def test_one_step_has_the_bound_of_that_step() -> None:
    # the same law, once simulated and once exact; five standard errors are less than a count here
    for epsilon in ("1/2", 1, 3):
        error = SiblingsCounter(epsilon=epsilon, horizon=1).error
        exact = laplace_sum.quantile(1, error.scale, BETA)
        assert exact <= error.bound_all(1, BETA) <= exact + 1


def test_counters_with_a_great_many_siblings_keep_the_union_bound() -> None:
    error = SiblingsCounter(epsilon=1, horizon=1 << 12, arity=600).error
    assert error.clusters(1 << 12) is None
    assert error.bound_all(1 << 12, BETA) == error.worst_law(1 << 12).quantile(BETA / (1 << 12))
    inside = HybridCounter(epsilon=1, inside="TwoLevelCounter", growth=1 << 20, first=1 << 20)
    assert inside.error.walk(1 << 20) is None
    assert inside.error.clusters(1 << 20) is None


def test_elders_that_end_in_the_right_half_of_a_block_are_counted_to_its_end() -> None:
    error = EldersCounter(epsilon=1, horizon=121, arity=3).error
    bounds = [error.bound_all(steps, 0.05) for steps in range(1, 122)]
    assert all(one <= other for one, other in pairwise(bounds))
    assert error.bound_all(13, 0.05) <= error.bound_all(14, 0.05) == error.bound_all(27, 0.05)


@pytest.mark.parametrize("kind", [BinaryCounter, EldersCounter, TreeCounter])
def test_a_coarser_lattice_costs_little(
    kind: type[BinaryCounter] | type[EldersCounter] | type[TreeCounter],
) -> None:
    fine = kind(epsilon=1, horizon=1 << 12).error.bound_all(1 << 12, 0.05)
    for epsilon in ("1/100", "1/10000"):
        coarse = kind(epsilon=epsilon, horizon=1 << 12).error.bound_all(1 << 12, 0.05)
        assert fine - 1 <= coarse * float(Fraction(epsilon)) <= 1.015 * fine


def test_faint_probabilities_do_not_cancel() -> None:
    error = BinaryCounter(epsilon=1, horizon=64).error
    bounds = [error.bound_all(64, 10.0**-power) for power in (2, 4, 8, 16, 32, 64)]
    # a factor of 10 is about scale * log 10 further out
    slopes = [(b - a) / p for (a, b), p in zip(pairwise(bounds), (2, 4, 8, 16, 32), strict=True)]
    assert all(16 < slope < 24 for slope in slopes)
    assert isinstance(error, LaplaceError)
    assert bounds[-1] <= error.worst_law(64).quantile(1e-64 / 64)


def test_laws_of_a_great_many_noises_are_not_computed_one_by_one() -> None:
    error = TwoLevelCounter(epsilon=1, horizon=1 << 20).error
    assert error.walk(1 << 20) is None
    assert error.bound_all(1 << 20, 0.05) == error.worst_law(1 << 20).quantile(0.05 / (1 << 20))
    assert TwoLevelCounter(epsilon=1, horizon=1 << 16).error.walk(1 << 16) is not None
