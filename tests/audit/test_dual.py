"""Dual vectors: whole ones near a float vector, and what they prove."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from ameles.audit.algebra import whole_array
from ameles.audit.dual import bound_from_below, rounded_duals, tight_dual
from ameles.audit.shift import PurePrice

MATRIX, TARGET = whole_array([[1, 0], [1, 1]]), whole_array([1, 0])
PRICE = PurePrice([("laplace", Fraction(1))] * 2)
RATES = [Fraction(1)] * 2


def test_a_wrong_dual_proves_less_and_never_more() -> None:
    # the only shift is (1, -1), which costs 2
    for dual in ([2, -1], [1, 0], [-7, 3], [0, 1], [0, 0]):
        assert bound_from_below(PRICE, MATRIX, TARGET, RATES, [dual], math.inf) <= 2
    assert bound_from_below(PRICE, MATRIX, TARGET, RATES, [[2, -1]], math.inf) == 2


def test_the_best_dual_counts_and_the_search_stops_when_it_is_enough() -> None:
    tried: list[list[int]] = []

    def duals() -> Iterator[list[int]]:
        for dual in ([1, 0], [2, -1], [1, 1]):
            tried.append(dual)
            yield dual

    assert bound_from_below(PRICE, MATRIX, TARGET, RATES, duals(), Fraction(2)) == 2
    assert tried == [[1, 0], [2, -1]]
    assert bound_from_below(PRICE, MATRIX, TARGET, RATES, [], math.inf) == 0


def test_rounded_duals_go_from_coarse_to_fine() -> None:
    assert rounded_duals(np.zeros(3)) == []
    assert rounded_duals(np.array([0.5, -1.0, 0.0]))[0] == [1, -2, 0]
    assert rounded_duals(np.array([1 / 3, 1 / 2]))[1] == [2, 3]


def test_dust_is_not_taken_for_a_unit() -> None:
    assert rounded_duals(np.array([1e-12, 1.0, -2.0]))[0] == [0, 1, -2]


def test_an_exact_dual_is_computed_from_where_it_is_tight() -> None:
    # weights of thirds and sevenths: the dual has a denominator that no rounding hits
    matrix = whole_array([[4093, 4096], [4096, 1]])
    rates = [Fraction(1, 3), Fraction(1, 7)]
    dual = np.linalg.solve(matrix.T.astype(float), [1 / 3, 1 / 7])
    (vector,) = tight_dual(matrix, dual, rates)
    pull = [sum(y * int(m) for y, m in zip(vector, column, strict=True)) for column in matrix.T]
    assert pull[0] * 3 == pull[1] * 7


def test_an_exact_dual_keeps_the_limits_of_draws_that_are_not_tight() -> None:
    # many duals are tight at the first draw alone, and most of them are too long for the others
    matrix = whole_array([[350, 0, 300], [81, 1, -200]])
    rates = [Fraction(1, 3), Fraction(1), Fraction(1, 7)]
    y = 1 / 1500
    dual = np.array([y, (1 / 3 - 350 * y) / 81])
    assert list(tight_dual(matrix, np.zeros(2), rates)) == []
    (vector,) = tight_dual(matrix, dual, rates)
    bound = bound_from_below(PRICE, matrix, matrix[:, 0], rates, [vector], math.inf)
    assert bound == Fraction(1, 3), "a shift of the first draw by 1 costs no less"


def test_no_exact_dual_is_made_up() -> None:
    # two equal draws cannot be tight in opposite directions
    matrix, rates = whole_array([[1, 1]]), [Fraction(1), Fraction(2)]
    assert list(tight_dual(matrix, np.array([1.0]), rates)) == [[1]]
    assert list(tight_dual(matrix, np.array([1.0]), [Fraction(1), Fraction(1)])) == [[1]]
    near = [Fraction(1), 1 + Fraction(1, 10**9)]
    assert list(tight_dual(matrix, np.array([1.0]), near)) == []


@pytest.mark.parametrize("scale", [1, 3, 100])
def test_the_bound_does_not_depend_on_the_length_of_the_dual(scale: int) -> None:
    dual = [2 * scale, -scale]
    assert bound_from_below(PRICE, MATRIX, TARGET, RATES, [dual], math.inf) == 2
