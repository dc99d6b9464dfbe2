"""The optimiser of buffered counters: at least as good as the known figures, in seconds."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest

from ameles.mechanisms.counters.gaussian.buffered_optimum import (
    best_rates,
    decoder_gain,
    decoder_mean_gain,
    encoder_weights,
    powers,
    worst_deviation,
)


@pytest.mark.parametrize(
    ("horizon", "buffers", "known"),
    [
        (2**10, 4, 3.273),
        (2**10, 6, 3.273),
        (2**16, 4, 4.617),
        (2**16, 6, 4.597),
        (2**20, 4, 5.564),
        (2**20, 6, 5.485),
    ],
)
def test_as_good_as_what_is_known(horizon: int, buffers: int, known: float) -> None:
    assert worst_deviation(*best_rates(horizon, buffers), horizon) <= known + 5e-4


@pytest.mark.parametrize("horizon", [1, 2, 5, 100, 2**13, 2**25, 2**40])
def test_more_buffers_are_never_worse(horizon: int) -> None:
    deviations = [worst_deviation(*best_rates(horizon, n), horizon) for n in range(2, 7)]
    for fewer, more in pairwise(deviations):
        assert more <= fewer * (1 + 1e-5)


def test_rates_interlace() -> None:
    for horizon in (1, 7, 2**20):
        x, a = best_rates(horizon, 6)
        order = [0.0, *(rate for pair in zip(x, a, strict=True) for rate in pair), 1.0]
        assert order == sorted(set(order))


def test_no_neighbouring_rates_are_better() -> None:
    x, a = best_rates(2**16, 4)
    best = worst_deviation(x, a, 2**16)
    for i in range(4):
        for factor in (0.97, 1.03):
            moved = [value * (factor if i == k else 1) for k, value in enumerate(x)]
            assert worst_deviation(tuple(moved), a, 2**16) > best
            moved = [value * (factor if i == k else 1) for k, value in enumerate(a)]
            assert worst_deviation(x, tuple(moved), 2**16) > best


def test_found_within_seconds_and_kept() -> None:
    # usually a fifth of a second of this process, whatever else the machine does
    best_rates.cache_clear()
    start = time.process_time()
    best_rates(2**20, 6)
    assert time.process_time() - start < 10
    best_rates(2**20, 6)
    assert best_rates.cache_info().hits == 1


def test_closed_formulas_are_the_sums() -> None:
    x, a = (np.array(rates) for rates in best_rates(500, 3))
    weights = encoder_weights(x, a)
    c = np.array([1.0, *(weights @ (1 - x) ** j for j in range(499))])
    b = np.zeros(500)
    b[0] = 1.0
    for t in range(1, 500):  # b * c = 1, 1, 1, ...
        b[t] = 1 - b[:t] @ c[t:0:-1]
    gains = np.cumsum(b * b)
    assert decoder_gain(x, a, 500) == pytest.approx(gains[-1], rel=1e-9)
    assert decoder_mean_gain(x, a, 500) == pytest.approx(gains.mean(), rel=1e-9)
    assert worst_deviation(x, a, 500) ** 2 == pytest.approx(gains[-1] * (c @ c), rel=1e-9)


def test_sums_of_powers_at_the_edges() -> None:
    sums = powers(np.array([0.0, 1.0, 0.5, 1e-18]), 3)
    assert sums == pytest.approx([3, 1, 1.75, 3])
