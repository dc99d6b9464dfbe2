"""Shifts and duals: each bound is what its proof says, and bad proposals prove nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ameles.audit import solver
from ameles.audit.algebra import whole_array
from ameles.audit.dual import bound_from_below, rounded_duals, vertex_dual
from ameles.audit.hiding import FRACTIONAL, LEAK, OPEN, SOLVED, UNIQUE, Hiding
from ameles.audit.observation import Matrices
from ameles.audit.shift import ConcentratedPrice, Price, PurePrice


def hiding(
    noise: list[list[int]],
    data: list[list[int]],
    scales: list[int] | None = None,
    *,
    law: str = "laplace",
    tight: bool = True,
) -> Hiding:
    count = len(noise[0])
    laws = tuple((law, Fraction(b)) for b in scales or [1] * count)
    matrices = Matrices(
        noise=whole_array(noise).reshape(len(noise), count),
        data=whole_array(data),
        draws=tuple(range(count)),
        laws=laws,
        rounded=not tight,
        whole=tight,
    )
    price: Price = PurePrice(laws) if law == "laplace" else ConcentratedPrice(laws)
    return Hiding(matrices, price)


def test_the_only_shift_is_exact() -> None:
    found = hiding([[1, 0], [1, 1]], [[1], [0]], [2, 5]).single(0)
    assert (found.shift, found.how) == ((1, -1), UNIQUE)
    assert found.lower == found.upper == Fraction(1, 2) + Fraction(1, 5)


def test_the_cheapest_of_several_shifts() -> None:
    found = hiding([[1, 1]], [[3]], [2, 5]).single(0)
    assert (found.shift, found.lower, found.upper, found.how) == (
        *((0, 3), Fraction(3, 5), Fraction(3, 5)),
        SOLVED,
    )


def test_no_noise_at_all() -> None:
    found = hiding([[], []], [[1], [0]]).single(0)
    assert (found.lower, found.upper, found.how) == (math.inf, math.inf, LEAK)
    nothing = hiding([[]], [[0]]).single(0)
    assert (nothing.lower, nothing.upper, nothing.shift) == (0, 0, ())


@pytest.mark.parametrize("noise", [[[1, 1], [1, 1]], [[1], [1]]])
def test_what_has_no_noise_leaks(noise: list[list[int]]) -> None:
    found = hiding(noise, [[1], [0]]).single(0)
    assert (found.lower, found.upper, found.how) == (math.inf, math.inf, LEAK)
    # after rounding that the change does not commute with, nothing is proved either way
    blurred = hiding(noise, [[1], [0]], tight=False).single(0)
    assert (blurred.lower, blurred.upper) == (0, math.inf)


def test_a_shift_that_is_not_whole_is_no_shift() -> None:
    found = hiding([[2]], [[1]]).single(0)
    assert (found.lower, found.upper, found.how) == (Fraction(1, 2), math.inf, FRACTIONAL)
    several = hiding([[2, 4]], [[1]]).single(0)
    assert (several.lower, several.upper, several.how) == (Fraction(1, 4), math.inf, OPEN)


def test_a_whole_shift_beyond_one_is_found() -> None:
    # 3 e + 5 f = 2: (-1, 1) is whole, 2/5 of the second is cheaper in the reals
    found = hiding([[3, 5]], [[2]]).single(0)
    assert (found.shift, found.lower, found.upper) == ((-1, 1), Fraction(2, 5), 2)
    # 5 e + 7 f = 1: needs e = 3, f = -2, which no box of ones holds
    found = hiding([[5, 7]], [[1]]).single(0)
    assert (found.shift, found.lower, found.upper) == ((3, -2), Fraction(1, 7), 5)


def test_numbers_that_floats_do_not_hold() -> None:
    big = 1 << 70
    found = hiding([[1]], [[big]]).single(0)
    assert (found.shift, found.upper) == ((big,), big)


def test_gaussian_draws_share_a_change() -> None:
    found = hiding([[1, 1]], [[2]], [1, 1], law="gaussian").single(0)
    assert (found.shift, found.lower, found.upper) == ((1, 1), 1, 1)
    odd = hiding([[1, 1]], [[1]], [1, 1], law="gaussian").single(0)
    assert (odd.lower, odd.upper) == (Fraction(1, 4), Fraction(1, 2))
    none = hiding([[1, 1], [1, 1]], [[1], [0]], law="gaussian").single(0)
    assert none.lower == math.inf


def test_laplace_draws_bound_rho_from_above_only() -> None:
    laws = (("laplace", Fraction(2)), ("gaussian", Fraction(3)))
    price = ConcentratedPrice(laws)
    assert price.rates == [Fraction(1, 8), Fraction(1, 6)]
    assert not price.floor(rounded=False, whole=True)


def test_rounding_leaves_bounds_from_below_where_their_proof_allows() -> None:
    laplace, gaussian = (("laplace", Fraction(2)),), (("gaussian", Fraction(2)),)
    assert PurePrice(laplace).floor(rounded=True, whole=True)
    assert not PurePrice(laplace).floor(rounded=True, whole=False)
    assert ConcentratedPrice(gaussian).floor(rounded=False, whole=False)
    assert not ConcentratedPrice(gaussian).floor(rounded=True, whole=True)


def test_a_wrong_dual_proves_less_and_never_more() -> None:
    matrix, target = whole_array([[1, 0], [1, 1]]), whole_array([1, 0])
    price = PurePrice([("laplace", Fraction(1))] * 2)
    rates = [Fraction(1)] * 2
    for dual in ([2, -1], [1, 0], [-7, 3], [0, 1], [0, 0]):
        assert bound_from_below(price, matrix, target, rates, [dual], math.inf) <= 2
    assert bound_from_below(price, matrix, target, rates, [[2, -1]], math.inf) == 2


def test_rounded_duals_go_from_coarse_to_fine() -> None:
    assert rounded_duals(np.zeros(3)) == []
    assert rounded_duals(np.array([0.5, -1.0, 0.0]))[0] == [1, -2, 0]
    assert rounded_duals(np.array([1 / 3, 1 / 2]))[1] == [2, 3]


def test_an_exact_dual_is_computed_from_where_it_is_tight() -> None:
    # weights of thirds and sevenths: the dual has a denominator that no rounding hits
    matrix = whole_array([[4093, 4096], [4096, 1]])
    rates = [Fraction(1, 3), Fraction(1, 7)]
    dual = np.linalg.solve(matrix.T.astype(float), [1 / 3, 1 / 7])
    (vector,) = vertex_dual(matrix, dual, rates)
    pull = [sum(y * int(m) for y, m in zip(vector, column, strict=True)) for column in matrix.T]
    assert pull[0] * 3 == pull[1] * 7


def test_solvers_say_when_they_find_nothing() -> None:
    matrix, costs = np.array([[2.0]]), np.ones(1)
    assert solver.cheapest(np.zeros((1, 1)), np.ones(1), costs) is None
    assert solver.cheapest(matrix, np.array([6.0]), costs, longest=1) is None
    assert solver.cheapest_whole(matrix, np.ones(1), costs) is None
