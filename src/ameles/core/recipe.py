"""Recipes: frozen dataclasses that print, compare, hash and go into the ledger as JSON."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, Self

from ameles.core import codec
from ameles.core.exceptions import AmelesError


@dataclass(frozen=True)
class Recipe:
    """What all recipes share; a subclass is a frozen dataclass of public parameters."""

    version: ClassVar[int] = 1

    def to_json(self) -> str:
        """This recipe as versioned JSON: what the ledger keeps."""
        parameters = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return codec.write("recipe", self.version, {"recipe": type(self).__name__, **parameters})

    @classmethod
    def from_dict(cls, parameters: dict[str, Any]) -> Self:
        """The recipe with these parameters; anything missing or unknown is refused."""
        try:
            return cls(**parameters)
        except (TypeError, AmelesError) as problem:
            raise codec.damaged("recipe") from problem

    @property
    def fingerprint(self) -> bytes:
        """32 bytes that tell this recipe from every other one."""
        return hashlib.sha256(self.to_json().encode()).digest()


def _plain(value: object) -> object:
    match value:
        case Fraction():
            return str(value)
        case Enum():
            return value.value
    return value
