"""Linear algebra in whole numbers: products, ranks, solutions and witnesses without rounding.

Solvers work with floats; this module checks what they propose.

>>> solve_or_refute(whole_array([[1, 1], [2, 2]]), whole_array([3, 6]))
(True, [Fraction(3, 1), Fraction(0, 1)])
>>> solve_or_refute(whole_array([[1, 1], [2, 2]]), whole_array([3, 7]))
(False, [Fraction(-2, 1), Fraction(1, 1)])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Whole numbers of any size: int64 where they fit, Python's own where they do not.
Whole: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]

_PRIME = (1 << 31) - 1  # products of two residues fit into 64 bits
_SMALL = 1 << 31


def whole_array(rows: Any) -> Whole:
    """The whole numbers in these rows as an array, compact where they are small."""
    array: Whole = np.array(rows, dtype=object)
    return array.astype(np.int64) if largest(array) < _SMALL else array


def largest(array: Whole) -> int:
    """The largest absolute value in an array."""
    return int(np.abs(array).max()) if array.size else 0


def clear_denominators(rows: Sequence[Sequence[Fraction | int]]) -> list[list[int]]:
    """Every row times the least common multiple of its denominators."""
    cleared = []
    for row in rows:
        if all(type(value) is int for value in row):
            cleared.append([int(value) for value in row])
            continue
        factor = math.lcm(*(value.denominator for value in row))
        cleared.append([int(value * factor) for value in row])
    return cleared


def product(left: Whole, right: Whole) -> Whole:
    """The matrix product, exactly, whatever the size of the numbers."""
    if largest(left) * largest(right) * max(1, left.shape[-1]) < 1 << 62:
        left, right = left.astype(np.int64), right.astype(np.int64)
    else:
        left, right = left.astype(object), right.astype(object)
    result: Whole = left @ right
    return result


def independent_columns(matrix: Whole) -> bool:
    """Whether it is proved that no column is a combination of others.

    The rank modulo a prime is at most the true rank, so full rank is a proof.  A lower rank proves
    nothing: the prime may divide something.
    """
    rows, columns = matrix.shape
    if columns > rows:
        return False
    rest = np.mod(matrix, _PRIME).astype(np.int64)
    for column in range(columns):
        places = np.flatnonzero(rest[column:, column])
        if not len(places):
            return False
        pivot = column + int(places[0])
        rest[[column, pivot]] = rest[[pivot, column]]
        inverse = pow(int(rest[column, column]), -1, _PRIME)
        below = column + places[rest[column + places, column] != 0]
        below = below[below > column]
        factors = rest[below, column] * inverse % _PRIME
        rest[below] = (rest[below] - factors[:, None] * rest[column] % _PRIME) % _PRIME
    return True


def solve_or_refute(matrix: Whole, target: Whole) -> tuple[bool, list[Fraction]]:
    """True and some rational e with matrix @ e = target; or False and a witness.

    The witness is a y with y @ matrix = 0 and y @ target not 0: there is no such e.
    """
    rows, columns = matrix.shape
    # Sparse rows of [matrix | target | identity]; the identity records what was combined.
    system = []
    for place, (row, value) in enumerate(zip(matrix.tolist(), target.tolist(), strict=True)):
        numbers = {column: Fraction(entry) for column, entry in enumerate(row) if entry}
        if value:
            numbers[columns] = Fraction(value)
        numbers[columns + 1 + place] = Fraction(1)
        system.append(numbers)
    pivots: list[tuple[int, dict[int, Fraction]]] = []
    for numbers in system:
        for column, pivot in pivots:
            if column in numbers:
                _subtract(numbers, pivot, numbers[column])
        first = min(numbers)
        if first == columns:
            return False, [numbers.get(columns + 1 + i, Fraction(0)) for i in range(rows)]
        if first < columns:
            lead = numbers[first]
            scaled = {column: entry / lead for column, entry in numbers.items()}
            for _, pivot in pivots:
                if first in pivot:
                    _subtract(pivot, scaled, pivot[first])
            pivots.append((first, scaled))
    solution = [Fraction(0)] * columns
    for column, pivot in pivots:
        solution[column] = pivot.get(columns, Fraction(0))
    return True, solution


def _subtract(numbers: dict[int, Fraction], pivot: dict[int, Fraction], factor: Fraction) -> None:
    """Takes ``factor`` times the pivot row from a sparse row, in place."""
    for column, entry in pivot.items():
        left = numbers.get(column, Fraction(0)) - factor * entry
        if left:
            numbers[column] = left
        else:
            numbers.pop(column, None)


def reduced_rows(
    rows: Sequence[Sequence[int | Fraction]], draws: int
) -> tuple[Whole, Whole, tuple[int, ...]]:
    """The same information in fewer and sparser rows: no zeros, no repetitions, differences.

    A release and the next one differ little, so their difference is almost empty, which makes
    solvers faster.  Draws that are never seen are left out.
    """
    cleared = list(dict.fromkeys(tuple(row) for row in clear_denominators(rows) if any(row)))
    sparse = [
        [a - b for a, b in zip(row, before, strict=True)] if place else list(row)
        for place, (row, before) in enumerate(zip(cleared, [(), *cleared[:-1]], strict=True))
    ]
    width = len(rows[0]) if rows else draws
    matrix = whole_array(sparse).reshape(len(sparse), width)
    seen = tuple(int(i) for i in np.flatnonzero(matrix[:, :draws].any(axis=0)))
    return matrix[:, list(seen)], matrix[:, draws:], seen
