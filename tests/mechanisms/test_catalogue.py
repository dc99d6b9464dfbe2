"""Reading recipes back by name."""

from __future__ import annotations

import pytest

from ameles.core.exceptions import StoreRefused
from ameles.mechanisms.catalogue import recipe_from_json
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter


def test_an_old_recipe_stays_readable() -> None:
    # written by version 1; must never change
    text = (
        '{"ameles":"recipe","version":1,"recipe":"SimpleTwoCounter","unit":"event","width":null,'
        '"contributions":1,"bound":1,"epsilon":"1/2","horizon":null}'
    )
    assert recipe_from_json(text) == SimpleTwoCounter(epsilon=0.5)
    assert SimpleTwoCounter(epsilon=0.5).to_json() == text


@pytest.mark.parametrize("text", ["", "{}", '{"ameles":"recipe","version":1,"recipe":"Nothing"}'])
def test_what_is_no_recipe_is_refused(text: str) -> None:
    with pytest.raises(StoreRefused):
        recipe_from_json(text)
