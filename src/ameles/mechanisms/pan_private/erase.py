"""Overwriting: what is deleted in Python stays in memory, what is overwritten does not.

Runs whose state may be seized keep it in arrays that are changed in place, and wipe what they
computed on the way.
"""

from __future__ import annotations

from ameles.noise.arrays import IntArray


def wipe(*arrays: IntArray) -> None:
    """Fills arrays with zeros, so that nothing of them is found in memory that is free again."""
    for array in arrays:
        array.fill(0)
