"""Sums by key are the same by a table of all keys and by sorting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ameles.mechanisms.discovery.sums_by_key import sums_by_key
from ameles.noise import System


@pytest.mark.parametrize("keys", [20, 100_000])
def test_sums_are_those_of_a_loop(keys: int) -> None:
    noise, size, cells = System(), 200, 3
    number, weight = noise.uniform(keys, size), noise.uniform(5, size)
    cell, amount = noise.uniform(cells, size), noise.uniform(9, size) - 4
    selected: Counter[int] = Counter()
    amounts: Counter[tuple[int, int]] = Counter()
    for n, w, c, a in zip(number, weight, cell, amount, strict=True):
        selected[n] += w
        amounts[n, c] += a
    found = sums_by_key(number, weight, cell, amount, cells=cells)
    assert found[0].tolist() == sorted(set(number.tolist()))
    assert found[1].tolist() == [selected[n] for n in found[0]]
    assert found[2].tolist() == [[amounts[n, c] for c in range(cells)] for n in found[0]]


def test_no_records_are_no_keys() -> None:
    none = np.empty(0, dtype=np.int64)
    keys, selected, amounts = sums_by_key(none, none, none, none, cells=2)
    assert keys.size == selected.size == 0
    assert amounts.shape == (0, 2)
