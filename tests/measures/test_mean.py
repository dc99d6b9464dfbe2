"""``mean``: the truth, the sensitivity of sum and count together, the stated interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.loss import Pure
from ameles.measures.mean import Mean
from ameles.measures.measure import BETA, EventQuery
from ameles.noise import System
from tests.measures.asked import (
    BOUNDS,
    EVENTS,
    STEPS,
    asked,
    largest_change,
    measure,
    published,
    terms,
)

FIELDS = BOUNDS

CENTS = {"column": "spent", "lower": -2, "upper": 10, "granularity": "0.1"}
AGES = {"column": "age", "lower": 0, "upper": 101, "granularity": 1}


def test_without_noise_it_is_the_mean_of_clamped_values() -> None:
    release = measure("mean", by={"region": ["north", "south"]}, **CENTS)
    rows = asked(release)
    assert rows.shape == (STEPS, 4)
    answer = published(release, terms(), rows)
    north = [(0.3 + 10) / 2, (0.3 + 10 - 2) / 3, (0.3 + 10 - 2 + 2) / 4]
    south = [-2.0, (-2 + 10) / 2, (-2 + 10) / 2]
    assert answer.value.tolist() == [pytest.approx(row) for row in zip(north, south, strict=True)]


def test_an_odd_range_is_centred_too() -> None:
    release = measure("mean", **AGES)
    assert (release.parts, release.largest, release.reach) == (2, 101, 202)
    rows = asked(release)
    ages = [[17, 18, 64, 65], [101, 101, 0], [40, 101]]
    answer = published(release, terms(window=1), rows)
    assert answer.value[:, 0].tolist() == pytest.approx([np.mean(step) for step in ages])


def test_without_events_it_is_the_middle_and_the_range() -> None:
    release = measure("mean", **CENTS)
    answer = published(release, terms(), asked(release, []))
    assert answer.value[:, 0].tolist() == [4.0] * STEPS
    assert answer.low[:, 0].tolist() == [-2.0] * STEPS
    assert answer.high[:, 0].tolist() == [10.0] * STEPS


@pytest.mark.parametrize("fields", [CENTS, AGES, {**AGES, "lower": 100}])
def test_one_event_changes_both_by_at_most_the_reach(fields: dict[str, Any]) -> None:
    release = measure("mean", by={"region": ["north"]}, other=True, **fields)
    assert largest_change(release, EVENTS) == release.reach
    recipe = release.recipe(terms(), Pure(1))
    assert recipe.bound == release.reach


def outside(release: Any, count: int, values: float, **given: Any) -> int:
    """How many of 4000 keys with so many events, all of one quotient, are not covered."""
    on = terms(**given)
    counts = np.full((STEPS, 4000), count * release.largest)
    rows = np.concatenate([(counts * values).round().astype(np.int64), counts], axis=1)
    truth = published(release, on, rows).value
    answer = published(release, on, rows, noise=System.direct(), loss=Pure("1/2"))
    assert (answer.low <= answer.value).all()
    assert (answer.value <= answer.high).all()
    assert (answer.low >= -2).all()
    assert (answer.high <= 10).all()
    missed = (truth < answer.low - 1e-9) | (truth > answer.high + 1e-9)
    return int(missed.sum(axis=1).max())


@pytest.mark.parametrize("count", [0, 3, 40, 1000])
@pytest.mark.parametrize("quotient", [-1.0, 0.0, 0.6])
@pytest.mark.parametrize("window", [None, 1])
def test_the_intervals_cover(count: int, quotient: float, window: int | None) -> None:
    # 4000 keys; false alarm 1e-6 for each of the 3 steps and 24 cases
    release = measure("mean", by={"age": list(range(4000))}, **CENTS)
    assert outside(release, count, quotient, window=window) <= binom.isf(1e-6, 4000, BETA)


class Sure(Mean):
    """Trusts the noisy count, and half of the noisy sum."""

    def publish(self, *given: Any) -> Any:
        answer = super().publish(*given)
        recipe, on, outputs, first, _ = given
        half = self.noise(recipe, on, np.arange(first, first + len(outputs)), BETA)[:, None]
        counts = np.maximum(outputs[:, self.cells :], 1)
        near = half / counts * 3
        return type(answer)(value=answer.value, low=answer.value - near, high=answer.value + near)


def test_an_interval_that_trusts_the_count_is_caught() -> None:
    plain = measure("mean", by={"age": list(range(4000))}, **CENTS)
    release = Sure(**plain.model_dump())
    on = terms()
    counts = np.full((STEPS, 4000), 3 * release.largest)
    rows = np.concatenate([-counts, counts], axis=1)
    answer = published(release, on, rows, noise=System.direct(), loss=Pure("1/2"))
    missed = (answer.low > -2 + 1e-9).sum(axis=1)
    assert missed.max() > binom.isf(1e-6, 4000, BETA)


def test_the_forecast_is_the_interval_of_many_events() -> None:
    release = measure("mean", **CENTS)
    on, many = terms(), 10**6
    recipe = release.recipe(on, Pure(1))
    counts = np.full((STEPS, 1), many * release.largest)
    answer = published(release, on, np.concatenate([counts, counts], axis=1))
    half = release.half_widths(recipe, on, np.arange(1, STEPS + 1))
    totals = many * np.arange(1, STEPS + 1)
    # at the end of the range the interval has one side alone
    assert (10 - answer.low[:, 0]) * totals == pytest.approx(half, rel=1e-3)
    assert release.forecast == "the value times the number of events"


def test_the_question_has_two_amounts() -> None:
    question = measure("mean", by={"region": ["north", "south"]}, **CENTS).question
    assert isinstance(question, EventQuery)
    assert (question.cells, question.width) == (2, 4)
