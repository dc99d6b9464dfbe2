"""Discovered keys in measures: intervals that cover what was counted, and words about them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.guarantee import USER
from ameles.core.loss import Approx
from ameles.engine.releasing.key_history import KeyHistory
from ameles.measures.count import Count
from ameles.measures.expected import expected
from ameles.measures.measure import BETA, Terms
from ameles.mechanisms.discovery.key_discovery import KeyDiscovery
from ameles.noise import System
from tests.measures.asked import measure

KEYS, STEPS = 2000, 12
NAMES = [f"k{n:04}" for n in range(KEYS)]


def terms(window: int | None) -> Terms:
    return Terms(unit=USER, per_step=2, max_steps=4, horizon=STEPS, window=window)


def missed(window: int | None, *, since_now: bool = False) -> int:
    """How many of the intervals of the last step miss; half of the keys are found late.

    ``since_now`` is a mistake: noise as if the keys had been found at the last moment.
    """
    release = expected(measure("count", by={"tag": "discovered"}), Count)
    on = terms(window)
    recipe = expected(release.recipe(on, Approx(2, "1e-6")), KeyDiscovery)
    run, history = recipe.start(System.direct()), KeyHistory.blank(window or 0, recipe.cells)
    truth = np.zeros(KEYS, dtype=np.int64)
    for step in range(1, STEPS + 1):
        known = NAMES if step > 4 else NAMES[: KEYS // 2]
        # a weight with which a key is found at once; three events at every step
        out = run.step(dict.fromkeys(known, (10000 if step in (1, 5) else 0, 3)))
        totals = history.spans(out.public, out.values)
    assert run.names(out.public) == NAMES
    truth[: KEYS // 2], truth[KEYS // 2 :] = 3 * STEPS, 3 * (STEPS - 4)
    truth = truth if window is None else np.full(KEYS, 3 * window)
    since = np.full(KEYS, STEPS - (window or 0)) if since_now else out.since
    published = release.publish_keys(recipe, on, totals, STEPS, since, NAMES)
    wrong = (truth < published.low[0]) | (truth > published.high[0])
    return int(wrong.sum())


@pytest.mark.parametrize("window", [None, 1, 3])
def test_intervals_cover_95_percent(window: int | None) -> None:
    # 2000 keys with noises of their own; false alarm 1e-6
    assert missed(window) <= binom.isf(1e-6, KEYS, BETA)


def test_a_mistake_about_the_discovery_is_noticed() -> None:
    assert missed(None, since_now=True) > binom.isf(1e-6, KEYS, BETA)


def test_the_history_follows_keys_that_come_and_go() -> None:
    history = KeyHistory.blank(2, 1)

    def spans(numbers: list[int], totals: list[int]) -> list[int]:
        table = np.array(totals, dtype=np.int64).reshape(-1, 1)
        return history.spans(np.array(numbers, dtype=np.int64), table).ravel().tolist()

    assert spans([7], [10]) == [10]
    assert spans([7, 3], [12, 5]) == [12, 5]
    assert spans([7, 3], [15, 6]) == [5, 6]
    assert spans([3], [9]) == [4]
    again = KeyHistory.read(history.to_bytes(), 2, 1)
    assert (again.number.tolist(), again.totals.tolist()) == ([3], history.totals.tolist())
    assert spans([3, 8], [9, 1]) == [3, 1]


def test_the_words_depend_on_when_a_key_was_found() -> None:
    release = expected(measure("count", by={"tag": "discovered"}), Count)
    on = terms(None)
    recipe = release.recipe(on, Approx(2, "1e-6"))
    told = release.noise_in_words(recipe, on, STEPS)
    assert "the longer ago the key was found the more" in told
    assert release.noise_in_words(recipe, on, None) in told
    assert "since the key was discovered" in release.interval_in_words(recipe, on)
    assert "found at the first look" in release.forecast_of(on)
