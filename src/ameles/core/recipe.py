"""Recipes: frozen dataclasses that print, compare, hash and go into the ledger as JSON.

>>> from ameles.core.parameters import Epsilon, Horizon
>>> @dataclass(frozen=True, kw_only=True)
... class Tally(Recipe):
...     epsilon: Epsilon = Epsilon()
...     horizon: Horizon = Horizon()
>>> Tally(epsilon=0.1, horizon=8)
Tally(epsilon=Fraction(1, 10), horizon=8)
>>> Tally(epsilon=0.1, horizon=8).to_json()
'{"ameles":"recipe","version":1,"recipe":"Tally","epsilon":"1/10","horizon":8}'
>>> recipe_from_json(_, {"Tally": Tally})
Tally(epsilon=Fraction(1, 10), horizon=8)
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from ameles.core import codec
from ameles.core.exceptions import AmelesError, BadInput, StoreRefused
from ameles.core.parameters import refuse

# What a constructor, or the checks of a class, may raise for unusable parameters.
_UNFIT = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError)


@dataclass(frozen=True)
class Recipe:
    """What all recipes share; a subclass is a frozen dataclass of public parameters.

    A parameter may be a number, a string, an enum's member, None, another recipe, or a
    tuple of these.  ``from_dict`` gives them back as JSON has them: fields declared as a
    ``Parameter`` turn them into what they mean.

    A class whose noise has come to have another law has a parameter ``law``.  It is the version of
    the JSON: a recipe that was written before keeps its law, its text and its fingerprint.
    """

    version: ClassVar[int] = 1

    def to_json(self) -> str:
        """This recipe as versioned JSON: what the ledger keeps."""
        document = self.to_dict()
        return codec.write("recipe", document.pop("version"), document)

    def to_dict(self) -> dict[str, Any]:
        """The name and version of the class and its parameters, as plain data."""
        parameters = {
            field.name: _plain(getattr(self, field.name), field.name)
            for field in fields(self)
            if field.init
        }
        if taken := {"recipe", *codec.RESERVED} & parameters.keys():
            raise BadInput(f"A recipe cannot have a parameter called {', '.join(sorted(taken))}.")
        version = parameters.pop("law", self.version)
        return {"recipe": type(self).__name__, "version": version, **parameters}

    @classmethod
    def from_dict(cls, parameters: dict[str, Any]) -> Self:
        """The recipe with these parameters; anything missing or unknown is refused."""
        try:
            return cls(**parameters)
        except (AmelesError, *_UNFIT) as problem:
            raise codec.damaged("recipe") from problem

    @cached_property
    def fingerprint(self) -> bytes:
        """32 bytes that identify this recipe."""
        return hashlib.sha256(self.to_json().encode()).digest()


def recipe_from_json(text: str, known: Mapping[str, type[Recipe]]) -> Recipe:
    """The recipe that ``to_json`` wrote, of one of the ``known`` classes, by name."""
    try:
        return recipe_from_dict(codec.parse("recipe", text), known)
    except RecursionError:
        raise codec.damaged("recipe") from None


def recipe_from_dict(document: Mapping[str, Any], known: Mapping[str, type[Recipe]]) -> Recipe:
    """The recipe that ``to_dict`` gave, with the recipes inside it."""
    parameters = dict(document)
    name, version = parameters.pop("recipe", None), parameters.pop("version", None)
    if not isinstance(name, str):
        raise codec.damaged("recipe")
    if name not in known:
        raise StoreRefused(
            "This recipe is for a mechanism that this program does not have.",
            why="a newer program wrote it, or one with mechanisms of its own",
            tip="update ameles",
        )
    codec.accept("recipe", known[name].version, version)
    if "law" in parameters:
        raise codec.damaged("recipe")
    meant = {parameter: _meant(value, known) for parameter, value in parameters.items()}
    if any(field.name == "law" for field in fields(known[name])):
        meant["law"] = version
    return known[name].from_dict(meant)


def _plain(value: object, name: str) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return float(value)
        case Fraction():
            return str(value)
        case Enum():
            return _plain(value.value, name)
        case Recipe():
            return value.to_dict()
        case tuple():
            return [_plain(item, name) for item in value]
    raise refuse(
        name, "a finite number, a string, an enum, a recipe, None, or a tuple of these", value
    )


def _meant(value: object, known: Mapping[str, type[Recipe]]) -> object:
    match value:
        case dict():
            return recipe_from_dict(value, known)
        case list():
            return tuple(_meant(item, known) for item in value)
    return value
