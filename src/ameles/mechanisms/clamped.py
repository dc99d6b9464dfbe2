"""What people report, as whole numbers in an array: nobody's odd value is noticed.

A refusal would tell that somebody reported nonsense.  So in a list each record is read by itself.
A whole number is taken, however large, and clamped to the range; yes and no are 1 and 0.  Anything
else is *odd*, and so is a record with another number of columns: it counts nowhere, raises nothing,
and changes nothing about other records.

Only what is wrong about the whole input is refused, and a message names no value: what is no list
and no array; another number of records than is public; an array of another shape, or of a type
other than integers, booleans and objects.

>>> reports([3, -9, 10**30, None, 0.5], 0, 5, refuse=ValueError)[0].tolist()
[3, 0, 5, 0, 0]
>>> rows, sound = reports([[1, 2], [3], [4, "5"]], 0, 9, width=2, refuse=ValueError)
>>> rows[sound].tolist()
[[1, 2]]
>>> reports(np.array([0.5]), 0, 5, refuse=ValueError)
Traceback (most recent call last):
ValueError: an array of float64 with shape (1,)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import chain
from typing import Any, SupportsIndex

import numpy as np

from ameles.noise.arrays import BoolArray, IntArray

Refuse = Callable[[str], Exception]


def whole_number(x: object) -> int | None:
    """The whole number that one person gave; None for anything else.

    >>> [whole_number(x) for x in (7, np.uint8(7), True, 10**30, 7.0, "7", None)]
    [7, 7, 1, 1000000000000000000000000000000, None, None, None]
    """
    if type(x) is np.bool_:
        return int(x)
    if not issubclass(type(x), SupportsIndex) or (issubclass(type(x), np.ndarray) and not _one(x)):
        return None
    index: Any = operator.index
    try:
        return int(index(x))
    except Exception:  # whatever it is, an error would tell
        return None


def reports(
    x: object,
    low: int,
    high: int,
    *,
    count: int | None = None,
    width: int | None = None,
    refuse: Refuse,
) -> tuple[IntArray, BoolArray]:
    """The records, clamped, with zeros for odd ones; and which of them are sound.

    There are ``count`` records, if that is public, each of ``width`` numbers, or each a number.
    ``refuse`` makes the error for an input that is wrong as a whole.
    """
    given = _listed(x, refuse)
    shape = (len(given),) if width is None else (len(given), width)
    got = f"a list of {len(given)}"
    if isinstance(given, np.ndarray):
        got = f"an array of {given.dtype} with shape {given.shape}"
        if given.shape != shape:
            raise refuse(got)
    if count is not None and len(given) != count:
        raise refuse(got)
    if isinstance(given, np.ndarray):
        if given.dtype.kind != "O":
            return _within(given, low, high), np.ones(len(given), dtype=np.bool_)
        given = given.tolist()
    read = [_record(one, width) for one in given]
    sound = np.array([one is not None for one in read], dtype=np.bool_)
    nothing = (0,) * (1 if width is None else width)
    cells = chain.from_iterable(nothing if one is None else one for one in read)
    numbers = np.array([min(max(cell, low), high) for cell in cells], dtype=np.int64)
    return numbers.reshape(shape), sound


def one_or_many(x: Any) -> Any:
    """What many people report, as it is; what one person reports, as a list of it."""
    if issubclass(type(x), str | bytes | bytearray | memoryview | np.generic):
        return [x]
    if issubclass(type(x), np.ndarray) and x.ndim == 0:
        return [x]
    if issubclass(type(x), Sequence | Set | Mapping | np.ndarray):
        return x
    try:
        return _array(x) if hasattr(type(x), "__array__") else [x]
    except Exception:  # whatever it is, an error would tell
        return [x]


def _array(x: Any) -> Any:
    """An array, or a column or table of a data frame; a list where it has types of its own.

    numpy would make floats of a column of whole numbers, but only if a value is missing.
    """
    kinds = [x.dtype] if hasattr(x, "dtype") else list(getattr(x, "dtypes", ()))
    if all(isinstance(one, np.dtype) for one in kinds):
        return np.asarray(x)
    for listed in ("to_list", "rows"):  # of columns, and of tables of polars
        if hasattr(x, listed):
            return list(getattr(x, listed)())
    return np.asarray(x, dtype=object)


def _one(x: Any) -> bool:
    """Whether an array is a single whole number."""
    return type(x) is np.ndarray and x.ndim == 0 and x.dtype.kind in "iu"


def _listed(x: Any, refuse: Refuse) -> Any:
    """A list of records, or an array of integers, booleans or objects."""
    if issubclass(type(x), np.ma.MaskedArray):
        return list(x.tolist())  # what is masked is None
    if hasattr(type(x), "__array__") and not issubclass(type(x), np.generic):
        try:
            array = _array(x)
        except Exception:
            raise refuse(f"a {type(x).__name__}") from None
        if isinstance(array, list):
            return array
        if array.ndim in (1, 2) and not len(array):  # it may be of any type
            return []
        if array.dtype.kind not in "biuO" or array.ndim not in (1, 2):
            raise refuse(f"an array of {array.dtype} with shape {array.shape}")
        return array
    if issubclass(type(x), str | bytes | bytearray | memoryview):
        raise refuse(f"a {type(x).__name__}")
    if not issubclass(type(x), Sequence):
        raise refuse(f"a {type(x).__name__}")
    return list(x)


def _record(one: Any, width: int | None) -> Sequence[int] | None:
    """The numbers of one record; None if it is odd."""
    if width is None:
        number = whole_number(one)
        return None if number is None else (number,)
    if issubclass(type(one), np.ndarray):
        one = one.tolist() if one.dtype.kind in "biuO" and one.ndim == 1 else None
    if not issubclass(type(one), list | tuple) or len(one) != width:
        return None
    cells = [whole_number(cell) for cell in one]
    numbers = [cell for cell in cells if cell is not None]
    return numbers if len(numbers) == width else None


def _within(given: Any, low: int, high: int) -> IntArray:
    """The numbers of an array of integers or booleans, clamped, in one copy that is left."""
    if given.dtype.kind == "b":
        given = given.view(np.uint8)
    held = np.iinfo(given.dtype)
    ends = (given.dtype.type(min(max(end, held.min), held.max)) for end in (low, high))
    inside = np.clip(given, *ends)
    numbers: IntArray = inside.astype(np.int64, copy=False)
    if numbers is not inside:
        inside.fill(0)
    return numbers
