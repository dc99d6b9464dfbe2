"""A recipe in the type that a measure works with: the engine hands it any recipe of a plan."""

from __future__ import annotations

from typing import TypeVar

from ameles.core.exceptions import BadInput
from ameles.mechanisms.continual.estimators.noisy_table import NoisyTable
from ameles.mechanisms.counters.recipe import CounterRecipe

T = TypeVar("T")


def expected(value: object, kind: type[T]) -> T:
    """The value, known to be of this type; any other is refused.

    >>> expected(3, int) + 1
    4
    """
    if not isinstance(value, kind):
        raise _other(value, kind)
    return value


def counter_of(recipe: object) -> CounterRecipe:
    """The recipe, known to be a counter; any other is refused."""
    if not isinstance(recipe, CounterRecipe):
        raise _other(recipe, CounterRecipe)
    return recipe


def noisy_table(value: object) -> NoisyTable:
    """The estimator, known to be a table of noisy bits; any other is refused."""
    if not isinstance(value, NoisyTable):
        raise _other(value, NoisyTable)
    return value


def _other(value: object, kind: type[object]) -> BadInput:
    return BadInput(
        f"This release needs a {kind.__name__}. Got a {type(value).__name__} instead.",
        why="a measure reads what the mechanism that it chose has released",
        tip="the recipe of this release, as the plan has it",
    )
