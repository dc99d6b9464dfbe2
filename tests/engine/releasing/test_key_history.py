"""The totals of public keys at earlier steps: windows of keys that are found late, and dropped."""

from __future__ import annotations

import numpy as np
import pytest

from ameles.core.exceptions import StoreRefused
from ameles.engine.gathering.packed_arrays import pack
from ameles.engine.releasing.key_history import KeyHistory


def spans(history: KeyHistory, totals: dict[int, list[int]]) -> dict[int, list[int]]:
    number = np.array([*totals], dtype=np.int64)
    cells = history.totals.shape[2]
    table = np.array([*totals.values()], dtype=np.int64).reshape(-1, cells)
    return dict(zip(number.tolist(), history.spans(number, table).tolist(), strict=True))


def stored(history: KeyHistory) -> KeyHistory:
    """The same, as the next run reads it."""
    window, _, cells = history.totals.shape
    return KeyHistory.read(history.to_bytes(), window, cells)


def test_a_window_has_what_was_added_in_its_steps() -> None:
    history = KeyHistory.blank(2, 2)
    totals = [[1, 10], [3, 30], [7, 70], [15, 150]]
    given = []
    for total in totals:
        given.append(spans(history, {4: total})[4])
        history = stored(history)
    assert given == [[1, 10], [3, 30], [6, 60], [12, 120]]


def test_a_key_that_is_found_late_has_its_whole_total_first() -> None:
    history = KeyHistory.blank(1, 1)
    assert spans(history, {3: [5]}) == {3: [5]}
    assert spans(stored(history), {3: [6], 1: [50]}) == {3: [1], 1: [50]}
    assert spans(history, {1: [51], 3: [8]}) == {1: [51], 3: [3]}  # that step was not kept


def test_the_order_of_keys_may_change_and_a_dropped_key_is_gone() -> None:
    history = KeyHistory.blank(2, 1)
    spans(history, {1: [1], 2: [10]})
    spans(history, {2: [20], 1: [2]})
    assert spans(history, {1: [4], 2: [40]}) == {1: [3], 2: [30]}
    assert spans(history, {2: [80]}) == {2: [60]}
    assert history.number.tolist() == [2]
    assert history.totals.shape == (2, 1, 1)
    assert spans(history, {2: [81], 1: [9]}) == {2: [41], 1: [9]}  # it begins anew


def test_without_a_window_nothing_is_kept() -> None:
    history = KeyHistory.blank(0, 1)
    assert spans(history, {1: [3]}) == {1: [3]}
    assert history.to_bytes() == b""
    assert stored(history).totals.shape == (0, 0, 1)
    assert KeyHistory.read(b"", 3, 2).totals.shape == (3, 0, 2)


@pytest.mark.parametrize(
    "damaged",
    [
        b"no arrays",
        pack({"number": np.zeros(1, dtype=np.int64)}),
        pack({"number": np.zeros(1, np.int64), "totals": np.zeros((2, 2, 1), np.int64)}),
        pack({"number": np.zeros(1, np.int64), "totals": np.zeros((3, 1, 1), np.int64)}),
        pack({"number": np.zeros(1, np.int64), "totals": np.zeros((2, 1, 2), np.int64)}),
    ],
)
def test_a_damaged_history_is_refused(damaged: bytes) -> None:
    with pytest.raises(StoreRefused, match="outputs of earlier steps cannot be read"):
        KeyHistory.read(damaged, 2, 1)
