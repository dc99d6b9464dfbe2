"""``quantile``: the truth between edges, interpolation, and the stated interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from ameles.core.loss import Approx, Pure
from ameles.measures.measure import BETA
from ameles.measures.quantile import Quantile
from ameles.noise import System
from tests.measures.asked import (
    EVENTS,
    STEPS,
    asked,
    largest_change,
    measure,
    problems,
    published,
    terms,
)

FIELDS = {"column": "age", "edges": [0, 18, 65], "q": "0.5"}

AGES = {"column": "age", "edges": [0, 20, 40, 60, 80], "q": 0.5}


def test_values_beyond_the_ends_count_at_the_ends() -> None:
    release = measure("quantile", **AGES)
    # 17 18 | 64 65; 120 121 above, -1 below; 40 and 2**62; one has no age
    assert asked(release).tolist() == [[2, 0, 0, 2], [1, 0, 0, 2], [0, 0, 1, 1]]
    assert largest_change(release, EVENTS) == release.reach == 1
    assert release.question.width == 4
    assert release.keys == ("",)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 30), min_size=5, max_size=5),
    st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.9, 0.99]),
)
def test_without_noise_it_is_interpolated_in_the_right_bin(counts: list[int], q: float) -> None:
    edges = [0, 1, 2, 5, 10, 11]
    release = measure("quantile", column="age", edges=edges, q=q)
    rows = np.array([counts, [0] * 5, [0] * 5])
    answer = published(release, terms(), rows)
    below = np.cumsum(counts)
    if not below[-1]:
        assert answer.value[0, 0] == 5.5
        return
    target = q * below[-1]
    right = int(np.argmax(below >= target))
    before = below[right] - counts[right]
    part = (target - before) / counts[right]
    expected = edges[right] + part * (edges[right + 1] - edges[right])
    assert answer.value[0, 0] == pytest.approx(expected)
    assert answer.low[0, 0] <= edges[right]
    assert answer.high[0, 0] >= edges[right + 1]


def test_by_keys_and_windows() -> None:
    release = measure("quantile", by={"region": ["north", "south"]}, other=True, **AGES)
    assert release.keys == ("north", "south", "other")
    assert release.question.width == 12
    answer = published(release, terms(window=1), asked(release))
    assert answer.value[2].tolist() == [50.0, 40.0, 70.0]  # nothing in the south


def missed(release: Any, rows: Any, *, window: int | None = None, delta: str = "0") -> int:
    """How many of the keys' intervals do not have the true bin in them."""
    on = terms(horizon=len(rows), window=window, max_steps=1)
    loss = Pure("1/2") if delta == "0" else Approx("1/2", delta)
    answer = published(release, on, rows, noise=System.direct(), loss=loss)
    totals = rows if window == 1 else np.cumsum(rows, axis=0)
    counts = totals.reshape(len(rows), -1, release.bins.size)
    below = np.cumsum(counts, axis=2)
    right = np.argmax(below >= float(release.q) * below[:, :, -1:], axis=2)
    edges = np.array([float(edge) for edge in release.edges])
    wrong = (answer.low > edges[right]) | (answer.high < edges[right + 1])
    assert (answer.low <= answer.value).all()
    assert (answer.value <= answer.high).all()
    return int(wrong.sum(axis=1).max())


KEYS = 1500


def release_of(q: float, bins: int) -> Any:
    by = {"region": [str(i) for i in range(KEYS)]}
    return measure("quantile", column="age", edges=list(range(bins + 1)), q=q, by=by)


@pytest.mark.parametrize(("q", "bins"), [(0.5, 8), (0.9, 40), (0.02, 3)])
@pytest.mark.parametrize("window", [None, 1])
def test_the_intervals_cover(q: float, bins: int, window: int | None) -> None:
    # 1500 keys; false alarm 1e-6 for each step
    release = release_of(q, bins)
    rows = np.arange(STEPS * KEYS * bins).reshape(STEPS, -1) * 7 % 23
    assert missed(release, rows, window=window) <= binom.isf(1e-6, KEYS, BETA)


def test_the_intervals_of_hats_and_of_gaussian_noise_cover() -> None:
    release = release_of(0.5, 6)
    rows = np.arange(40 * KEYS * 6).reshape(40, -1) * 7 % 23
    on = terms(horizon=40)
    assert type(release.recipe(on, Pure(1))).__name__ == "HatsCounter"
    assert missed(release, rows) <= binom.isf(1e-7, KEYS, BETA)
    assert missed(release, rows, delta="1/10") <= binom.isf(1e-7, KEYS, BETA)


class Half(Quantile):
    """Bounds that are too small."""

    def _bounds(self, recipe: Any, terms: Any, steps: Any) -> Any:
        return super()._bounds(recipe, terms, steps) * 0.5


def test_bounds_that_are_too_small_are_caught() -> None:
    # many events on both sides of the median's edge: noise alone decides
    plain = release_of(0.5, 8)
    rows = np.tile([100, 0, 0, 0, 0, 0, 0, 100], KEYS)[None]
    assert missed(plain, rows) <= binom.isf(1e-6, KEYS, BETA)
    assert missed(Half(**plain.model_dump()), rows) > binom.isf(1e-6, KEYS, BETA)


def test_the_forecast_is_of_ranks() -> None:
    release = measure("quantile", **AGES)
    half = release.half_widths(release.recipe(terms(), Pure(1)), terms(), np.arange(1, 4))
    assert half.shape == (3,)
    assert (half > 0).all()
    assert release.forecast == "the number of events below the value"
    one_bin = measure("quantile", column="age", edges=[0, 1], q=0.5)
    answer = published(one_bin, terms(), np.ones((3, 1), dtype=np.int64))
    assert (answer.low[0, 0], answer.value[0, 0], answer.high[0, 0]) == (0.0, 0.5, 1.0)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"q": 0}, "above 0 and below 1."),
        ({"q": 1}, "above 0 and below 1."),
        ({"q": "half"}, "must be a number, of at most 40 digits."),
        ({"edges": [1]}, "2 to 1025 numbers."),
        ({"by": {"age": [1]}}, "already divided in by."),
    ],
)
def test_bad_fields_finish_the_sentence(fields: dict[str, Any], what: str) -> None:
    (sentence,) = problems("quantile", **{**AGES, **fields})
    assert sentence.endswith(what)


def test_texts_have_no_quantiles() -> None:
    (refusal,) = measure("quantile", **AGES).column_refusals({"age": "text"})
    assert refusal.key == "column"
