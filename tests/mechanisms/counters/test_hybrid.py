"""Hybrids: epochs, the figures of the frontier, contributions across epochs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.hybrid import INSIDE, HybridCounter
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.noise import Tape
from tests.checks import build
from tests.mechanisms.counters.figures import mean_and_worst
from tests.mechanisms.counters.loss import exact_loss


def test_epochs_as_written_end_at_powers_of_two() -> None:
    recipe = HybridCounter(epsilon=1)
    assert [recipe.end_of(epoch) for epoch in range(6)] == [1, 2, 4, 8, 16, 32]
    assert recipe.within(0) is None
    assert recipe.within(1) is None
    third = recipe.within(3)
    assert third is not None
    assert third.horizon == 3
    assert third.loss.epsilon == Fraction(1, 2)


@pytest.mark.parametrize(("t", "totals", "inside"), [(1, 1, 0), (4, 3, 0), (7, 3, 2), (64, 7, 0)])
def test_noise_as_written(t: int, totals: int, inside: int) -> None:
    # catalogue 6: (k + 1) noises of scale 2 and popcount(r) of scale 2 k, at t = 2^k + r
    parts = HybridCounter(epsilon=1).error.law(t).parts
    assert sum(part.count for part in parts if part.scale == 2) >= totals
    assert sum(part.count for part in parts) == totals + inside


@pytest.mark.parametrize(
    ("parameters", "means"),
    [
        ({}, (47.8, 106.8, 154.6)),
        (
            {"inside": "EldersCounter", "growth": 16, "first": 16, "share": "0.16"},
            (19.6, 32.6, 43.2),
        ),
    ],
)
def test_the_figures_of_the_frontier(
    parameters: dict[str, object], means: tuple[float, float, float]
) -> None:
    recipe = build(HybridCounter, epsilon="1/100", **parameters)
    for power, mean in zip((10, 16, 20), means, strict=True):
        assert mean_and_worst(recipe, 2**power)[0] == pytest.approx(100 * mean, rel=0.015)


def test_the_goals_without_a_horizon() -> None:
    written = mean_and_worst(HybridCounter(epsilon="1/100"), 2**20)[0]
    tuned = HybridCounter(
        epsilon="1/100", inside="SiblingsCounter", growth=32, first=32, share="0.16"
    )
    ours = mean_and_worst(tuned, 2**20)[0]
    bounded = mean_and_worst(SiblingsCounter(epsilon="1/100", horizon=2**20), 2**20)[0]
    assert ours <= 0.30 * written
    assert ours <= 1.4 * bounded


@pytest.mark.parametrize("inside", INSIDE)
def test_any_bounded_counter_fits_inside(inside: str) -> None:
    recipe = HybridCounter(epsilon=1, inside=inside, growth=3, first=4)
    script = list(range(1, 200))
    assert len(recipe.start(Tape(script)).feed([1] * 50)) == 50


def test_contributions_are_paid_wherever_they_fall() -> None:
    one, three = (HybridCounter(epsilon=1, contributions=m) for m in (1, 3))
    assert three.scale == 3 * one.scale
    inner, inner_of_one = three.within(4), one.within(4)
    assert inner is not None
    assert inner_of_one is not None
    assert inner.scale == 3 * inner_of_one.scale


def test_an_unknown_counter_is_refused_with_the_list() -> None:
    with pytest.raises(BadInput, match="SiblingsCounter"):
        HybridCounter(epsilon=1, inside="SimpleOneCounter")


def test_contributions_to_different_epochs_are_paid_for() -> None:
    # Two contributions to one tree cost less than twice one; to two trees they do not.
    for contributions in (1, 2, 3):
        recipe = HybridCounter(epsilon=1, contributions=contributions)
        assert exact_loss(recipe, 9) <= 1
