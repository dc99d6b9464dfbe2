"""What a query, a table of them and a histogram may be; errors tell no value of a histogram."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.mechanisms.linear_queries import (
    answers,
    check_fits,
    histogram,
    pair,
    queries,
    query,
)


@pytest.mark.parametrize("given", [[1, 0, 3], (1, 0, 3), np.array([1, 0, 3], dtype=np.uint8)])
def test_a_query_is_whole_numbers_on_the_grid(given: Any) -> None:
    asked = query(given, universe=3, grid=3)
    assert asked.tolist() == [1, 0, 3]
    assert asked.dtype.kind == "i"


def test_a_boolean_query_stays_one_and_a_table_counts_whole_rows() -> None:
    mask = [True, False, True]
    assert query(mask, universe=3, grid=5).dtype == np.bool_
    assert queries([mask], count=1, universe=3, grid=5).tolist() == [[5, 0, 5]]
    assert queries([[1, 2, 3]], count=1, universe=3, grid=5).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, 0], "3 booleans"),
        ([[1, 0, 1]], "3 booleans"),
        ([1.0, 0.0, 1.0], "Got a list"),
        (np.zeros(3), "array of float64"),
        ("101", "Got a str"),
        ([[1], [1, 2], 3], "3 booleans"),
        ([0, 0, 4], "from 0 to 3"),
        ([-1, 0, 0], "from 0 to 3"),
    ],
)
def test_what_is_no_query(given: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        query(given, universe=3, grid=3)


def test_a_histogram_is_moved_to_what_its_rows_allow() -> None:
    assert histogram([-5, 3, 10**12], universe=3, rows=9).tolist() == [0, 3, 9]
    large = np.array([2**64 - 1, 0, 1], dtype=np.uint64)
    assert histogram(large, universe=3, rows=9).tolist() == [9, 0, 1]


@pytest.mark.parametrize("given", [[8_675_309], [8_675_309.0] * 3, 8_675_309, [True, False, True]])
def test_what_is_no_histogram_is_not_told(given: Any) -> None:
    with pytest.raises(BadInput, match="3 whole numbers") as refused:
        histogram(given, universe=3, rows=9)
    assert "8675309" not in str(refused.value).replace("_", "")


def test_answers_are_exact_at_the_largest_sizes() -> None:
    top = 2**40
    table = queries([[2**20, 2**20]], count=1, universe=2, grid=2**20)
    assert answers(table, histogram([top, top], universe=2, rows=top)).tolist() == [2**61]
    check_fits(2, 2**40, 2**20)
    with pytest.raises(BadInput, match="64 bits"):
        check_fits(4, 2**40, 2**20)


@pytest.mark.parametrize("given", [3, (1, 2, 3), [1, 2], None])
def test_an_input_of_two_parts_is_a_pair(given: Any) -> None:
    assert pair((1, 2), "a query", "its exact answer") == (1, 2)
    with pytest.raises(BadInput, match="must be a pair: a query, and its exact answer"):
        pair(given, "a query", "its exact answer")
