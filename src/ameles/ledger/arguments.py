"""Checks the arguments of a ledger before anything is bought; errors say what it accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ameles.core.exceptions import BadInput
from ameles.core.guarantee import Neighbours, Unit
from ameles.core.loss import Approx, Concentrated, Pure
from ameles.core.parameters import refuse
from ameles.core.recipe import Recipe
from ameles.mechanisms.mechanism import Mechanism


def check_loss(value: object, name: str) -> None:
    """Refuses what is not a loss: a bare number does not say which kind of loss it is."""
    if not isinstance(value, Pure | Approx | Concentrated):
        raise _wrong(
            name, "a loss", value, tip=f"{name}=Pure(1), Approx(1, '1e-6') or Concentrated(1)"
        )


def check_unit(value: object, name: str) -> None:
    """Refuses what is not a unit."""
    if not isinstance(value, Unit):
        raise _wrong(name, "a unit", value, tip=f"{name}=EVENT, USER or user_window(30)")


def check_neighbours(value: object) -> None:
    """Refuses what is not a neighbouring relation."""
    if not isinstance(value, Neighbours):
        tip = "neighbours=Neighbours.ADD_REMOVE for events, Neighbours.USER_PRESENCE for users"
        raise _wrong("neighbours", "a neighbouring relation", value, tip=tip)


def check_text(value: object, name: str) -> None:
    """Refuses what is not text."""
    if not isinstance(value, str):
        raise refuse(name, "text", value)


def check_purpose(on: object, why: object) -> None:
    """Refuses a purchase whose stream or reason is not text."""
    check_text(on, "on")
    check_text(why, "why")


def check_recipe(recipe: object) -> None:
    """Refuses what cannot be bought: only recipes with a guarantee can."""
    if isinstance(recipe, Mechanism):
        return
    if isinstance(recipe, Recipe):
        raise BadInput(
            f"{type(recipe).__name__} cannot be bought by itself.",
            why="it has no guarantee of its own: it is a part of other mechanisms",
            tip="a recipe with it inside, such as Afresh(algorithm=...)",
        )
    raise BadInput(
        f"A ledger sells recipes. Got {_named(recipe)} instead.",
        why="a recipe has all its parameters, and promises a loss for them",
        tip="a recipe such as counter(epsilon=1, horizon=365)",
    )


def check_recipes(recipes: Any) -> None:
    """Refuses what is not a mapping of names to recipes."""
    if not isinstance(recipes, Mapping):
        raise BadInput(
            f"A plan is bought as recipes by name. Got {_named(recipes)} instead.",
            tip='launch({"fever": recipe}, ...)',
        )
    for name, recipe in recipes.items():
        check_text(name, "name")
        check_recipe(recipe)


def check_snapshot(snapshot: object) -> None:
    """Refuses what is not bytes."""
    if not isinstance(snapshot, bytes | bytearray | memoryview):
        raise BadInput(
            f"A run is resumed from the bytes of its snapshot. Got {_named(snapshot)} instead.",
            tip="ledger.resume(recipe, run.snapshot())",
        )


def _wrong(name: str, must: str, value: object, *, tip: str) -> BadInput:
    refusal = refuse(name, must, value)
    return BadInput(refusal.what, why=refusal.why, tip=tip)


def _named(value: object) -> str:
    """The type of a thing; its value could be anything, so it is not shown."""
    kind = value if isinstance(value, type) else type(value)
    return f"the class {kind.__name__}" if isinstance(value, type) else f"a {kind.__name__}"
