"""The neighbouring relation as a parameter of a recipe: there is no default for it.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, kw_only=True)
... class Asked:
...     neighbours: Relation = Relation()
>>> Asked(neighbours="add-remove").neighbours
<Neighbours.ADD_REMOVE: 'add-remove'>
"""

from __future__ import annotations

from ameles.core.guarantee import Neighbours
from ameles.core.parameters import Parameter, refuse


class Relation(Parameter[Neighbours | str, Neighbours]):
    """Which two inputs are neighbours, as the member or, as in JSON, its name."""

    def check(self, value: Neighbours | str) -> Neighbours:
        try:
            return Neighbours(value)
        except ValueError:
            names = ", ".join(kind.value for kind in Neighbours)
            raise refuse(self.name, f"one of {names}", value) from None
