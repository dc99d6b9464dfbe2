"""Rows as columns."""

from __future__ import annotations

import numpy as np
import pytest

from ameles.store.columns import block, height, is_real, rows


def test_columns_must_be_of_one_height() -> None:
    with pytest.raises(ValueError, match="too many values"):
        height({"a": [1], "b": [1, 2]})
    assert height({"a": [1], "b": 7, "c": "constant"}) == 1


def test_a_block_is_a_part_of_all_columns() -> None:
    part = block({"a": np.arange(5), "b": 7, "c": list("vwxyz")}, 1, 3)
    assert list(rows(part)) == [(1, 7, "w"), (2, 7, "x")]


def test_integers_stay_exact_and_reals_are_real() -> None:
    assert list(rows({"a": np.array([2**63 - 1]), "b": np.array([-np.inf])})) == [(2**63 - 1, None)]
    assert is_real(np.array([0.5], dtype=np.float32))
    assert not is_real(np.array([1]))
    assert not is_real("text")
