"""Many rows as columns: numpy arrays, lists, or one value for all rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Many: TypeAlias = NDArray[Any] | Sequence[int] | Sequence[str] | Sequence[bytes]
Column: TypeAlias = int | str | Many
Columns: TypeAlias = Mapping[str, Column]

_SAME = (int, str)  # a column of one of these has the same value in all rows


def height(columns: Columns) -> int:
    """How many rows there are.

    >>> height({"stream": 1, "step": np.arange(3)})
    3
    """
    (rows,) = {len(column) for column in columns.values() if not isinstance(column, _SAME)}
    return rows


def is_real(column: Column) -> bool:
    """Whether it has real numbers."""
    return isinstance(column, np.ndarray) and column.dtype.kind == "f"


def block(columns: Columns, first: int, end: int) -> dict[str, Column]:
    """The rows from ``first`` up to, but not including, ``end``."""
    return {
        name: column if isinstance(column, _SAME) else column[first:end]
        for name, column in columns.items()
    }


def rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    """The rows as tuples of Python's numbers; None for a number that is not finite.

    >>> list(rows({"stream": 1, "value": np.array([0.5, np.nan]), "label": ["a", "b"]}))
    [(1, 0.5, 'a'), (1, None, 'b')]
    """
    count = height(columns)
    return zip(
        *(
            repeat(column, count) if isinstance(column, _SAME) else _cells(column)
            for column in columns.values()
        ),
        strict=True,
    )


def _cells(column: Many) -> Sequence[Any]:
    if not isinstance(column, np.ndarray):
        return column
    if column.dtype.kind == "f":
        finite = np.isfinite(column)
        if not finite.all():
            mixed = column.astype(object)
            mixed[~finite] = None
            column = mixed
    cells: list[Any] = column.tolist()
    return cells
