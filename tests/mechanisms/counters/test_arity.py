"""Sums over digits, against counting one by one; the arities of the frontier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.mechanisms.counters.arity import MOST, TRIED, best_arity, digit_total, digits_of
from ameles.mechanisms.counters.elders import balanced_cost
from ameles.mechanisms.counters.k_ary import plain_cost
from ameles.mechanisms.counters.siblings_error import mean_variance


@given(st.integers(0, 10**9), st.integers(2, 40))
def test_digits_make_up_the_number(t: int, k: int) -> None:
    digits = digits_of(t, k)
    assert sum(digit * k**level for level, digit in enumerate(digits)) == t
    assert all(0 <= digit < k for digit in digits)


@given(st.integers(1, 400), st.integers(0, 400), st.integers(2, 12), st.integers(0, 3))
def test_totals_equal_counting(first: int, more: int, k: int, level: int) -> None:
    def cost(digit: int) -> int:
        return digit * digit + 1

    counted = sum(cost(t // k**level % k) for t in range(first, first + more + 1))
    assert digit_total(first + more, k, level, cost, first=first) == counted


@pytest.mark.parametrize(
    ("horizon", "plain", "balanced", "siblings"),
    [(2**10, 11, 13, 14), (2**16, 17, 21, 21), (2**20, 17, 19, 20)],
)
def test_the_arities_of_the_frontier(
    horizon: int, plain: int, balanced: int, siblings: int
) -> None:
    # the frontier's table has 16 for the plain tree at the two longer horizons; 17 is a
    # hair better by the same formula
    assert best_arity(horizon, plain_cost) == plain
    assert horizon == 2**10 or plain_cost(horizon, 17) <= plain_cost(horizon, 16)
    assert best_arity(horizon, balanced_cost, odd=True) == balanced
    assert best_arity(horizon, mean_variance) == siblings


def test_tried_arities_are_odd_and_in_order() -> None:
    """A digit of an odd arity is as far from zero on both sides."""
    assert all(arity % 2 for arity in TRIED)
    assert sorted(set(TRIED)) == list(TRIED)
    assert (TRIED[0], TRIED[-1] <= MOST) == (3, True)
