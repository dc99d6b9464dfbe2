"""Prices of shifts: what a shift costs, and what a dual vector proves about every shift."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ameles.audit.algebra import whole_array
from ameles.audit.shift import ConcentratedPrice, Price, PurePrice

LAPLACE = (("laplace", Fraction(2)), ("laplace", Fraction(5)))
GAUSSIAN = (("gaussian", Fraction(2)), ("gaussian", Fraction(5)))


def rates_of(price: Price) -> list[Fraction]:
    return [rate for rate in price.rates if rate is not None]


def test_pure_prices_are_lengths_over_scales() -> None:
    price = PurePrice(LAPLACE)
    assert price.rates == [Fraction(1, 2), Fraction(1, 5)]
    assert price.cost([3, -1], rates_of(price)) == Fraction(3, 2) + Fraction(1, 5)
    assert price.times(4) == 4


def test_gaussian_draws_have_no_pure_price() -> None:
    assert PurePrice([*LAPLACE, ("gaussian", Fraction(1))]).rates[-1] is None


def test_concentrated_prices_are_squares_over_variances() -> None:
    price = ConcentratedPrice(GAUSSIAN)
    assert price.rates == [Fraction(1, 4), Fraction(1, 10)]
    assert price.cost([3, -1], rates_of(price)) == Fraction(9, 4) + Fraction(1, 10)
    assert price.times(4) == 16


def test_laplace_draws_bound_rho_from_above_only() -> None:
    price = ConcentratedPrice((("laplace", Fraction(2)), ("gaussian", Fraction(3))))
    assert price.rates == [Fraction(1, 8), Fraction(1, 6)]
    assert not price.floor(rounded=False, whole=True)


def test_rounding_leaves_bounds_from_below_where_their_proof_allows() -> None:
    pure, concentrated = PurePrice(LAPLACE), ConcentratedPrice(GAUSSIAN)
    assert pure.floor(rounded=True, whole=True)
    assert pure.floor(rounded=False, whole=False)
    assert not pure.floor(rounded=True, whole=False)
    assert concentrated.floor(rounded=False, whole=False)
    assert not concentrated.floor(rounded=True, whole=True)


@pytest.mark.parametrize("price", [PurePrice(LAPLACE), ConcentratedPrice(GAUSSIAN)], ids=type)
def test_a_dual_that_no_noise_pulls_proves_a_leak_or_nothing(price: Price) -> None:
    assert price.below([0, 0], 1, rates_of(price)) == math.inf
    assert price.below([0, 0], 0, rates_of(price)) == 0


@pytest.mark.parametrize("pull", [[1, 0], [2, 5], [-3, 4], [7, 7]])
@pytest.mark.parametrize("price", [PurePrice(LAPLACE), ConcentratedPrice(GAUSSIAN)], ids=type)
def test_no_dual_proves_more_than_a_shift_costs(price: Price, pull: list[int]) -> None:
    # for M the identity a shift is the change itself, and the gain of y is <y, change>
    for change in ([1, 0], [0, 1], [2, -3], [1, 1]):
        gain = sum(y * e for y, e in zip(pull, change, strict=True))
        assert price.below(pull, gain, rates_of(price)) <= price.cost(change, rates_of(price))
        # and the dual of the shift itself proves all of it
    assert price.below([2, 0], 2, rates_of(price)) == price.cost([1, 0], rates_of(price))


@pytest.mark.parametrize(
    ("price", "shift"),
    [(PurePrice(LAPLACE), [0.0, 1.0]), (ConcentratedPrice(GAUSSIAN), [2 / 7, 5 / 7])],
    ids=["the widest noise pays all", "shares by variance"],
)
def test_the_cheapest_real_shift(price: Price, shift: list[float]) -> None:
    rates = np.array([float(rate) for rate in rates_of(price)])
    proposal = price.propose(np.array([[1.0, 1.0]]), np.ones(1), rates)
    assert proposal is not None
    assert proposal.shift == pytest.approx(shift)
    impossible = price.propose(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 0.0]), rates)
    assert impossible is None


def test_shifts_within_a_box_are_proposed_first_and_then_whole_ones() -> None:
    price, rates = PurePrice(LAPLACE), np.array([0.5, 0.2])
    # 5 e + 7 f = 1: in the box a seventh of the second; whole is (3, -2), outside
    boxed, whole = price.propose_whole(np.array([[5.0, 7.0]]), np.ones(1), rates)
    assert boxed == pytest.approx([0, 1 / 7])
    assert whole == pytest.approx([3, -2])
    # e + 2 f = 3 is whole in the box; e + f = 3 has nothing there
    boxed, _ = price.propose_whole(np.array([[1.0, 2.0]]), np.array([3.0]), rates)
    assert boxed == pytest.approx([1, 1])
    (whole,) = price.propose_whole(np.array([[1.0, 1.0]]), np.array([3.0]), rates)
    assert whole == pytest.approx([0, 3])


@pytest.mark.parametrize("kind", [PurePrice, ConcentratedPrice])
def test_many_prices_at_once_are_as_one_by_one(kind: type[Price]) -> None:
    price = kind([("laplace", Fraction(3, 7)), ("laplace", Fraction(5)), ("laplace", Fraction(1))])
    rates = [rate for rate in price.rates if rate is not None]
    shifts = [(0, 0, 0), (1, -2, 3), (-(1 << 40), 5, 0), (1 << 70, -1, 1)]
    costs = price.each_cost(whole_array(shifts), rates)
    assert costs == [price.cost(shift, rates) for shift in shifts]
