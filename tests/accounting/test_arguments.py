from __future__ import annotations

from fractions import Fraction

import pytest

from ameles.accounting.arguments import amount, positive, probability, repetitions
from ameles.core.exceptions import BadInput


def test_numbers_are_read_as_written() -> None:
    assert amount(0.1, "rho") == Fraction(1, 10)
    assert amount(0, "rho") == 0
    assert positive("1/3", "epsilon") == Fraction(1, 3)
    assert probability("1e-6", "delta") == Fraction(1, 10**6)
    assert repetitions(7, "count") == 7


def test_totals_may_be_longer_than_anyone_would_type() -> None:
    total = Fraction(1, 3**200) + 1
    assert amount(total, "rho") == total


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), Fraction(10**101), "x", True])
def test_amounts_refuse(value: float) -> None:
    with pytest.raises(BadInput, match="'rho'"):
        amount(value, "rho")


def test_positive_refuses_zero() -> None:
    with pytest.raises(BadInput, match="'epsilon' parameter must be above zero"):
        positive(0, "epsilon")


@pytest.mark.parametrize("value", [0, 1, 2, -0.5, Fraction(1, 10**101)])
def test_probabilities_refuse(value: float) -> None:
    with pytest.raises(BadInput, match="'delta'"):
        probability(value, "delta")


@pytest.mark.parametrize("value", [0, -1, 10**9 + 1, True])
def test_repetitions_refuse(value: int) -> None:
    with pytest.raises(BadInput, match="'count'"):
        repetitions(value, "count")
