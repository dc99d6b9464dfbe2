"""What a ledger sells: a recipe that promises, and nothing that only looks like one."""

from __future__ import annotations

from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.ledger.arguments import check_recipe
from ameles.mechanisms.continual.estimators.distinct import ExactDistinct
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter

COUNTER = SimpleTwoCounter(epsilon=1)


class Like:
    """Has all that a recipe has, and is none: nobody checks what its runs do."""

    guarantee = COUNTER.guarantee
    to_json = COUNTER.to_json
    start = COUNTER.start
    resume = COUNTER.resume


def test_a_mechanism_can_be_bought() -> None:
    check_recipe(COUNTER)


@pytest.mark.parametrize("given", [Like(), SimpleTwoCounter, 3, None])
def test_what_is_no_recipe_cannot_be_bought(given: Any) -> None:
    with pytest.raises(BadInput, match="A ledger sells recipes"):
        check_recipe(given)


def test_a_part_of_mechanisms_cannot_be_bought_by_itself() -> None:
    with pytest.raises(BadInput, match="ExactDistinct cannot be bought by itself"):
        check_recipe(ExactDistinct(users=9))
