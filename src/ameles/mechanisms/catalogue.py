"""The list of all mechanisms: every generic check runs on each, and JSON is read through it.

>>> recipe_from_json(SimpleTwoCounter(epsilon=0.5).to_json()) == SimpleTwoCounter(epsilon=0.5)
True
"""

from __future__ import annotations

from ameles.core import recipe
from ameles.core.recipe import Recipe
from ameles.mechanisms.counters.recipe import CounterRecipe
from ameles.mechanisms.counters.simple_one import SimpleOneCounter
from ameles.mechanisms.counters.simple_two import SimpleTwoCounter

MECHANISMS: tuple[type[CounterRecipe], ...] = (
    SimpleOneCounter,
    SimpleTwoCounter,
)


def recipe_from_json(text: str) -> Recipe:
    """The recipe that ``to_json`` wrote."""
    return recipe.recipe_from_json(text, {kind.__name__: kind for kind in MECHANISMS})
