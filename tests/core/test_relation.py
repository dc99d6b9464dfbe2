"""The neighbouring relation as a parameter: never implicit, and never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours, Relation
from ameles.core.recipe import Recipe, recipe_from_json


@dataclass(frozen=True, kw_only=True)
class Asks(Recipe):
    neighbours: Relation = Relation()


@pytest.mark.parametrize("kind", Neighbours)
def test_the_member_and_its_name_are_the_same_and_survive_json(kind: Neighbours) -> None:
    recipe = Asks(neighbours=kind)
    assert recipe.neighbours is kind
    assert Asks(neighbours=kind.value) == recipe
    assert recipe_from_json(recipe.to_json(), {"Asks": Asks}) == recipe


def test_there_is_no_default() -> None:
    ask: Any = Asks
    with pytest.raises(TypeError, match="neighbours"):
        ask()


@pytest.mark.parametrize("bad", ["ADD_REMOVE", "add_remove", "", 0, None, ("replace",)])
def test_others_are_refused_with_all_that_there_are(bad: Any) -> None:
    with pytest.raises(BadInput, match="'neighbours' parameter must be one of") as caught:
        Asks(neighbours=bad)
    assert all(kind.value in caught.value.what for kind in Neighbours)
