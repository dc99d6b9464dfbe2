"""Frames of pandas as Arrow tables, column by column; no value changes a type or stops it.

Columns of objects, which may be of any type, become texts, and so do categories that are objects.
A type for them would be inferred from the data, and one row could change it.  A value that cannot
be made a text is missing.  The index is no column.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable
from typing import Any


def pandas_table(arrow: Any, frame: Any, columns: Collection[str] | None) -> Any:
    """These columns of a frame, or all of them, as an Arrow table."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise ValueError("two columns have the same name")
    if columns is None or not set(columns) <= set(names):  # whoever refuses then tells all names
        columns = names
    wanted = {name: place for place, name in enumerate(names) if name in columns}
    return arrow.table({n: _column(arrow, frame.iloc[:, at]) for n, at in wanted.items()})


def _column(arrow: Any, values: Any) -> Any:
    """A column of a frame, or what it is made of; pandas infers no type anew."""
    dtype = values.dtype
    if hasattr(dtype, "categories"):
        codes = values.array.codes
        return _column(arrow, dtype.categories).take(arrow.array(codes, mask=codes < 0))
    if str(dtype).startswith("Sparse["):
        return _column(arrow, values.array.to_dense())
    if str(dtype) == "object":
        return _texts(arrow, values)
    try:
        return arrow.Array.from_pandas(values)
    except UnicodeEncodeError:  # texts with half of a surrogate pair, which is no text
        return _texts(arrow, values)


def _texts(arrow: Any, values: Iterable[object]) -> Any:
    missing = importlib.import_module("pandas").isna
    return arrow.array([_text(value, missing) for value in values], arrow.large_string())


def _text(value: object, missing: Callable[[object], object]) -> str | None:
    """The text of a value, if it has one; a value may raise anything when it is asked for it."""
    try:
        if type(value) is not str and missing(value) is True:
            return None
        text = str.__str__(str(value))
        text.encode()  # half of a surrogate pair is no text
    except Exception:
        return None
    return text
