"""What a guarantee costs under a cap for another relation, unit or currency."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import EVENT, USER, Neighbours, Unit, user_window
from ameles.core.loss import Approx, Concentrated, Loss, Pure
from ameles.ledger.cap_terms import CapTerms
from tests.ledger.populations import promise

STEP, ADD, REPLACE = Neighbours.STEP, Neighbours.ADD_REMOVE, Neighbours.REPLACE
PRESENT, SUBSTITUTED = Neighbours.USER_PRESENCE, Neighbours.USER_SUBSTITUTION

COSTS = [
    # (unit, relation) of the guarantee, of the cap, events per unit: the factor
    ((EVENT, ADD), (EVENT, ADD), None, 1),
    ((EVENT, STEP), (EVENT, ADD), None, 1),
    ((EVENT, ADD), (EVENT, REPLACE), None, 2),
    ((EVENT, STEP), (EVENT, REPLACE), None, 2),
    ((EVENT, REPLACE), (EVENT, REPLACE), None, 1),
    ((EVENT, ADD), (USER, PRESENT), 5, 5),
    ((EVENT, STEP), (USER, PRESENT), 5, 5),
    ((EVENT, ADD), (USER, SUBSTITUTED), 5, 10),
    ((EVENT, STEP), (USER, SUBSTITUTED), 5, 10),
    ((USER, STEP), (USER, PRESENT), None, 1),
    ((USER, STEP), (USER, PRESENT), 5, 1),
    ((USER, STEP), (USER, SUBSTITUTED), None, 2),
    ((USER, PRESENT), (USER, PRESENT), None, 1),
    ((USER, PRESENT), (USER, SUBSTITUTED), None, 2),
    ((USER, SUBSTITUTED), (USER, SUBSTITUTED), None, 1),
    ((user_window(30), STEP), (user_window(30), PRESENT), None, 1),
    ((EVENT, STEP), (user_window(30), PRESENT), 7, 7),
]


@pytest.mark.parametrize(("given", "stated", "events", "factor"), COSTS)
def test_group_privacy_pays_for_what_moves(
    given: tuple[Unit, Neighbours],
    stated: tuple[Unit, Neighbours],
    events: int | None,
    factor: int,
) -> None:
    assert cost(given, stated, events) == Pure(Fraction(factor, 10))


def cost(
    given: tuple[Unit, Neighbours], stated: tuple[Unit, Neighbours], events: int | None
) -> Loss:
    terms = CapTerms(unit=stated[0], neighbours=stated[1], contributions=events)
    return terms.price(promise(Pure("0.1"), unit=given[0], neighbours=given[1]), Pure(1))


def test_every_other_combination_is_refused() -> None:
    # a window of 7 steps stands for all that do not match; windows behave as users do
    accepted = {(given, stated) for given, stated, _, _ in COSTS}
    sides = list(product((EVENT, USER, user_window(7)), Neighbours))
    refused = 0
    for given, stated in product(sides, sides):
        as_user = tuple((USER, side[1]) if side[0].window else side for side in (given, stated))
        windows = given[0].window == stated[0].window
        if as_user in accepted and (windows or given[0] == EVENT):
            continue
        with pytest.raises(BadInput):
            cost(given, stated, 5)
        refused += 1
    assert refused > 150  # of 225


@pytest.mark.parametrize(
    ("loss", "cap", "cost"),
    [
        (Pure(1), Concentrated(1), Concentrated("0.5")),
        (Pure(1), Approx(2, "1e-6"), Approx(1, 0)),
        (Approx(1, 0), Pure(2), Pure(1)),
        (Concentrated("0.1"), Concentrated(1), Concentrated("0.1")),
    ],
)
def test_currencies(loss: Loss, cap: Loss, cost: Loss) -> None:
    terms = CapTerms(unit=EVENT, neighbours=ADD, contributions=None)
    assert terms.price(promise(loss), cap) == cost


@pytest.mark.parametrize(
    ("loss", "cap"),
    [
        (Approx(1, "1e-6"), Pure(2)),
        (Concentrated(1), Pure(2)),
        (Concentrated(1), Approx(2, "1e-6")),
        (Approx(1, "1e-6"), Concentrated(1)),
    ],
)
def test_what_promises_less_than_the_cap_has_no_place(loss: Loss, cap: Loss) -> None:
    terms = CapTerms(unit=EVENT, neighbours=ADD, contributions=None)
    with pytest.raises(BadInput):
        terms.price(promise(loss), cap)


def test_a_pure_loss_is_grouped_before_it_is_converted() -> None:
    # (2 epsilon)^2 / 2, not 2 (epsilon^2 / 2)
    terms = CapTerms(unit=EVENT, neighbours=REPLACE, contributions=None)
    assert terms.price(promise(Pure(1)), Concentrated(9)) == Concentrated(2)


@pytest.mark.parametrize(
    ("unit", "relation"), [(EVENT, PRESENT), (EVENT, STEP), (USER, ADD), (USER, STEP)]
)
def test_a_cap_has_a_relation_of_its_unit(unit: Unit, relation: Neighbours) -> None:
    with pytest.raises(BadInput, match="does not go with"):
        CapTerms(unit=unit, neighbours=relation, contributions=None)


@pytest.mark.parametrize("events", [0, -1, 2**40 + 1, True, 2.0])
def test_a_user_has_a_whole_number_of_events(events: Any) -> None:
    with pytest.raises(BadInput, match="contributions"):
        CapTerms(unit=USER, neighbours=PRESENT, contributions=events)
    assert CapTerms(unit=USER, neighbours=PRESENT, contributions=1).contributions == 1
    assert CapTerms(unit=USER, neighbours=PRESENT, contributions=2**40).contributions == 2**40


def test_events_alone_say_nothing_about_users_and_the_error_says_what_to_do() -> None:
    terms = CapTerms(unit=USER, neighbours=PRESENT, contributions=None)
    with pytest.raises(BadInput, match="contributions=20"):
        terms.price(promise(Pure(1)), Pure(1))


@pytest.mark.parametrize("loss", [Pure(0), Approx(0, 0), Concentrated(0)])
def test_a_promise_of_no_loss_is_refused(loss: Loss) -> None:
    terms = CapTerms(unit=EVENT, neighbours=ADD, contributions=None)
    with pytest.raises(BadInput, match="no loss at all"):
        terms.price(promise(loss), Concentrated(1))
