"""Numbers that people report: none is refused for its size, and no message names one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from ameles.mechanisms.clamped import one_or_many, reports, whole_number
from tests.odd_values import ODD, Hostile, name_of

pd: Any = import_module("pandas")
pl: Any = import_module("polars")


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ([2**63, -1], [9, -1]),  # numpy makes floats of these
        ([10**30, -(10**30)], [9, -3]),
        (np.array([2**64 - 1, 4], dtype=np.uint64), [9, 4]),
        (np.array([-128, 127], dtype=np.int8), [-3, 9]),
        (np.array([200, 0], dtype=np.uint8), [9, 0]),
        (np.array([True, False]), [1, 0]),
        (np.array([2**70, 1], dtype=object), [9, 1]),
        ([True, np.bool_(False)], [1, 0]),
        (range(2), [0, 1]),
        ((4, np.int8(5), np.array(6)), [4, 5, 6]),
        (pd.Series([4, 5]), [4, 5]),
        ([], []),
        (np.array([]), []),
    ],
)
def test_whole_numbers_of_any_size_are_taken(given: Any, read: Any) -> None:
    numbers, sound = reports(given, -3, 9, refuse=ValueError)
    assert numbers.tolist() == read
    assert numbers.dtype == np.int64
    assert sound.all()


def test_a_range_that_a_small_type_does_not_hold_keeps_its_numbers() -> None:
    read = reports(np.array([-5, 100], dtype=np.int8), -(10**6), 10**6, refuse=ValueError)
    assert read[0].tolist() == [-5, 100]


@pytest.mark.parametrize("value", ODD, ids=name_of)
def test_an_odd_value_is_a_zero_that_is_marked(value: Any) -> None:
    assert whole_number(value) is None
    for given in ([3, value, 8], (3, value, 8)):
        numbers, sound = reports(given, 0, 9, refuse=ValueError)
        assert (numbers.tolist(), sound.tolist()) == ([3, 0, 8], [True, False, True])
        rows, whole = reports([[1, 2], [3, value], value], 0, 9, width=2, refuse=ValueError)
        assert (rows.tolist(), whole.tolist()) == ([[1, 2], [0, 0], [0, 0]], [True, False, False])


def test_a_zero_for_an_odd_value_is_within_the_range() -> None:
    assert reports([None, 9], 4, 5, refuse=ValueError)[0].tolist() == [4, 5]


def test_what_is_masked_or_missing_in_an_array_is_odd() -> None:
    masked = np.ma.MaskedArray([3, 5, 7], mask=[False, True, False])
    missing = pd.Series([3, None, 7], dtype="Int64")
    columns = {"x": [3, None, 7], "y": [1, 2, 3]}
    for frame in (pd.DataFrame(columns, dtype="Int64"), pl.DataFrame(columns)):
        rows, whole = reports(frame, 0, 9, width=2, refuse=ValueError)
        assert rows[whole].tolist() == [[3, 1], [7, 3]]
    with pytest.raises(ValueError, match="float64"):
        reports(pd.Series([1.0, 2.0]), 0, 9, refuse=ValueError)
    for given in (masked, missing, missing.array, pl.Series([3, None, 7])):
        numbers, sound = reports(given, 0, 9, refuse=ValueError)
        assert (numbers.tolist(), sound.tolist()) == ([3, 0, 7], [True, False, True])


@pytest.mark.parametrize(
    "given",
    [
        "12",
        b"12",
        {1},
        frozenset([1]),
        {1: 2},
        3,
        None,
        Hostile(),
        np.array([0.5]),
        np.array(["secret"]),
        np.array(["NaT"], dtype="datetime64[s]"),
        np.array([[1]]),
        np.array(1),
        [1, 2, 3],
    ],
    ids=name_of,
)
def test_what_is_wrong_about_the_whole_is_refused_without_a_value(given: Any) -> None:
    kinds = r"^an? [a-zA-Z0-9<>_\[\] ]+( with shape \((\d+,? ?)*\))?( of 3)?$"
    with pytest.raises(ValueError, match=kinds) as told:
        reports(given, 0, 5, count=1, refuse=ValueError)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "value", [None, 3, "ann", b"x", 0.5, np.int64(4), np.array(5), np.ma.masked]
)
def test_one_person_s_value_is_a_list_of_it(value: Any) -> None:
    given = one_or_many(value)
    assert isinstance(given, list)
    assert given[0] is value


def test_many_people_s_values_stay_as_they_are() -> None:
    for given in ([1], (1,), np.array([1]), {1}):
        assert one_or_many(given) is given
    assert one_or_many(pd.Series([4, 5])).tolist() == [4, 5]
