"""Arrays of integers and of bytes in Postgres's binary format, encoded by numpy.

Thousands of keys are looked up in one statement that takes them as arrays.  psycopg would encode
them one by one, which takes the client ten times as long (``./run bench postgres --arrays``).

In an array, each value is four bytes of length and then the value, highest byte first.
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
    """Pads all values to the longest; one mask then removes the padding."""
    lengths = np.array([len(value) for value in values], dtype=">i4")
    width = int(lengths.max())
    laid = np.zeros((len(values), _LENGTH + width), dtype=np.uint8)
    laid[:, :_LENGTH] = lengths.view(np.uint8).reshape(-1, _LENGTH)
    if width:
        laid[:, _LENGTH:] = np.array(values, dtype=f"S{width}").view(np.uint8).reshape(-1, width)
    kept: NDArray[np.uint8] = laid[np.arange(_LENGTH + width) < _LENGTH + lengths[:, None]]
    return kept.tobytes()
