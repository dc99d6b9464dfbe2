"""``reports``: reports of devices in a plan, decoded without bias, with intervals that hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.core.loss import Approx, Pure
from ameles.mechanisms.local import HadamardResponse, MeanResponse, RandomizedResponse
from ameles.noise import System, Zero
from tests.measures.asked import measure, problems, terms

FIELDS: dict[str, Any] = {
    "column": "age",
    "categories": ["home", "work", "school"],
    "randomizer": {"kind": "response", "odds": 3},
}
HADAMARD = {**FIELDS, "randomizer": {"kind": "hadamard", "epsilon": 1}}
MEAN: dict[str, Any] = {
    "column": "age",
    "randomizer": {"kind": "mean", "largest": 40, "epsilon": 1},
}


def changed(**fields: Any) -> list[str]:
    return problems("reports", **{**FIELDS, **fields})


def test_the_randomizer_is_the_one_of_the_devices() -> None:
    assert measure("reports", **FIELDS).local == RandomizedResponse(categories=3, odds=3)
    release = measure("reports", **HADAMARD)
    assert release.local == HadamardResponse(categories=3, epsilon=1)
    assert (release.keys, release.cells) == (("home", "work", "school"), 4)
    assert release.columns == ("age",)
    assert list(release.keyed) == ["age"]


@pytest.mark.parametrize("fields", [FIELDS, HADAMARD])
@pytest.mark.parametrize("window", [None, 1, 2])
def test_without_noise_it_is_the_estimate_of_the_reports(
    fields: dict[str, Any], window: int | None
) -> None:
    release = measure("reports", **fields)
    on = terms(window=window)
    local = release.local
    reports = local.start(System.direct()).feed([0] * 40 + [2] * 25 + [1])
    halves = [reports[:30], reports[30:]]
    rows = np.array([np.bincount(half, minlength=local.report_values) for half in halves])
    recipe = release.recipe(on, Pure(1))
    outputs = recipe.start(Zero()).feed(rows)
    answer = release.publish(recipe, on, outputs, 1, np.zeros((window or 0, rows.shape[1]), int))
    spans = [halves[0], halves[1] if window == 1 else reports]
    for step, seen in enumerate(spans):
        assert answer.value[step] == pytest.approx(local.estimate(seen).counts)
    assert (answer.low < answer.value).all()
    assert (answer.value < answer.high).all()


@pytest.mark.parametrize("kind", ["response", "hadamard"])
@pytest.mark.parametrize("loss", [Pure("0.5"), Approx("0.5", "1e-6")])
def test_intervals_cover_both_noises(kind: str, loss: Any) -> None:
    # 400 keys at once, three categories each, 3 steps; a miss of 5% is exceeded beyond
    # binom.isf(1e-6) by chance with 1e-6 for each of the 9 comparisons.
    keys = 400
    release = measure(
        "reports",
        **{**FIELDS, "randomizer": {"kind": kind, "epsilon": 1}},
        by={"region": list(range(keys))},
    )
    local, on = release.local, terms()
    truth = np.array([30, 5, 0])
    values = np.tile(np.repeat(np.arange(3), truth), keys)
    recipe = release.recipe(on, loss)
    run = recipe.start(System.direct())
    outputs = []
    for _ in range(3):
        reports = local.start(System.direct()).feed(values).reshape(keys, -1)
        counts = [np.bincount(one, minlength=local.report_values) for one in reports]
        outputs.append(run.step(np.concatenate(counts)))
    answer = release.publish(recipe, on, np.array(outputs), 1, np.empty((0, release.cells), int))
    for step in range(3):
        low, high, value = (
            part[step].reshape(keys, 3) for part in (answer.low, answer.high, answer.value)
        )
        missed = ((truth * (step + 1) < low) | (truth * (step + 1) > high)).sum(axis=0)
        assert (missed <= binom.isf(1e-6, keys, 0.05)).all()
        # unbiased: within 6 standard errors of the mean over all keys
        error = value.std(axis=0) / np.sqrt(keys)
        assert (np.abs(value.mean(axis=0) - truth * (step + 1)) < 6 * error).all()


@pytest.mark.parametrize("window", [None, 1])
def test_a_mean_is_published_as_the_sum_of_values(window: int | None) -> None:
    release = measure("reports", **MEAN)
    local, on = release.local, terms(window=window)
    assert local == MeanResponse(largest=40, epsilon=1)
    assert (release.keys, release.cells) == (("",), 2)
    reports = local.start(System.direct()).feed([0] * 30 + [40] * 20 + [10] * 9)
    rows = np.array([np.bincount(half, minlength=2) for half in (reports[:25], reports[25:])])
    recipe = release.recipe(on, Pure(1))
    outputs = recipe.start(Zero()).feed(rows)
    answer = release.publish(recipe, on, outputs, 1, np.zeros((window or 0, 2), int))
    last = reports if window is None else reports[25:]
    assert answer.value[1] == pytest.approx(40 * local.estimate(last).counts)


def test_intervals_of_sums_cover_both_noises() -> None:
    # As above, with values at both ends and between them, for which the variance is the largest.
    keys = 400
    release = measure("reports", **MEAN, by={"region": list(range(keys))})
    local, on = release.local, terms()
    values = [0] * 20 + [40] * 10 + [20] * 30
    recipe = release.recipe(on, Pure("0.5"))
    reports = local.start(System.direct()).feed(values * keys).reshape(keys, -1)
    counts = np.concatenate([np.bincount(one, minlength=2) for one in reports])
    outputs = recipe.start(System.direct()).feed(counts[None, :])
    answer = release.publish(recipe, on, outputs, 1, np.empty((0, release.cells), int))
    low, high, value = answer.low[0], answer.high[0], answer.value[0]
    assert ((sum(values) < low) | (sum(values) > high)).sum() <= binom.isf(1e-6, keys, 0.05)
    error = value.std() / np.sqrt(keys)
    assert abs(value.mean() - sum(values)) < 6 * error
    # not absurdly wide: the half-width is within 3 times the 95% of a normal law
    assert (high - low).mean() / 2 < 3 * 1.96 * value.std()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"randomizer": MEAN["randomizer"]}, "A mean has no categories"),
        ({"randomizer": {"kind": "response", "odds": 3, "largest": 5}}, "needs the largest value"),
    ],
)
def test_refusals_say_what_is_wrong(fields: dict[str, Any], said: str) -> None:
    assert any(said in problem for problem in changed(**fields))


def test_what_a_mean_or_a_category_needs() -> None:
    without = {name: FIELDS[name] for name in ("column", "randomizer")}
    assert "need the list of categories" in problems("reports", **without)[0]
    nothing = {**MEAN, "randomizer": {"kind": "mean", "epsilon": 1}}
    assert "needs the largest value" in problems("reports", **nothing)[0]
    for largest in (0, -1, 2**20 + 1):
        beyond = {**MEAN, "randomizer": {"kind": "mean", "epsilon": 1, "largest": largest}}
        assert "'largest' parameter must be" in problems("reports", **beyond)[0]


def test_it_says_both_noises() -> None:
    release = measure("reports", **HADAMARD)
    recipe = release.recipe(terms(), Pure(1))
    text = release.noise_in_words(recipe, terms(), 3)
    assert text.endswith("on each count of reports, each randomised with epsilon 1")
    assert "devices and server" in release.interval_in_words(recipe, terms())


@pytest.mark.parametrize(
    "fields",
    [
        {"categories": ["one"]},
        {"categories": ["a", "a"]},
        {"categories": ["a", True]},
        {"categories": "ab"},
        {"randomizer": {"kind": "truth", "epsilon": 1}},
        {"randomizer": {"kind": "response"}},
        {"randomizer": {"kind": "response", "epsilon": 1, "odds": 3}},
        {"randomizer": {"kind": "response", "epsilon": 30}},
        {"randomizer": {"kind": "response", "odds": 3, "seed": 1}},
        {"other": True},
        {"by": {"age": [1, 2]}},
        {"categories": []},
        {"categories": None},
        {"randomizer": {"kind": "response", "odds": 3, "largest": 5}},
        {"randomizer": MEAN["randomizer"]},
    ],
)
def test_what_is_no_release_of_reports_is_refused(fields: dict[str, Any]) -> None:
    assert changed(**fields)


def test_too_many_cells_are_refused() -> None:
    many = {"categories": list(range(5000)), "by": {"region": list(range(300))}}
    assert "cells" in changed(**many)[0]


def test_reports_are_whole_numbers() -> None:
    release = measure("reports", **FIELDS)
    assert not list(release.column_refusals({"age": "integer"}))
    assert [one.key for one in release.column_refusals({"age": "text"})] == ["column"]
