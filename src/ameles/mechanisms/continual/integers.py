"""Inputs that must be whole numbers: nothing private may meet a float."""

from __future__ import annotations

import operator
from typing import SupportsIndex

import numpy as np

from ameles.core.exceptions import BadInput


def integer(x: object, name: str) -> int:
    """The integer that was given; the error tells its type, never its value.

    >>> integer(np.int64(3), "query")
    3
    """
    if isinstance(x, SupportsIndex) and not isinstance(x, bool | np.bool_):
        try:
            return operator.index(x)
        except TypeError:
            pass  # an array, which has the method and not the meaning
    raise BadInput(
        f"A {name} must be a whole number. Got a {type(x).__name__} instead.",
        why="nothing private may meet a float: its rounding can leak",
        tip="integers, or real values on a grid of your choice",
    )
