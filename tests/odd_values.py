"""What one person may have where a whole number is meant, and what nobody may notice."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

pd: Any = import_module("pandas")


class Hostile:
    """Every question about it is an error that names the person."""

    def _fail(self, *_: object) -> NoReturn:
        raise RuntimeError("person 8675309")

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError("person 8675309")


NAMES = """eq ne lt le gt ge hash bool float int index complex len iter getitem contains array add
radd sub rsub mul rmul neg str repr format round trunc floor"""
for _name in NAMES.split():
    setattr(Hostile, f"__{_name}__", Hostile._fail)

# What is no whole number: it counts nowhere.
ODD: tuple[Any, ...] = (
    None,
    pd.NA,
    pd.NaT,
    np.ma.masked,
    float("nan"),
    float("inf"),
    float("-inf"),
    np.float32("nan"),
    np.datetime64("NaT"),
    Fraction(1, 3),
    Decimal("NaN"),
    1 + 2j,
    np.complex128(1),
    b"1",
    "1",
    0.5,
    Hostile(),
    object(),
    [],
    [1],
    [[1], [2, 3]],
    {"a": 1},
    np.array(0.5),
    np.arange(7),
)
# Whole numbers that no 64 bits hold: they are taken, and moved into the range.
LARGE: tuple[int, ...] = (2**63, 2**64, -(2**63) - 1, 10**400, -(10**400), 10**5000)


def name_of(value: object) -> str:
    """Its type, for the names of tests."""
    return type(value).__name__
