"""Overwriting: what is deleted in Python stays in memory, what is overwritten does not.

Runs whose state may be seized keep it in arrays that are changed in place, and wipe what they
computed on the way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ameles.noise.arrays import IntArray


def wipe(*arrays: NDArray[Any]) -> None:
    """Fills arrays with zeros, so that no trace of them stays in freed memory."""
    for array in arrays:
        array.fill(0)


def only(drawn: IntArray) -> int:
    """The one number of a draw, which is wiped.

    >>> import numpy as np
    >>> drawn = np.array([17])
    >>> only(drawn), drawn
    (17, array([0]))
    """
    (number,) = drawn.tolist()
    drawn.fill(0)
    return int(number)


def moved(into: NDArray[Any], drawn: NDArray[Any]) -> None:
    """Copies a draw to its place, and wipes the draw."""
    into[...] = drawn
    drawn.fill(0)


def erase(run: object) -> None:
    """Overwrites all arrays of a run that is not used any more, and those of the runs inside it."""
    for held in vars(run).values():
        for each in held if isinstance(held, tuple | list) else (held,):
            if isinstance(each, np.ndarray):
                each.fill(0)
            elif hasattr(each, "snapshot"):
                erase(each)
