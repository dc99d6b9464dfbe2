"""``sum``: the truth on the grid, and that no value passes the bound, whatever it is."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from ameles.core.loss import Pure
from ameles.measures.measure import BETA
from ameles.noise import System
from tests.measures.asked import (
    BOUNDS,
    CENTS,
    EVENTS,
    STEPS,
    asked,
    largest_change,
    measure,
    published,
    terms,
    user_terms,
)

FIELDS = BOUNDS


def test_without_noise_it_adds_up_clamped_values() -> None:
    release = measure("sum", by={"region": ["north", "south"]}, **CENTS)
    rows = asked(release)
    # 0.25 is between 0.2 and 0.3, and is rounded away from zero
    assert rows.tolist() == [[3 + 100, -20], [-20, 100], [20, 0]]
    answer = published(release, terms(), rows)
    assert answer.value.tolist() == [[10.3, -2.0], [8.3, 8.0], [10.3, 8.0]]
    assert release.columns == ("region", "spent")


def test_whole_values_stay_whole() -> None:
    release = measure("sum", column="age", lower=0, upper=100, granularity=1)
    rows = asked(release)
    assert rows[:, 0].tolist() == [17 + 18 + 64 + 65, 100 + 100 + 0, 40 + 100]
    answer = published(release, terms(window=1), rows)
    assert answer.value.dtype == np.int64
    assert answer.value[:, 0].tolist() == rows[:, 0].tolist()


def test_one_event_changes_at_most_the_reach() -> None:
    release = measure("sum", by={"region": ["north", "south"]}, other=True, **CENTS)
    assert largest_change(release, EVENTS) <= release.reach == 100
    recipe = release.recipe(user_terms(), Pure(1))
    assert (recipe.contributions, recipe.bound) == (2, 2 * 100)


def test_the_intervals_cover() -> None:
    # 4000 keys; false alarm 1e-6 for each of the 3 steps
    release = measure("sum", by={"age": list(range(4000))}, **CENTS)
    rows = np.arange(STEPS * 4000).reshape(STEPS, 4000) % 121 - 20
    answer = published(release, terms(), rows, noise=System.direct())
    truth = np.cumsum(rows, axis=0) / 10
    outside = ((truth < answer.low - 1e-9) | (truth > answer.high + 1e-9)).sum(axis=1)
    assert (outside <= binom.isf(1e-6, 4000, BETA)).all()
    assert (outside > 0).all()
    half = release.half_widths(release.recipe(terms(), Pure(1)), terms(), np.arange(1, 4))
    assert np.allclose(answer.high - answer.value, half[:, None], atol=1e-6)
