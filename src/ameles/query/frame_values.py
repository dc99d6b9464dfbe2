"""Data frames as Arrow tables that DuckDB can read to the end, whatever values they have.

DuckDB fails at some values: at a text that is not UTF-8, at a time outside of its calendar, at a
decimal with too many digits.  One such row would stop the question, and the failure would tell that
the row is there.  So these values are missing instead, as they are in a file, also inside of lists
and records.  A type whose values cannot be checked is refused, whatever the rows are.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from ameles.core.exceptions import BadInput, MissingExtra
from ameles.query.pandas_columns import pandas_table

ArrowTable = Any
ArrowColumn = Any

_PANDAS = ("pandas.DataFrame", "pandas.core.frame.DataFrame")
_PARTS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MOST = (1 << 63) - 1
# The calendar of DuckDB begins on the 22nd of December 290309 BC, in microseconds since 1970; it
# ends before the largest integer, which stands for infinity.
_FIRST, _LAST = -9_223_372_022_400_000_000, _MOST - 1
_DAY = 86_400
_OPAQUE = "arrow.opaque"  # types of other programs
_HUGE = ("hugeint", "uhugeint")  # DuckDB's integers of 128 bits, which all bytes are
_SOUND_EXTENSIONS = ("arrow.uuid", "arrow.bool8", _OPAQUE)


def arrow_table(frame: Any, columns: Collection[str] | None = None) -> ArrowTable:
    """A data frame of pandas or Polars, or anything with Arrow's interface, as an Arrow table.

    Only these columns of a frame of pandas are converted, or all of them.
    """
    arrow = _arrow()
    kind = type(frame)
    if isinstance(frame, arrow.Table):
        return frame
    if isinstance(frame, arrow.RecordBatch):
        return arrow.Table.from_batches([frame])
    if hasattr(frame, "collect") and not hasattr(frame, "__arrow_c_stream__"):
        frame = frame.collect()  # a lazy frame
    try:
        if any(f"{one.__module__}.{one.__name__}" in _PANDAS for one in kind.__mro__):
            return pandas_table(arrow, frame, columns)
        if hasattr(frame, "__arrow_c_stream__"):
            return arrow.table(frame)
    except (ValueError, TypeError, NotImplementedError):  # those of Arrow are among them
        pass  # its own message may quote rows
    raise BadInput(
        f"A table must be a data frame. Got a {kind.__name__} that cannot be read as one.",
        tip="pandas, Polars, an Arrow table, or anything else with the Arrow interface",
    )


def sound_columns(table: ArrowTable, names: Mapping[int, str]) -> ArrowTable:
    """A copy of some columns, by their place and under these names, without unreadable values.

    The values may be where another program writes them, so they are copied before they are checked.
    """
    arrow = _arrow()
    compute = importlib.import_module("pyarrow.compute")
    for place, name in names.items():
        if not _checkable(arrow.types, table.field(place).type):
            raise BadInput(
                f"The column '{name}' of the data frame has a type that Ameles cannot check.",
                why="one of its values could stop a question",
                tip="a frame in which it is a text",
            )
    copy = _own_copy(arrow, table.select(list(names)))
    columns = [_sound_column(arrow, compute, column) for column in copy.columns]
    return arrow.table(columns, names=list(names.values()))


def _own_copy(arrow: Any, table: ArrowTable) -> ArrowTable:
    """The same table, whose values are nowhere else."""
    written = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    return arrow.ipc.open_stream(written.getvalue()).read_all()


def _checkable(types: Any, kind: Any) -> bool:
    """Whether ``_sound`` knows all values of a type at which DuckDB could fail."""
    if types.is_map(kind) or types.is_union(kind):
        return False
    if types.is_run_end_encoded(kind) or types.is_dictionary(kind):
        return _checkable(types, kind.value_type)
    if name := getattr(kind, "extension_name", None):
        return kind.type_name in _HUGE if name == _OPAQUE else _checkable(types, kind.storage_type)
    return all(_checkable(types, kind.field(n).type) for n in range(kind.num_fields))


def _sound_column(arrow: Any, compute: Any, column: ArrowColumn) -> ArrowColumn:
    types, kind = arrow.types, column.type
    values = kind.value_type if types.is_dictionary(kind) else kind
    if _is_text(types, values) and _valid(arrow, column):
        return column
    chunks = column.chunks or [arrow.nulls(0, kind)]
    return arrow.chunked_array([_sound(arrow, compute, one) for one in chunks])


def _sound(arrow: Any, compute: Any, array: ArrowColumn) -> ArrowColumn:
    """An array whose type depends on its type alone; lists and records are made anew.

    What they have under a null would otherwise stay, and DuckDB might read it.
    """
    types, kind = arrow.types, array.type
    if types.is_run_end_encoded(kind):
        return _sound(arrow, compute, compute.run_end_decode(array))
    if types.is_dictionary(kind):
        return _sound(arrow, compute, array.dictionary_decode())
    if name := getattr(kind, "extension_name", None):
        return array if name in _SOUND_EXTENSIONS else _sound(arrow, compute, array.storage)
    if types.is_struct(kind):
        parts = [_sound(arrow, compute, part) for part in array.flatten()]
        names = [kind.field(place).name for place in range(kind.num_fields)]
        return arrow.StructArray.from_arrays(parts, names, mask=array.is_null())
    if kind.num_fields:
        lengths = compute.fill_null(compute.list_value_length(array).cast(arrow.int64()), 0)
        ends = arrow.concat_arrays([arrow.array([0]), compute.cumulative_sum(lengths)])
        inside = _sound(arrow, compute, array.flatten())
        return arrow.LargeListArray.from_arrays(ends, inside, mask=array.is_null())
    if _is_text(types, kind):
        valid = _valid(arrow, array)
        return array.cast(arrow.large_string()) if valid else _decodable(arrow, array)
    if types.is_decimal(kind) and not (
        _valid(arrow, array)
        and _has_digits(compute.min(array).as_py() or Decimal(), kind.precision)
    ):  # the least number of 128 bits is valid for Arrow, though it has a digit too many
        values = [one if _has_digits(one, kind.precision) else None for one in array.to_pylist()]
        return arrow.array(values, kind)
    if (limits := _limits(types, kind)) is not None:
        array = _within(arrow, compute, array, *limits)
    if types.is_timestamp(kind) and kind.tz is not None and kind.unit in ("s", "ms"):
        return array.cast(arrow.timestamp("us", tz=kind.tz))
    return array


def _within(arrow: Any, compute: Any, array: ArrowColumn, least: int, most: int) -> ArrowColumn:
    """The values within limits; 0 is below each null, because DuckDB also reads what is there."""
    whole = arrow.int32() if array.type.bit_width == 32 else arrow.int64()
    count = array.view(whole).cast(arrow.int64())
    fits = compute.and_(compute.greater_equal(count, least), compute.less_equal(count, most))
    fits = compute.fill_null(fits, False)
    known = compute.if_else(fits, count, 0).to_numpy().astype(whole.to_pandas_dtype())
    missing = compute.invert(fits).to_numpy(zero_copy_only=False)
    return arrow.array(known, whole, mask=missing).view(array.type)


def _limits(types: Any, kind: Any) -> tuple[int, int] | None:
    """The least and the largest number of units that DuckDB can read as a value of this type."""
    if types.is_time(kind):
        return 0, _DAY * _PARTS[kind.unit]
    if types.is_timestamp(kind):
        finer = _PARTS["us"] // _PARTS[kind.unit]
        return (_FIRST // finer, _LAST // finer) if finer else (1 - _MOST, _LAST)
    if types.is_duration(kind) and kind.unit in ("s", "ms"):
        most = _MOST // (_PARTS["us"] // _PARTS[kind.unit])
        return -most, most
    return None


def _decodable(arrow: Any, array: ArrowColumn) -> ArrowColumn:
    """The texts; those that are not UTF-8 are missing."""
    texts = [_decoded(one) for one in array.cast(arrow.large_binary()).to_pylist()]
    return arrow.array(texts, arrow.large_string())


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _has_digits(value: Decimal | None, digits: int) -> bool:
    return value is not None and len(value.as_tuple().digits) <= digits


def _is_text(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _valid(arrow: Any, column: ArrowColumn) -> bool:
    try:
        column.validate(full=True)
    except arrow.ArrowInvalid:
        return False
    return True


def _arrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise MissingExtra(
            "Data frames need pyarrow, which is not installed.",
            tip="pip install '.[dataframes]' in the clone of Ameles",
        ) from None
