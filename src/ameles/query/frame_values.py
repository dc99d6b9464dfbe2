"""Data frames as Arrow tables that DuckDB can read to the end, whatever values they have.

DuckDB fails at a text that is not UTF-8, and at a time in a zone that does not fit into 64 bits of
microseconds.  One such row would stop the question, and the failure would tell that the row is
there.  So these values are missing instead, as they are in a file.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from ameles.core.exceptions import BadInput, MissingExtra

ArrowTable = Any
ArrowColumn = Any

_MICROSECONDS = {"s": 10**6, "ms": 10**3}


def arrow_table(frame: Any) -> ArrowTable:
    """A data frame of pandas or Polars, or anything with Arrow's interface, as an Arrow table."""
    arrow = _arrow()
    kind = type(frame)
    if isinstance(frame, arrow.Table):
        return frame
    if isinstance(frame, arrow.RecordBatch):
        return arrow.Table.from_batches([frame])
    if hasattr(frame, "collect") and not hasattr(frame, "__arrow_c_stream__"):
        frame = frame.collect()  # a lazy frame
    try:
        if kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame":
            return _from_pandas(arrow, frame)
        if hasattr(frame, "__arrow_c_stream__"):
            return arrow.table(frame)
    except (ValueError, TypeError, NotImplementedError):  # those of Arrow are among them
        pass  # its own message may quote rows
    raise BadInput(
        f"A table must be a data frame. Got a {kind.__name__} that cannot be read as one.",
        tip="pandas, Polars, an Arrow table, or anything else with the Arrow interface",
    )


def sound_columns(table: ArrowTable, names: Mapping[int, str]) -> ArrowTable:
    """Some columns of a table, by their place and under these names, without unreadable values."""
    arrow = _arrow()
    columns = [_sound(arrow, table.column(place)) for place in names]
    return arrow.table(columns, names=list(names.values()))


def _from_pandas(arrow: Any, frame: Any) -> ArrowTable:
    """Columns of objects, which may be of any type, become texts.

    A type for such a column would be inferred from the data, and one row could change it.
    """
    try:
        return arrow.Table.from_pandas(_as_texts(frame, ("object",)))
    except UnicodeEncodeError:  # columns of texts with half of a surrogate pair, which is no text
        return arrow.Table.from_pandas(_as_texts(frame, ("object", "string", "str")))


def _as_texts(frame: Any, kinds: tuple[str, ...]) -> Any:
    names = [name for name, dtype in frame.dtypes.items() if str(dtype) in kinds]
    texts = {n: frame[n].map(_text, na_action="ignore").astype("string") for n in names}
    return frame.assign(**texts) if texts else frame


def _text(value: object) -> str | None:
    text = str(value)
    sound = text.isascii() or text.encode("utf-8", errors="ignore").decode() == text
    return text if sound else None


def _sound(arrow: Any, column: ArrowColumn) -> ArrowColumn:
    kind, types = column.type, arrow.types
    compute = importlib.import_module("pyarrow.compute")
    if types.is_run_end_encoded(kind):
        kind = kind.value_type
        column = arrow.chunked_array([compute.run_end_decode(one) for one in column.chunks], kind)
    values = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(values) or types.is_large_string(values) or types.is_string_view(values):
        return column if _valid(arrow, column) else _decodable(arrow, column)
    if types.is_timestamp(kind) and kind.tz is not None and kind.unit in _MICROSECONDS:
        most = ((1 << 63) - 1) // _MICROSECONDS[kind.unit]
        count = column.cast(arrow.int64())
        fits = compute.and_(compute.less_equal(count, most), compute.greater_equal(count, -most))
        known = compute.if_else(fits, count, arrow.scalar(None, arrow.int64()))
        return known.cast(kind).cast(arrow.timestamp("us", tz=kind.tz))
    return column


def _valid(arrow: Any, column: ArrowColumn) -> bool:
    try:
        column.validate(full=True)
    except arrow.ArrowInvalid:
        return False
    return True


def _decodable(arrow: Any, column: ArrowColumn) -> ArrowColumn:
    """The texts; those that are not UTF-8 are missing."""
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    texts = [_decoded(one) for one in column.cast(arrow.large_binary()).to_pylist()]
    return arrow.chunked_array([texts], arrow.large_string())


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _arrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise MissingExtra(
            "Data frames need pyarrow, which is not installed.",
            tip="pip install '.[dataframes]' in the clone of Ameles",
        ) from None
