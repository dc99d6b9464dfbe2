"""Records added up by key: what many users did to each key in a step."""

from __future__ import annotations

import numpy as np

from ameles.noise.arrays import IntArray

DENSE = 8  # with one record for so many keys, a table of all keys is quicker than sorting


def sums_by_key(
    number: IntArray, weight: IntArray, cell: IntArray, amount: IntArray, *, cells: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Each key once, in rising order, with the sum of its weights and of its amounts by cell.

    >>> two = np.array([1, 1])
    >>> [part.tolist() for part in sums_by_key(np.array([9, 9]), two, two - 1, two, cells=2)]
    [[9], [2], [[2, 0]]]
    """
    highest = int(number.max()) + 1 if number.size else 0
    if highest <= DENSE * number.size:
        present = np.zeros(highest, dtype=bool)
        present[number] = True
        keys = np.flatnonzero(present)
        table = np.empty(highest, dtype=np.int64)
        table[keys] = np.arange(keys.size)
        at = table[number]
    else:
        keys, at = np.unique(number, return_inverse=True)
    selected = np.zeros(keys.size, dtype=np.int64)
    amounts = np.zeros((keys.size, cells), dtype=np.int64)
    np.add.at(selected, at, weight)
    np.add.at(amounts.reshape(-1), at * cells + cell, amount)
    return keys, selected, amounts
