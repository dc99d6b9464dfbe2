"""Whole-number algebra: exact where floats and 64 bits are not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.audit.algebra import (
    clear_denominators,
    independent_columns,
    largest,
    product,
    solve_or_refute,
    whole_array,
)

small = st.integers(-3, 3)


def test_products_do_not_overflow() -> None:
    big = whole_array([[1 << 70, 1]])
    assert product(big, whole_array([[1], [-1]])).tolist() == [[(1 << 70) - 1]]
    edge = whole_array([[1 << 30, 1 << 30]])
    assert product(edge, edge.T).tolist() == [[1 << 61]]
    assert product(edge * 2, edge.T * 4).tolist() == [[1 << 64]]


def test_empty_arrays_have_no_largest_value() -> None:
    assert largest(whole_array([])) == 0
    assert product(np.zeros((2, 0), dtype=np.int64), np.zeros(0, dtype=np.int64)).tolist() == [0, 0]


def test_denominators_are_cleared_row_by_row() -> None:
    rows: list[list[Fraction | int]] = [[Fraction(1, 2), Fraction(1, 3)], [1, 4]]
    assert clear_denominators(rows) == [[3, 2], [1, 4]]


@pytest.mark.parametrize(
    ("rows", "independent"),
    [
        ([[1, 0], [1, 1], [0, 5]], True),
        ([[1, 2], [2, 4], [3, 6]], False),
        ([[1, 2, 3]], False),
        ([[0, 1], [1, 0]], True),
        ([[0, 1], [0, 2]], False),
        ([[1 << 80, 1], [1, 1]], True),
        # the rank falls modulo the prime, so nothing is proved
        ([[(1 << 31) - 1]], False),
    ],
)
def test_independence_is_claimed_only_with_proof(rows: list[list[int]], independent: bool) -> None:
    assert independent_columns(whole_array(rows)) is independent


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(small, min_size=n, max_size=n), min_size=1, max_size=5)
    ),
    st.data(),
)
def test_a_solution_solves_and_a_witness_refutes(
    rows: list[list[int]], data: st.DataObject
) -> None:
    matrix = whole_array(rows)
    target = data.draw(st.lists(small, min_size=len(rows), max_size=len(rows)))
    solved, vector = solve_or_refute(matrix, whole_array(target))
    if solved:
        shown = [sum(a * e for a, e in zip(row, vector, strict=True)) for row in rows]
        assert shown == target
    else:
        for column in zip(*rows, strict=True):
            assert sum(y * a for y, a in zip(vector, column, strict=True)) == 0
        assert sum(y * d for y, d in zip(vector, target, strict=True)) != 0


@given(st.lists(st.lists(small, min_size=3, max_size=3), min_size=3, max_size=6))
def test_independent_columns_agree_with_numpy(rows: list[list[int]]) -> None:
    # determinants of these are below 2^31 - 1, so the prime divides none of them
    assert independent_columns(whole_array(rows)) is bool(np.linalg.matrix_rank(rows) == 3)
