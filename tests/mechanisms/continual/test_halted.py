"""The halt: one value, told from every number, the same after copying."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from ameles.mechanisms.continual.transformation import CODE, HALTED, Halted


def test_there_is_one_and_it_survives_copies() -> None:
    assert list(Halted) == [HALTED]
    for again in (copy.copy(HALTED), copy.deepcopy(HALTED), Halted("halted")):
        assert again is HALTED
    with pytest.raises(ValueError, match="stopped"):
        Halted("stopped")


def test_it_is_no_number_and_not_false() -> None:
    # a release of 0 must never be taken for a halt, nor a halt for a release
    others: tuple[object, ...] = (0, -1, False, None, float("nan"), "halted")
    assert HALTED not in others
    assert [bool(value) for value in Halted] == [True]
    with pytest.raises(TypeError):
        json.dumps(HALTED)
    assert json.dumps(HALTED.value) == '"halted"'


def test_it_prints_as_what_it_is() -> None:
    assert f"{[HALTED, 3]}" == "[HALTED, 3]"


def test_among_numbers_it_is_the_smallest_of_64_bits() -> None:
    assert np.array([CODE]).dtype == np.int64
    assert np.iinfo(np.int64).min == CODE
