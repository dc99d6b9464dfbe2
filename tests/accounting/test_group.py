from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.divergence import hockey_stick_at
from ameles.accounting.group import group
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Concentrated, Pure

from .oracle import decimal, fraction_of_float, many_digits, outward

epsilons = st.fractions(min_value=0, max_value=3, max_denominator=1000)


@given(epsilons, st.integers(1, 10**9))
def test_pure_and_zcdp_are_exact(amount: Fraction, size: int) -> None:
    assert group(Pure(amount), size=size) == Pure(amount * size)
    assert group(Concentrated(amount), size=size) == Concentrated(amount * size**2)


@given(
    st.fractions(min_value=Fraction(1, 10**9), max_value=2, max_denominator=10**9),
    st.integers(2, 20),
)
def test_delta_is_outward(epsilon: Fraction, size: int) -> None:
    delta = Fraction(1, 10**20)
    together = group(Approx(epsilon, delta), size=size)
    assert isinstance(together, Approx)
    assert together.epsilon == size * epsilon
    with many_digits():
        steps = (decimal(i * epsilon).exp() for i in range(size))
        truth = decimal(delta) * sum(steps, Decimal(0))
    assert outward(together.delta, truth, "up")


def test_exact_where_it_can_be() -> None:
    assert group(Approx(1, "1e-6"), size=1) == Approx(1, "1e-6")
    assert group(Approx(1, 0), size=5) == Approx(5, 0)
    assert group(Approx(0, "1e-6"), size=5) == Approx(0, "5e-6")


def test_a_group_too_large_for_its_delta_is_refused() -> None:
    for size in (20, 10**9):
        with pytest.raises(BadInput, match="must be below 1"):
            group(Approx(1, "1e-6"), size=size)
    with pytest.raises(BadInput, match="'size'"):
        group(Pure(1), size=0)


def holds_on_a_chain(delta_of_group: Callable[[Fraction], Fraction]) -> bool:
    """Three laws, each (ln 2, 1/20) from the next: is the first (ln 4, ...) from the last?"""
    first, middle, last = (
        {"in": Fraction(part), "out": 1 - Fraction(part)} for part in ("0.55", "0.25", "0.1")
    )
    assert hockey_stick_at(first, middle, ratio=2) == Fraction(1, 20)
    assert hockey_stick_at(middle, last, ratio=2) == Fraction(1, 20)
    return hockey_stick_at(first, last, ratio=4) <= delta_of_group(Fraction(1, 20))


def test_the_chain_attains_the_bound() -> None:
    log_two = fraction_of_float(0.693147180559946)  # rounded up

    def ours(delta: Fraction) -> Fraction:
        together = group(Approx(log_two, delta), size=2)
        assert isinstance(together, Approx)
        return together.delta

    assert holds_on_a_chain(ours)
    assert abs(ours(Fraction(1, 20)) - Fraction(3, 20)) < Fraction(1, 10**12)
    # Planted: k * delta, which forgets that the later deltas grow.
    assert not holds_on_a_chain(lambda delta: 2 * delta)
