"""Columns as Postgres takes them in quickly: its binary COPY format, and its binary arrays.

In both, a cell is four bytes of length and then the value, highest byte first.  All cells of a
column are laid out by numpy at once, each as wide as the widest; what is not needed (the rest of
a shorter text, the value of a null) is then left out by one mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ameles.store.columns import Column, Columns, Many, height

Bytes = NDArray[np.uint8]
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_NULL = 0xFF  # four of them are the length of what is not there


@dataclass(frozen=True, slots=True)
class Cells:
    """A column laid out: the bytes of each row, and which of them count."""

    laid: Bytes
    kept: NDArray[np.bool_] | None = None


def copied(columns: Columns) -> bytes:
    """The rows as a whole binary COPY.

    >>> copied({"a": [1]})[19:].hex()
    '0001000000080000000000000001ffff'
    """
    count = height(columns)
    fields = np.frombuffer(len(columns).to_bytes(2, "big"), dtype=np.uint8)
    parts = [Cells(np.tile(fields, (count, 1))), *(_cells(c, count) for c in columns.values())]
    return _SIGNATURE + _joined(parts) + _END


class BigInts(bytes):
    """An array of bigint."""

    kind, array_kind = 20, 1016  # the numbers of these types in every Postgres


class Blobs(bytes):
    """An array of bytea."""

    kind, array_kind = 17, 1001


def array(column: Many) -> BigInts | Blobs:
    """A column of integers or of bytes, at least one, as an array."""
    made = Blobs if isinstance(column[0], bytes) else BigInts
    head = np.array([1, 0, made.kind, len(column), 1], dtype=">i4")
    return made(head.tobytes() + _joined([_cells(column, len(column))]))


def _joined(parts: list[Cells]) -> bytes:
    laid = np.concatenate([part.laid for part in parts], axis=1)
    if all(part.kept is None for part in parts):
        return laid.tobytes()
    kept = np.concatenate(
        [np.ones_like(p.laid, dtype=bool) if p.kept is None else p.kept for p in parts], axis=1
    )
    packed: Bytes = laid[kept]
    return packed.tobytes()


def _cells(column: Column, count: int) -> Cells:
    if isinstance(column, str):
        return Cells(np.tile(_texts([column.encode()]).laid, (count, 1)))
    if isinstance(column, int):
        return _integers(np.full(count, column, dtype=np.int64))
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "f":
            return _reals(column.astype(np.float64))
        if column.dtype.kind == "i":
            return _integers(column)
    values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else list(column)
    if values and isinstance(values[0], int):
        return _integers(np.array(values, dtype=np.int64))
    return _texts([value if isinstance(value, bytes) else value.encode() for value in values])


def _integers(column: NDArray[Any]) -> Cells:
    return Cells(_fixed(column.astype(">i8")))


def _reals(column: NDArray[np.float64]) -> Cells:
    laid = _fixed(column.astype(">f8"))
    missing = ~np.isfinite(column)
    if not missing.any():
        return Cells(laid)
    kept = np.ones_like(laid, dtype=bool)
    laid[missing, :4] = _NULL
    kept[missing, 4:] = False
    return Cells(laid, kept)


def _fixed(column: NDArray[Any]) -> Bytes:
    laid = np.zeros((len(column), 12), dtype=np.uint8)
    laid[:, 3] = 8
    laid[:, 4:] = np.ascontiguousarray(column).view(np.uint8).reshape(-1, 8)
    return laid


def _texts(values: list[bytes]) -> Cells:
    lengths = np.array([len(value) for value in values], dtype=">i4")
    width = int(lengths.max(initial=0))
    laid = np.empty((len(values), 4 + width), dtype=np.uint8)
    laid[:, :4] = lengths.view(np.uint8).reshape(-1, 4)
    if width == 0:
        return Cells(laid)
    laid[:, 4:] = np.array(values, dtype=f"S{width}").view(np.uint8).reshape(-1, width)
    if lengths.min() == width:
        return Cells(laid)
    kept = np.ones_like(laid, dtype=bool)
    kept[:, 4:] = np.arange(width) < lengths[:, None]
    return Cells(laid, kept)
