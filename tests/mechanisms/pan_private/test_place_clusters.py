"""Bounds for all steps at once of the pan-private counter with shares by place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from ameles.mechanisms.pan_private.place_counter import PanPrivatePlaceCounter
from ameles.mechanisms.pan_private.place_error import PlaceError
from ameles.mechanisms.pan_private.tree_counter import PanPrivateTreeCounter
from ameles.noise import System
from tests.each import together


def error_of(**given: Any) -> PlaceError:
    return PanPrivatePlaceCounter(**{"epsilon": 1, **given}).error


@together("alone", [False, True])
@together(
    "given",
    [
        {"horizon": 3},
        {"horizon": 24, "radices": (24,), "rungs": ()},
        {"horizon": 45, "radices": (45,), "rungs": ()},  # in two blocks
        {"horizon": 100},
        {"horizon": 27, "radices": (3, 3, 3), "rungs": (10, 0, 0, 6)},
        {"horizon": 100, "epsilon": 5},
        {"horizon": 5000},
    ],
)
def test_the_noises_of_a_block_have_the_variance_of_every_step(
    given: dict[str, Any], alone: bool
) -> None:
    error = error_of(**given)
    last = given["horizon"]
    clusters = error.clusters(last)
    assert clusters is not None
    asked = np.arange(1, last + 1)[:: max(1, last // 150)]
    seen = 0
    for cluster in clusters(asked, alone):
        variances = 0.5 / np.sinh(0.5 / cluster.scales) ** 2
        totals = np.einsum("bsn,bn->bs", cluster.weights**2, variances)
        for row, step in enumerate(asked[cluster.places]):
            first = step - cluster.own[row]
            for place in np.flatnonzero(cluster.valid[row]).tolist():
                law = error.law(int(first) + place)
                assert totals[row, place] == pytest.approx(law.std**2, rel=1e-6)
                seen += 1
    assert seen >= len(asked)


@pytest.mark.parametrize("horizon", [16, 100])
def test_the_bound_for_all_steps_is_right_and_close(horizon: int) -> None:
    # 20,000 counters; false alarm 1e-6, twice
    recipe = PanPrivatePlaceCounter(epsilon=1, horizon=horizon, width=20_000)
    noise = recipe.start(System.direct()).feed(np.zeros((horizon, 20_000), dtype=np.int64))
    largest = np.abs(noise).max(axis=0)
    bound = recipe.error.bound_all(horizon, 0.05)
    assert (largest > bound).sum() <= binom.isf(1e-6, 20_000, 0.05)
    # a bound smaller by a tenth is too small
    assert (largest > 0.9 * bound).sum() > binom.isf(1e-6, 20_000, 0.05)


def test_bounds_for_all_steps_are_below_those_of_the_tree() -> None:
    tree = PanPrivateTreeCounter(epsilon=1, horizon=1024)
    assert error_of(horizon=1024).bound_all(1024, 0.05) < 0.95 * tree.error.bound_all(1024, 0.05)
    told = PanPrivatePlaceCounter(epsilon=1, horizon=1024, intrusions="announced")
    assert told.error_after(1).clusters(1024) is None  # their times are not known
    assert told.error_after(1).bound_all(1024, 0.05) > told.error.bound_all(1024, 0.05)
