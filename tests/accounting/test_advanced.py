from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.accounting.advanced import advanced, even_share
from ameles.accounting.optimal import optimal_delta
from ameles.core.exceptions import BadInput
from ameles.core.loss import Approx, Pure

from .oracle import decimal, fraction_of_float, many_digits, outward

E_TO_MINUS_32 = fraction_of_float(math.exp(-32))
epsilons = st.fractions(min_value=Fraction(1, 10**6), max_value=3, max_denominator=10**6)
slacks = st.integers(1, 30).map(lambda places: Fraction(1, 10**places))


def textbook(epsilon: Fraction, count: int, slack: Fraction) -> tuple[Decimal, Decimal]:
    """Both forms at 80 digits: as printed (corrected), and with tanh."""
    with many_digits():
        e = decimal(epsilon)
        deviation = e * (-2 * count * decimal(slack).ln()).sqrt()
        drift = count * e * (e.exp() - 1)
        return deviation + drift, deviation + drift / (e.exp() + 1)


@given(epsilons, st.integers(1, 10**6), slacks)
def test_both_forms_are_outward(epsilon: Fraction, count: int, slack: Fraction) -> None:
    printed, sharp = textbook(epsilon, count, slack)
    total = advanced(Pure(epsilon), count=count, slack=slack, sharp=False)
    assert outward(total.epsilon, printed, "up")
    total = advanced(Pure(epsilon), count=count, slack=slack)
    assert outward(total.epsilon, sharp, "up")
    assert total.delta == slack


@given(epsilons, st.integers(1, 200), slacks)
def test_monotone_in_every_parameter(epsilon: Fraction, count: int, slack: Fraction) -> None:
    base = advanced(Pure(epsilon), count=count, slack=slack).epsilon
    assert base <= advanced(Pure(2 * epsilon), count=count, slack=slack).epsilon
    assert base <= advanced(Pure(epsilon), count=count + 1, slack=slack).epsilon
    assert base <= advanced(Pure(epsilon), count=count, slack=slack / 2).epsilon


def test_deltas_of_their_own_add_up() -> None:
    assert advanced(Approx(1, "1e-9"), count=100, slack="1e-6").delta == Fraction("1.1e-6")
    with pytest.raises(BadInput, match="below 1"):
        advanced(Approx(1, "0.1"), count=10, slack="1e-6")


@pytest.mark.parametrize("slack", [0, -1, 1])
def test_catalogue_51_slack_must_be_above_zero(slack: int) -> None:
    with pytest.raises(BadInput, match="'slack'"):
        advanced(Pure(1), count=10, slack=slack)


def test_catalogue_51_known_answers() -> None:
    printed = advanced(Pure(1), count=100, slack="1e-6", sharp=False)
    sharp = advanced(Pure(1), count=100, slack="1e-6")
    assert round(float(printed.epsilon), 1) == 224.4
    assert round(float(sharp.epsilon), 1) == 98.8


@pytest.mark.parametrize(
    ("epsilon", "count", "printed", "exact_delta"),
    [
        ("1", 100, "52.57", "0.207"),
        ("1", 1000, "166.2", "1.000"),
        ("0.5", 1000, None, "0.993"),
        ("0.1", 10_000, None, "0.360"),
    ],
)
def test_catalogue_51_erratum_exp_of_slack_is_false(
    epsilon: str, count: int, printed: str | None, exact_delta: str
) -> None:
    slack = 1e-6
    loss = float(epsilon)
    claim = loss * math.sqrt(2 * count * math.log(1 / slack)) + count * loss * math.expm1(slack)
    if printed is not None:
        assert float(printed) == pytest.approx(claim, rel=5e-4)
    truth = optimal_delta(each=epsilon, count=count, epsilon=fraction_of_float(claim))
    assert f"{float(truth):.3f}" == exact_delta  # where 0.000001 was claimed
    right = advanced(Pure(epsilon), count=count, slack="1e-6").epsilon
    assert optimal_delta(each=epsilon, count=count, epsilon=right) <= Fraction(1, 10**6)


def test_catalogue_51_erratum_one_in_801() -> None:
    def composed(denominator: str) -> float:
        each = Pure(1 / Fraction(denominator))
        return float(advanced(each, count=10_000, slack=E_TO_MINUS_32, sharp=False).epsilon)

    assert round(composed("801"), 5) == 1.01435
    assert composed("812.4") <= 1 < composed("812.3")


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=1, max_denominator=100),
    st.integers(1, 1000),
    st.integers(2, 12).map(lambda places: Fraction(1, 10**places)),
)
def test_the_corollary_composes_to_its_target(
    epsilon: Fraction, count: int, delta: Fraction
) -> None:
    share = even_share(epsilon=epsilon, delta=delta, count=count)
    with many_digits():
        truth = decimal(epsilon) / (-8 * count * decimal(delta).ln()).sqrt()
    assert outward(share.epsilon, truth, "down")
    assert advanced(share, count=count, slack=delta, sharp=False).epsilon <= epsilon


def test_catalogue_51_the_corollary_checks_its_side_condition() -> None:
    with pytest.raises(BadInput, match=r"compose to 6\.78\d+, not to 5") as refusal:
        even_share(epsilon=5, delta="0.3", count=3)
    assert "side condition" in refusal.value.why
    # Planted: without the check, the share's own composition shows the overrun.
    unchecked = Pure(fraction_of_float(5 / math.sqrt(8 * 3 * math.log(1 / 0.3))))
    assert advanced(unchecked, count=3, slack="0.3", sharp=False).epsilon > 5
