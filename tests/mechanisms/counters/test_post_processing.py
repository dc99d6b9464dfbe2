"""Views: intervals and a count that never falls, with the errors that are stated for them."""

from __future__ import annotations

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.counters.gaussian.binary import GaussianBinaryCounter
from ameles.mechanisms.counters.gaussian.buffered import BufferedCounter
from ameles.mechanisms.counters.gaussian.segments import SegmentedCounter
from ameles.mechanisms.counters.gaussian.toeplitz import ToeplitzCounter
from ameles.mechanisms.counters.post_processing import interval_total, monotone
from ameles.mechanisms.counters.siblings import SiblingsCounter
from ameles.noise import System, Zero


@pytest.mark.parametrize("width", [None, 3])
def test_intervals_under_zero_noise_are_the_truth(width: int | None) -> None:
    xs = np.arange(30).reshape(10, 3) if width else np.arange(10)
    releases = SiblingsCounter(epsilon=1, horizon=10, width=width).start(Zero()).feed(xs)
    for first in range(1, 11):
        for last in range(first, 11):
            total = interval_total(releases, first, last)
            assert np.array_equal(total, xs[first - 1 : last].sum(axis=0))


@pytest.mark.parametrize(("first", "last"), [(0, 3), (3, 2), (1, 11), (-1, 5)])
def test_intervals_outside_are_refused(first: int, last: int) -> None:
    with pytest.raises(BadInput, match="released steps"):
        interval_total(list(range(10)), first, last)


def test_an_interval_stays_within_its_own_bound() -> None:
    # 20,000 counters; false alarm below 1e-6 at 4.9 standard errors
    recipe = SiblingsCounter(epsilon=1, horizon=100, width=20_000)
    releases = recipe.start(System()).feed(np.zeros((100, 20_000), dtype=np.int64))
    for first, last in ((1, 100), (50, 52), (31, 90)):
        bound = recipe.error.between(first - 1, last).quantile(0.05)
        outside = float((np.abs(interval_total(releases, first, last)) > bound).mean())
        assert outside <= 0.05 + 4.9 * (0.05 * 0.95 / 20_000) ** 0.5


def test_the_monotone_view_never_falls_and_keeps_the_bound() -> None:
    recipe = SiblingsCounter(epsilon=1, horizon=200, width=500)
    ones = np.ones((200, 500), dtype=np.int64)
    view = monotone(recipe.start(System()).feed(ones))
    assert (np.diff(view, axis=0) >= 0).all()
    assert (view >= 0).all()
    truth = np.cumsum(ones, axis=0)
    beyond = (np.abs(view - truth) > recipe.error.bound_all(200, 0.01)).any(axis=0)
    assert beyond.mean() <= 0.03


@pytest.mark.parametrize(
    "recipe",
    [
        GaussianBinaryCounter(rho="1/50", horizon=60, width=20_000),
        ToeplitzCounter(rho="1/50", horizon=60, width=20_000),
        BufferedCounter(rho="1/50", horizon=60, width=20_000),
        SegmentedCounter(rho="1/50", first=10, growth=2, width=20_000),
    ],
    ids=lambda recipe: type(recipe).__name__,
)
def test_intervals_of_gaussian_counters_stay_within_their_bounds(
    recipe: GaussianBinaryCounter | ToeplitzCounter | BufferedCounter | SegmentedCounter,
) -> None:
    # 20,000 counters; false alarm below 1e-6 at 4.9 standard errors, for the bound; 5% is more
    # than 9 standard errors of the deviation
    releases = recipe.start(System()).feed(np.zeros((60, 20_000), dtype=np.int64))
    for first, last in ((1, 60), (31, 33), (7, 50), (41, 60)):
        law = recipe.error.between(first - 1, last)
        totals = interval_total(releases, first, last)
        assert float(totals.std()) <= 1.05 * law.std
        outside = float((np.abs(totals) > law.quantile(0.05)).mean())
        assert outside <= 0.05 + 4.9 * (0.05 * 0.95 / 20_000) ** 0.5


def test_an_interval_costs_less_than_the_two_counts_it_is_made_of() -> None:
    error = BufferedCounter(rho="1/50", horizon=10_000).error
    near = error.between(9_000, 9_100).std
    assert near < 0.9 * (error.std(9_000) ** 2 + error.std(9_100) ** 2) ** 0.5
