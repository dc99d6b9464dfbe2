"""Entries of tables are as small as their values allow: the layout of a state depends on it."""

from __future__ import annotations

import numpy as np
import pytest

from ameles.mechanisms.pan_private.entries import kind_for, room


@pytest.mark.parametrize(
    ("values", "bits"), [(2, 8), (256, 8), (257, 16), (1 << 16, 16), ((1 << 16) + 1, 32)]
)
def test_the_kind_is_the_smallest_that_holds_all_values(values: int, bits: int) -> None:
    kind = np.dtype(kind_for(values))
    assert kind == np.dtype(f"u{bits // 8}")
    assert np.iinfo(kind).max >= values - 1


def test_the_same_memory_is_words() -> None:
    words, entries = room(9, 300)
    assert (words.size, entries.size) == (3, 9)
    entries[4] = 299
    assert words[1] == 299
