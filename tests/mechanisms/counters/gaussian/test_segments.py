"""Segmented counter: cuts, what a unit costs however it spreads its steps, its figures."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.gaussian.encoded import root_up
from ameles.mechanisms.counters.gaussian.segment_cuts import LONGEST, Cuts
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter
from ameles.noise import System, Tape


@pytest.mark.parametrize(("first", "growth"), [(2, 2), (3, 2), (5, 3), (256, 256), (2, 2**30)])
def test_cuts(first: int, growth: int) -> None:
    cuts = Cuts(first, growth)
    assert cuts.before(0) == 0
    assert cuts.before(1) == first
    for segment in range(45):
        start, end = cuts.before(segment), cuts.before(segment + 1)
        assert start < end <= start + LONGEST
        assert end == first * growth**segment or end - start == LONGEST
        for t in (start, start + 1, end - 1):
            assert cuts.locate(t) == (segment, t - start)
        assert cuts.inside(segment) == end - start - 1


def test_every_step_has_one_draw_of_the_right_law() -> None:
    recipe = SegmentedCounter(rho=1, first=3, growth=2)
    tape = Tape()
    recipe.start(tape).feed([0] * 12)
    total = recipe.variance
    inside = [recipe.encoding(segment).variance for segment in range(3)]
    expected = [inside[0]] * 2 + [total] + [inside[1]] * 2 + [total] + [inside[2]] * 5 + [total]
    assert [draw.scale for draw in tape.draws] == expected


def test_the_last_step_of_a_segment_has_the_noise_of_the_totals_alone() -> None:
    recipe = SegmentedCounter(rho=1, first=3, growth=2)
    tape = Tape([2**40, 2**40, 5, 2**40, 2**40, 7])
    assert recipe.start(tape).feed([0] * 6)[[2, 5]].tolist() == [5, 12]


@pytest.mark.parametrize("contributions", [1, 2, 3, 4])
def test_however_a_unit_spreads_its_steps_it_costs_at_most_rho(contributions: int) -> None:
    recipe = SegmentedCounter(
        rho=1, first=4, growth=2, contributions=contributions, bound=3, width=9, share="0.3"
    )
    most = Fraction(0)
    for spread in product(range(contributions + 1), repeat=3):
        if sum(spread) != contributions:
            continue
        cost = Fraction(0)
        for segment, steps in enumerate(spread):
            if steps:
                cost += (3 * steps) ** 2 / (2 * recipe.variance)
                cost += _inside(recipe, segment, steps)
        assert cost <= 1
        most = max(most, cost)
    assert most > Fraction(9, 10)


def _inside(recipe: SegmentedCounter, segment: int, steps: int) -> Fraction:
    """What so many steps cost inside a segment, by the exact norm of the first columns."""
    inside = recipe.cuts.inside(segment)
    cascade, encoding = recipe.filter(segment), recipe.encoding(segment)
    columns = recipe.bound * root_up(cascade.squared_norm(inside, steps)) * (1 << encoding.bits)
    roundings = cascade.rounding * root_up(inside * min(recipe.columns, steps * recipe.bound))
    return (columns + roundings) ** 2 / (2 * encoding.variance)


@pytest.mark.parametrize(
    ("horizon", "mean", "worst"),
    # at 2^20 FRONTIER has 6.65 / 6.88, for a third segment that knows to end there
    [(2**10, 4.28, 4.83), (2**16, 5.43, 5.60), (2**20, 7.05, 7.31)],
)
def test_the_figures_of_the_frontier(horizon: int, mean: float, worst: float) -> None:
    recipe = SegmentedCounter(rho="1e-4", first=256, growth=256, share="0.2")
    sigma = float(1 / (2 * recipe.spend)) ** 0.5
    finished, _ = recipe.cuts.locate(horizon)
    late = [recipe.cuts.before(segment + 1) - 1 for segment in range(finished)]
    largest = max(recipe.error.std(t) for t in (*late, horizon))
    assert recipe.error.rms(horizon) / sigma == pytest.approx(mean, abs=0.01)
    assert largest / sigma == pytest.approx(worst, abs=0.01)


def test_cuts_of_the_best_size_beat_those_figures() -> None:
    recipe = SegmentedCounter(rho="1e-4", first=2**12, growth=256, share="0.2")
    sigma = float(1 / (2 * recipe.spend)) ** 0.5
    assert recipe.error.rms(2**20) / sigma < 6.65
    assert recipe.error.std(2**20 - 1) / sigma < 6.88


def test_the_mean_is_over_all_steps() -> None:
    error = SegmentedCounter(rho="1/50", first=4, growth=2).error
    for steps in (1, 3, 4, 5, 8, 15, 16, 40):
        squares = [error.std(t) ** 2 for t in range(1, steps + 1)]
        assert error.rms(steps) ** 2 == pytest.approx(sum(squares) / steps, rel=1e-6)


def test_all_steps_at_once_are_at_least_any() -> None:
    error = SegmentedCounter(rho="1/50", first=4, growth=2).error
    for steps in (1, 4, 9, 16):
        each = [error.bound(t, 0.1 / steps) for t in range(1, steps + 1)]
        assert error.bound_all(steps, 0.1) == max(each)


def test_measured_variance_across_segments() -> None:
    # 200,000 counters: a sample variance is off by sqrt(2 / n) = 0.32%, so 2% is 6.3 standard
    # errors, a false alarm of 3e-10 for each of the 4 comparisons
    recipe = SegmentedCounter(epsilon=1, delta=1e-6, first=3, growth=2, width=200_000)
    seen = recipe.start(System()).feed(np.zeros((8, 200_000), dtype=np.int64))
    for t in (2, 3, 5, 8):
        assert float(seen[t - 1].var()) == pytest.approx(recipe.error.std(t) ** 2, rel=0.02)


@pytest.mark.parametrize("wrong", [{"first": 1}, {"growth": 1}, {"share": 0}, {"share": 1}])
def test_cuts_and_shares_have_ranges(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="must be"):
        SegmentedCounter(rho=1, **wrong)
