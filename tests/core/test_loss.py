"""Losses: exact, never negative, and the same after any journey through JSON."""

from __future__ import annotations

import copy
import json
import math
import time
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ameles.core.exceptions import AmelesError, BadInput
from ameles.core.loss import (
    CURRENCIES,
    TOTAL_DIGITS,
    Approx,
    Concentrated,
    Loss,
    Pure,
    currency,
    loss_from_dict,
    loss_to_dict,
    shown,
)

from .transport import sent

amounts = st.fractions(min_value=0) | st.integers(0, 10**200).map(Fraction)
# Fractions below 1 with large denominators too, as sums of many spends have.
probabilities = st.builds(lambda a, b: Fraction(a, a + b), st.integers(0), st.integers(1))
losses: st.SearchStrategy[Loss] = (
    st.builds(Pure, amounts)
    | st.builds(Approx, amounts, probabilities)
    | st.builds(Concentrated, amounts)
)

ONE_OF_EACH: list[Loss] = [Pure("0.1"), Approx(1, "1e-6"), Concentrated("1/2")]


def test_three_tenths_add_up_exactly() -> None:
    spent = Pure(0.1).epsilon + Pure("0.1").epsilon + Pure(Fraction(1, 10)).epsilon
    assert spent == Fraction("0.1") * 3 == Fraction("0.3")
    assert Pure(spent) == Pure(0.3)


def test_three_tenths_in_floats_would_overspend() -> None:
    # The planted alternative: the sum that a float budget would compare with its cap.
    assert 0.1 + 0.1 + 0.1 > 0.3


def test_a_year_of_equal_shares_is_the_whole() -> None:
    assert Pure(sum([Pure("1/365").epsilon] * 365, Fraction(0))) == Pure(1)


@pytest.mark.parametrize("nothing", [Pure(0), Approx(0, 0), Concentrated(0), Pure("0"), Pure(0.0)])
def test_nothing_spent_is_a_loss(nothing: Loss) -> None:
    assert not any(vars(nothing).values())


@pytest.mark.parametrize("value", [-1, -0.1, "-1/3", Fraction(-1, 10**50), -(10**50)])
def test_a_negative_loss_is_refused_because_it_would_be_a_refund(value: Any) -> None:
    with pytest.raises(BadInput, match=r"^error\[input\]: The 'epsilon' parameter must be .*zero"):
        Pure(value)
    with pytest.raises(BadInput, match=r"'delta' parameter must be .*zero or more and below 1"):
        Approx(1, value)
    with pytest.raises(BadInput, match=r"'rho' parameter must be .*zero or more"):
        Concentrated(value)


@pytest.mark.parametrize("value", [1, 1.0, "1", 2, Fraction(3, 2), Fraction(10**50 + 1, 10**50)])
def test_a_delta_of_one_protects_nothing_and_is_refused(value: Any) -> None:
    with pytest.raises(BadInput, match="zero or more and below 1"):
        Approx(1, value)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, None, "abc", 1j, b"1", "1e999", "1/0"])
def test_what_is_not_a_number_is_refused_with_its_range(value: Any) -> None:
    with pytest.raises(BadInput) as refused:
        Pure(value)
    assert "The 'epsilon' parameter must be a number that is zero or more" in refused.value.what


def test_a_total_may_have_more_digits_than_anyone_types() -> None:
    total = sum((Fraction(1, 10**39 + i) for i in range(1, 40)), Fraction(0))
    assert total.denominator > 10**1000
    assert Pure(total).epsilon == total


def test_a_total_too_long_to_be_written_down_is_refused() -> None:
    with pytest.raises(BadInput, match=f"at most {TOTAL_DIGITS} digits"):
        Pure(Fraction(1, 10**TOTAL_DIGITS))
    longest = Pure(Fraction(10**TOTAL_DIGITS - 1))
    assert loss_from_dict(loss_to_dict(longest)) == longest


def test_an_unlimited_total_could_not_be_stored() -> None:
    # The planted alternative: what str would do to the numerator of a longer one.
    with pytest.raises(ValueError, match="limit"):
        str(Fraction(10 ** (2 * TOTAL_DIGITS)))


def test_currencies_differ_even_at_the_same_amount() -> None:
    assert len({Pure(1), Approx(1, 0), Concentrated(1)}) == 3


@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=currency)
def test_a_loss_is_frozen(loss: Loss) -> None:
    writable: Any = loss
    for name in vars(loss):
        with pytest.raises(FrozenInstanceError):
            setattr(writable, name, 0)


@pytest.mark.parametrize("loss", ONE_OF_EACH, ids=currency)
def test_a_loss_survives_copies_and_pipes(loss: Loss) -> None:
    assert loss == copy.copy(loss) == copy.deepcopy(loss) == sent(loss)
    assert hash(loss) == hash(sent(loss))


