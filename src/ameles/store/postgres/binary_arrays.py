"""Arrays of integers and of bytes in Postgres's binary format, laid out by numpy at once.

Thousands of keys are looked up in one statement that takes them as arrays.  psycopg would write
them value by value, which costs the client ten times as much (``./run bench postgres --arrays``).

In an array a value is four bytes of length and then the value, highest byte first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ameles.store.columns import Many

_LENGTH = 4


class BigInts(bytes):
    """An array of bigint."""

    kind, array_kind = 20, 1016  # the numbers of these types in every Postgres


class Blobs(bytes):
    """An array of bytea."""

    kind, array_kind = 17, 1001


def array(column: Many) -> BigInts | Blobs:
    """A column of integers or of bytes, at least one, as an array.

    >>> array([258])[20:].hex()
    '000000080000000000000102'
    """
    if isinstance(column[0], bytes):
        values = [value for value in column if isinstance(value, bytes)]
        return Blobs(_head(Blobs.kind, len(column)) + _blobs(values))
    return BigInts(_head(BigInts.kind, len(column)) + _integers(np.asarray(column, dtype=np.int64)))


def _head(kind: int, count: int) -> bytes:
    return np.array([1, 0, kind, count, 1], dtype=">i4").tobytes()


def _integers(column: NDArray[np.int64]) -> bytes:
    laid = np.zeros((len(column), _LENGTH + 8), dtype=np.uint8)
    laid[:, _LENGTH - 1] = 8
    laid[:, _LENGTH:] = column.astype(">i8").view(np.uint8).reshape(-1, 8)
    return laid.tobytes()


def _blobs(values: list[bytes]) -> bytes:
    """Each as wide as the widest; the rest of the shorter ones is left out by one mask."""
    lengths = np.array([len(value) for value in values], dtype=">i4")
    width = int(lengths.max())
    laid = np.zeros((len(values), _LENGTH + width), dtype=np.uint8)
    laid[:, :_LENGTH] = lengths.view(np.uint8).reshape(-1, _LENGTH)
    if width:
        laid[:, _LENGTH:] = np.array(values, dtype=f"S{width}").view(np.uint8).reshape(-1, width)
    kept: NDArray[np.uint8] = laid[np.arange(_LENGTH + width) < _LENGTH + lengths[:, None]]
    return kept.tobytes()
