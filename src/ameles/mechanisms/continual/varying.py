"""What varies without end is not made continual: a recipe is searched for tables of residues.

A table counts modulo a number, so what it tells comes and goes for ever, and Thm 5.3 forbids to
publish it at every step at user level (catalogue 18, 27).  An estimator that holds such a table
among its parameters, however deep, tells of residues too.

>>> from ameles.mechanisms.pan_private.modular import ModularIncidence
>>> table = ModularIncidence(users=9, modulus=2, neighbours="user-presence", epsilon_state=1,
...                          epsilon_output=1)
>>> [type(part).__name__ for part in parts(table)]
['ModularIncidence']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from ameles.core.parameters import Exact, exact
from ameles.core.recipe import Recipe
from ameles.mechanisms.continual.limits import refuse_continual_modular
from ameles.mechanisms.pan_private.residue_table import ResidueRecipe


def parts(value: object) -> Iterator[Recipe]:
    """The recipe and all recipes among its parameters; of what is no recipe, none."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif isinstance(value, Recipe):
        yield value
        for field in fields(value):
            yield from parts(getattr(value, field.name))


def check_varying(algorithm: object, *, steps: int, epsilon: Exact) -> None:
    """Refuses to publish residues at every step; ``epsilon`` is that of publishing."""
    for table in parts(algorithm):
        if isinstance(table, ResidueRecipe):
            total = table.seizure_loss + exact(epsilon, "epsilon")
            refuse_continual_modular(users=table.users, steps=steps, epsilon=total)