def test_replace_checks_again() -> None:
    with pytest.raises(BadInput, match="'epsilon'"):
        replace(Pure(1), epsilon=-1)


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (Pure(0.1), "epsilon 0.1"),
        (Pure("1/3"), "epsilon 1/3"),
        (Pure(Fraction(10**30, 7)), "epsilon about 1.42857e+29"),
        (Approx(1, "1e-6"), "epsilon 1, delta 1e-06"),
        (Concentrated(0.5), "rho 0.5"),
    ],
)
def test_a_loss_in_words(loss: Loss, text: str) -> None:
    assert str(loss) == text


@given(losses)
def test_the_words_for_a_loss_never_lie(loss: Loss) -> None:
    for name, amount in vars(loss).items():
        assert f"{name} {shown(amount)}" in str(loss)
        assert shown(amount).startswith("about ") or Fraction(shown(amount)) == amount


def test_every_currency_has_a_name_and_every_name_a_currency() -> None:
    assert {currency(loss): type(loss) for loss in ONE_OF_EACH} == CURRENCIES


@pytest.mark.parametrize("value", [None, 1, "pure", Pure, {"currency": "pure"}])
def test_what_is_no_loss_has_no_currency(value: Any) -> None:
    with pytest.raises(BadInput, match="'loss' parameter must be a Pure, Approx or Concentrated"):
        currency(value)


@given(losses)
def test_a_loss_comes_back_from_json(loss: Loss) -> None:
    text = json.dumps(loss_to_dict(loss))
    assert loss_from_dict(json.loads(text)) == loss


@given(losses, losses)
def test_different_losses_are_written_differently(one: Loss, other: Loss) -> None:
    assert (loss_to_dict(one) == loss_to_dict(other)) == (one == other)


def test_a_loss_is_written_as_strings_that_a_reader_cannot_round() -> None:
    assert loss_to_dict(Approx(0.1, "1e-6")) == {
        "currency": "approx",
        "epsilon": "1/10",
        "delta": "1/1000000",
    }


def test_a_person_may_write_decimals() -> None:
    assert loss_from_dict({"currency": "approx", "epsilon": "0.1", "delta": "1e-6"}) == Approx(
        0.1, "1e-6"
    )


UNREADABLE: list[Any] = [
    None,
    [],
    "pure",
    7,
    {},
    {"epsilon": "1"},
    {"currency": "pure"},
    {"currency": "money", "epsilon": "1"},
    {"currency": ["pure"], "epsilon": "1"},
    {"currency": None, "epsilon": "1"},
    {"currency": "pure", "epsilon": "1", "delta": "0"},
    {"currency": "approx", "epsilon": "1"},
    {"currency": "concentrated", "epsilon": "1"},
    {"currency": "pure", "self": "1"},
    {"currency": "pure", "epsilon": 0.1},
    {"currency": "pure", "epsilon": 1},
    {"currency": "pure", "epsilon": True},
    {"currency": "pure", "epsilon": None},
    {"currency": "pure", "epsilon": ["1"]},
    {"currency": "pure", "epsilon": ""},
    {"currency": "pure", "epsilon": "-1"},
    {"currency": "pure", "epsilon": "-1/2"},
    {"currency": "pure", "epsilon": "1/0"},
    {"currency": "pure", "epsilon": "nan"},
    {"currency": "pure", "epsilon": "1e999999999"},
    {"currency": "pure", "epsilon": "9" * (TOTAL_DIGITS + 1)},
    {"currency": "approx", "epsilon": "1", "delta": "1"},
    {"currency": "pure", 1: "1"},
]


@pytest.mark.parametrize("fields", UNREADABLE, ids=lambda fields: str(fields)[:50])
def test_what_is_no_loss_is_refused_at_once_and_not_repeated(fields: Any) -> None:
    begun = time.process_time()
    with pytest.raises(BadInput, match="not a privacy loss that Ameles can read") as refused:
        loss_from_dict(fields)
    # Fraction("1e999999999") would take minutes; a second is ample for the rest.
    assert time.process_time() - begun < 1
    assert "money" not in str(refused.value)
    assert refused.value.__suppress_context__


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["currency", "epsilon", "delta", "rho"]),
        json_values | st.sampled_from(["pure", "approx", "concentrated", "1", "1/3", "0"]),
    )
)
def test_any_fields_are_a_loss_or_a_refusal(fields: dict[str, Any]) -> None:
    try:
        loss = loss_from_dict(fields)
    except AmelesError:
        return
    assert loss_to_dict(loss).keys() == fields.keys()
