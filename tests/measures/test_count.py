"""``count``: the truth through SQL, windows, the sensitivity, intervals that cover."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.loss import Pure
from ameles.measures.measure import BETA
from ameles.noise import System
from tests.measures.asked import EVENTS, STEPS, asked, largest_change, measure, published, terms

FIELDS: dict[str, Any] = {}


def test_without_noise_it_counts() -> None:
    release = measure("count", by={"region": ["north", "south"]})
    rows = asked(release)
    assert rows.tolist() == [[2, 1], [1, 2], [1, 0]]
    answer = published(release, terms(), rows)
    assert answer.value.tolist() == [[2, 1], [3, 3], [4, 3]]
    assert release.keys == ("north", "south")
    assert answer.label is None
    assert answer.value.dtype == answer.low.dtype == answer.high.dtype == np.int64


@pytest.mark.parametrize(
    ("window", "expected"), [(1, [4, 3, 3]), (2, [4, 7, 6]), (9, [4, 7, 10]), (None, [4, 7, 10])]
)
def test_windows(window: int | None, expected: list[int]) -> None:
    release = measure("count")
    answer = published(release, terms(window=window), asked(release))
    assert answer.value[:, 0].tolist() == expected
    assert release.keys == ("",)


def test_an_earlier_batch_is_taken_off() -> None:
    release, on = measure("count"), terms(window=2, horizon=10)
    recipe = release.recipe(on, Pure(1))
    outputs = np.array([[10], [30], [60]])
    answer = release.publish(recipe, on, outputs, 5, np.array([[3], [7]]))
    assert answer.value[:, 0].tolist() == [7, 23, 50]


def test_two_columns_and_other() -> None:
    by = {"region": ["north", "it's"], "adult": [True, False]}
    release = measure("count", by=by, other=True)
    assert release.keys[:4] == ("north/true", "north/false", "north/other", "it's/true")
    counts = dict(zip(release.keys, asked(release).sum(axis=0).tolist(), strict=True))
    assert {key: count for key, count in counts.items() if count} == {
        "north/true": 2,
        "north/false": 2,
        "it's/true": 1,
        "other/true": 4,
        "other/other": 1,
    }


def test_one_event_changes_one_count_by_one() -> None:
    for release in (measure("count"), measure("count", by={"region": ["north"]}, other=True)):
        assert largest_change(release, EVENTS) == release.reach == 1


@pytest.mark.parametrize("window", [None, 1, 2])
def test_the_intervals_cover(window: int | None) -> None:
    # 4000 keys; false alarm 1e-6 for each of the 3 steps
    release = measure("count", by={"age": list(range(4000))})
    rows = np.arange(STEPS * 4000).reshape(STEPS, 4000) % 13
    on = terms(window=window)
    truth = published(release, on, rows).value
    answer = published(release, on, rows, noise=System.direct())
    outside = ((truth < answer.low) | (truth > answer.high)).sum(axis=1)
    assert (outside <= binom.isf(1e-6, 4000, BETA)).all()
    assert (outside > 0).all()
    half = release.half_widths(release.recipe(on, Pure(1)), on, np.arange(1, STEPS + 1))
    assert (answer.high - answer.value == half[:, None]).all()
