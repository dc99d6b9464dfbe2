from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ameles.mechanisms.discovery import KeyDiscovery, KeyInputs
from ameles.mechanisms.discovery.value_error import some_steps
from ameles.noise import System

RECIPE = KeyDiscovery(epsilon=2, delta="1e-6", horizon=40, records=2, per_key=2)
KEYS = 4000


@pytest.fixture(scope="module")
def noise() -> Any:
    """The noise of many keys that are all found at step 1: (steps, keys)."""
    run = RECIPE.start(System(compiled=False))
    numbers = run.numbers([str(number) for number in range(KEYS)])
    selected = np.full(KEYS, 10**6)
    first = KeyInputs(numbers, selected, np.zeros((KEYS, 1), dtype=np.int64))
    outs = run.feed([first, *[KeyInputs.nothing(1)] * 39])
    return np.array([out.values[:, 0] for out in outs])


def test_values_have_the_stated_deviation(noise: Any) -> None:
    # 4,000 values: the sample deviation is off by 1.1%; false alarm 3e-6 for six at 5 of these
    error = RECIPE.value_error(1)
    for t in (1, 2, 10, 20, 39, 40):
        assert noise[t - 1].std() == pytest.approx(error.std(t), rel=0.056)
        assert abs(noise[t - 1].mean()) < 6 * error.std(t) / math.sqrt(KEYS)


def test_bounds_hold_as_often_as_stated_and_hardly_more(noise: Any) -> None:
    # of 4,000 values 200 are expected beyond; the deviation is 14, false alarm 1e-6 at 5 of these
    error = RECIPE.value_error(1)
    for t in (1, 7, 25, 40):
        beyond = int((np.abs(noise[t - 1]) > error.bound(t, 0.05)).sum())
        assert 100 <= beyond <= 270
    for before, t in ((3, 4), (10, 20), (1, 40)):
        moved = np.abs(noise[t - 1] - noise[before - 1])
        law = error.between(before, t)
        assert 100 <= int((moved > law.quantile(0.05)).sum()) <= 270
        assert moved.std() > 0


def test_all_steps_at_once_are_within_one_bound(noise: Any) -> None:
    # at most 200 of 4,000 keys may leave it; false alarm 1e-6 at 5 deviations of 14
    bound = RECIPE.value_error(1).bound_all(40, 0.05)
    assert int((np.abs(noise).max(axis=0) > bound).sum()) <= 270


def test_of_many_steps_those_that_are_looked_at_have_the_largest_variance() -> None:
    law = KeyDiscovery(epsilon=2, delta="1e-6", horizon=700, records=2).values
    variances = {t: law.variances(t)[0] for t in range(1, 701)}
    chosen = some_steps(1, 700)
    assert len(chosen) < 700
    assert max(variances[t] for t in chosen) >= 0.99999 * max(variances.values())


def test_a_key_that_is_found_later_has_less_noise() -> None:
    errors = [RECIPE.value_error(since).std(40) for since in (1, 2, 20, 39, 40)]
    assert errors == sorted(errors, reverse=True)
    law = RECIPE.values
    single = math.sqrt(law.variance) / (1 << law.bits)
    assert errors[-1] == pytest.approx(math.sqrt(single**2 + 1 / 12), rel=1e-3)
    # before its discovery a key has no value
    assert RECIPE.value_error(20).std(19) == 0
    assert RECIPE.value_error(20).between(3, 30) == RECIPE.value_error(20).between(0, 30)


def test_the_mean_of_the_variance_is_over_the_steps_of_the_key() -> None:
    error = RECIPE.value_error(1)
    squares = [error.between(0, t).variance for t in range(1, 41)]
    assert error.rms(40) == pytest.approx(math.sqrt(sum(squares) / 40))
