"""Hiding one change: the cheapest whole shift, what it costs, and what no shift can hide."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from ameles.audit.algebra import whole_array
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
    bounds = hiding([[1, 0], [1, 1]], [[1], [0]], [2, 5]).single(0)
    assert (bounds.shift, bounds.how) == ((1, -1), UNIQUE)
    assert bounds.lower == bounds.upper == Fraction(1, 2) + Fraction(1, 5)


def test_the_cheapest_of_several_shifts() -> None:
    bounds = hiding([[1, 1]], [[3]], [2, 5]).single(0)
    assert (bounds.shift, bounds.lower, bounds.upper, bounds.how) == (
        *((0, 3), Fraction(3, 5), Fraction(3, 5)),
        SOLVED,
    )


def test_no_noise_at_all() -> None:
    bounds = hiding([[], []], [[1], [0]]).single(0)
    assert (bounds.lower, bounds.upper, bounds.how) == (math.inf, math.inf, LEAK)
    nothing = hiding([[]], [[0]]).single(0)
    assert (nothing.lower, nothing.upper, nothing.shift) == (0, 0, ())


@pytest.mark.parametrize("noise", [[[1, 1], [1, 1]], [[1], [1]]])
def test_what_has_no_noise_leaks(noise: list[list[int]]) -> None:
    bounds = hiding(noise, [[1], [0]]).single(0)
    assert (bounds.lower, bounds.upper, bounds.how) == (math.inf, math.inf, LEAK)
    # after rounding that the change does not commute with, nothing is proved either way
    blurred = hiding(noise, [[1], [0]], tight=False).single(0)
    assert (blurred.lower, blurred.upper) == (0, math.inf)


def test_a_shift_that_is_not_whole_is_no_shift() -> None:
    bounds = hiding([[2]], [[1]]).single(0)
    assert (bounds.lower, bounds.upper, bounds.how) == (Fraction(1, 2), math.inf, FRACTIONAL)
    several = hiding([[2, 4]], [[1]]).single(0)
    assert (several.lower, several.upper, several.how) == (Fraction(1, 4), math.inf, OPEN)


def test_a_whole_shift_beyond_one_is_found() -> None:
    # 3 e + 5 f = 2: (-1, 1) is whole, 2/5 of the second is cheaper in the reals
    bounds = hiding([[3, 5]], [[2]]).single(0)
    assert (bounds.shift, bounds.lower, bounds.upper) == ((-1, 1), Fraction(2, 5), 2)
    # 5 e + 7 f = 1: needs e = 3, f = -2, which no box of ones holds
    bounds = hiding([[5, 7]], [[1]]).single(0)
    assert (bounds.shift, bounds.lower, bounds.upper) == ((3, -2), Fraction(1, 7), 5)


def test_numbers_that_floats_do_not_hold() -> None:
    big = 1 << 70
    bounds = hiding([[1]], [[big]]).single(0)
    assert (bounds.shift, bounds.upper) == ((big,), big)


def test_gaussian_draws_share_a_change() -> None:
    bounds = hiding([[1, 1]], [[2]], [1, 1], law="gaussian").single(0)
    assert (bounds.shift, bounds.lower, bounds.upper) == ((1, 1), 1, 1)
    odd = hiding([[1, 1]], [[1]], [1, 1], law="gaussian").single(0)
    assert (odd.lower, odd.upper) == (Fraction(1, 4), Fraction(1, 2))
    none = hiding([[1, 1], [1, 1]], [[1], [0]], law="gaussian").single(0)
    assert none.lower == math.inf
