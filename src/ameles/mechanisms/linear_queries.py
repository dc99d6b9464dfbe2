"""Linear queries over a finite universe: checks of queries, tables of queries and histograms.

A query gives each element of the universe a whole number from 0 to ``grid``; its answer is the sum
over all rows, so one row changes it by at most ``grid``.  A boolean query counts the rows that it
is true for.  Queries are public: their errors may name what is wrong.  A histogram is not.

>>> query([True, False, True], universe=3, grid=1)
array([ True, False,  True])
>>> table = queries([[1, 0, 2], [0, 1, 0]], count=2, universe=3, grid=2)
>>> answers(table, histogram([5, 6, 7], universe=3, rows=18))
array([19,  6])
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ameles.core.exceptions import BadInput
from ameles.noise.arrays import BoolArray, IntArray

FloatArray: TypeAlias = NDArray[np.float64]
Query: TypeAlias = BoolArray | IntArray

# A histogram and a query have one number for each element, and several arrays of that size exist.
LARGEST_UNIVERSE = 1 << 28
LARGEST_GRID = 1 << 20


def query(given: object, *, universe: int, grid: int) -> Query:
    """One query, as booleans or as whole numbers from 0 to ``grid``."""
    return _values(given, (universe,), grid)


def queries(given: object, *, count: int, universe: int, grid: int) -> IntArray:
    """A table of queries, one a row; a boolean counts as the whole ``grid``."""
    values = _values(given, (count, universe), grid)
    return values.astype(np.int64) * grid if values.dtype == np.bool_ else values.astype(np.int64)


def histogram(given: object, *, universe: int, rows: int) -> IntArray:
    """How many rows each element has; the error tells no value.

    Counts are moved into [0, rows], silently: a refusal would reveal something about the data.
    """
    counts = _array(given)
    if counts is None or counts.dtype.kind not in "iu" or counts.shape != (universe,):
        raise BadInput(
            f"A histogram must be {universe} whole numbers. Got {_kind(given)} instead.",
            why="it has one count for each element of the universe",
            tip="a list or an array of integers, such as numpy.bincount gives",
        )
    return np.asarray(np.clip(counts, 0, rows), dtype=np.int64)


def check_fits(universe: int, rows: int, grid: int) -> None:
    """Refuses public sizes with which an answer could leave 64 bits."""
    if universe * rows * grid >= 1 << 62:
        raise BadInput(
            "These parameters allow answers that do not fit into 64 bits.",
            why="an answer may reach the universe times the rows times the grid",
            tip="a coarser grid",
        )


def answers(table: IntArray, counts: IntArray) -> IntArray:
    """The exact answer of each query of a table."""
    return np.asarray(table @ counts, dtype=np.int64)


def pair(given: object, first: str, second: str) -> tuple[object, object]:
    """The two parts of an input; the error names what they should be."""
    if isinstance(given, tuple) and len(given) == 2:
        return given
    raise BadInput(
        f"The input must be a pair: {first}, and {second}. Got a {type(given).__name__} instead.",
        tip=f"({first.split()[-1]}, {second.split()[-1]})",
    )


def queries_and_answers(
    given: object, *, count: int, universe: int, rows: int, grid: int
) -> tuple[IntArray, IntArray]:
    """The input of a mechanism that answers many queries at once: the queries and their exact
    answers."""
    asked, table = pair(given, "the queries", "the exact histogram")
    checked = queries(asked, count=count, universe=universe, grid=grid)
    return checked, answers(checked, histogram(table, universe=universe, rows=rows))


def _values(given: object, shape: tuple[int, ...], grid: int) -> Query:
    values = _array(given)
    wanted = " x ".join(str(side) for side in shape)
    if values is None or values.dtype.kind not in "biu" or values.shape != shape:
        raise BadInput(
            f"A query must be {wanted} booleans or whole numbers. Got {_kind(given)} instead.",
            why="it has one value for each element of the universe",
        )
    if values.dtype.kind == "b":
        return values.astype(np.bool_)
    if values.size and not 0 <= int(values.min()) <= int(values.max()) <= grid:
        raise BadInput(
            f"The values of a query must be from 0 to {grid}.",
            why="one row may change its answer by at most that",
            tip="a larger 'grid' for finer values",
        )
    return values.astype(np.int64)


def _array(given: object) -> NDArray[np.generic] | None:
    """The input as an array; None if it is not one."""
    if not isinstance(given, np.ndarray | list | tuple):
        return None
    try:
        return np.asarray(given)
    except ValueError:  # lists of different lengths
        return None


def _kind(given: object) -> str:
    if isinstance(given, np.ndarray):
        return f"an array of {given.dtype} with shape {given.shape}"
    return f"a {type(given).__name__}"
