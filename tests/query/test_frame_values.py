"""Values of data frames at which DuckDB would fail are missing, and no row stops a question."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ameles.core.exceptions import BadInput, MissingExtra
from ameles.core.guarantee import EVENT, USER
from ameles.query import Table
from tests.query.tables import rows_of, truthful

pandas: Any = importlib.import_module("pandas")
polars: Any = importlib.import_module("polars")
arrow: Any = importlib.import_module("pyarrow")


def framed(frame: Any, **given: Any) -> Table:
    user = "user" in given
    unit = "user" if user else "row"
    return Table.from_dataframe(
        frame, name="frame", account=truthful(USER if user else EVENT), unit=unit, **given
    )


def broken_texts() -> Any:
    """The texts x, one that is not UTF-8, and y."""
    ends = b"".join(end.to_bytes(4, "little") for end in (0, 1, 3, 4))
    return arrow.StringArray.from_buffers(3, arrow.py_buffer(ends), arrow.py_buffer(b"x\xff\xfey"))


def broken(form: str) -> Any:
    texts = broken_texts()
    if form == "dictionary":
        return arrow.DictionaryArray.from_arrays(arrow.array([0, 1, 2]), texts)
    if form == "run ends":
        return importlib.import_module("pyarrow.compute").run_end_encode(texts)
    return texts.cast(getattr(arrow, form)())


@pytest.mark.parametrize(
    "form", ["string", "large_string", "string_view", "dictionary", "run ends"]
)
def test_a_text_that_is_not_unicode_is_missing(form: str) -> None:
    table = framed(arrow.table({"name": broken(form), "n": [1, 2, 3]}))
    assert table.where("trim(lower(name)) IN ('x', 'y')").noisy_count(epsilon=1).value == 2
    assert rows_of(table.where("name IS NULL")) == [(None, 2)]


def test_a_user_whose_name_is_not_unicode_counts_nowhere() -> None:
    users = framed(arrow.table({"id": broken_texts()}), user="id", max_rows=1)
    assert users.distinct_users(epsilon=1).value == 2


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Rome"])
def test_a_time_that_does_not_fit_is_missing(unit: str, zone: str | None) -> None:
    ends = [0, (1 << 63) - 1, 1 - (1 << 63), None]
    times = arrow.array(ends, arrow.int64()).cast(arrow.timestamp(unit, tz=zone))
    table = framed(arrow.table({"moment": times}))
    assert table.noisy_count(epsilon=1).value == 4
    assert table.where("moment = TIMESTAMP '1970-01-01'").noisy_count(epsilon=1).value == 1


def test_times_in_a_zone_keep_their_values() -> None:
    seconds = [1_700_000_000, ((1 << 63) - 1) // 10**6, -(((1 << 63) - 1) // 10**6)]
    times = arrow.array(seconds, arrow.int64()).cast(arrow.timestamp("s", tz="Asia/Kathmandu"))
    table = framed(arrow.table({"moment": times}))
    assert table.where("moment = TIMESTAMP '2023-11-14 22:13:20'").noisy_count(epsilon=1).value == 1
    assert table.where("moment IS NOT NULL").noisy_count(epsilon=1).value == 3


def test_values_of_other_columns_stop_nothing() -> None:
    lengths = arrow.array([1 << 62], arrow.int64()).cast(arrow.duration("s"))
    table = framed(arrow.table({"length": lengths, "n": [1]}))
    assert table.noisy_count(epsilon=1).value == 1


@pytest.mark.parametrize("kind", ["object", "string"])
def test_half_of_a_surrogate_pair_is_no_text(kind: str) -> None:
    dtype = object if kind == "object" else pandas.StringDtype("python")
    frame = pandas.DataFrame({"name": pandas.Series(["x", "\ud800", "é", None], dtype=dtype)})
    table = framed(frame)
    assert rows_of(table.where("name IS NOT NULL")) == [("x",), ("é",)]
    assert table.noisy_count(epsilon=1).value == 4


# Frames are made in the tests: the threads of Polars do not survive a fork (tests/forking.py).
@pytest.mark.parametrize(
    "make",
    [
        lambda: polars.Series("a", [1]),
        lambda: pandas.DataFrame([[1, 2]], columns=["a", "a"]),
        lambda: {"a": [1]},
        lambda: [1],
    ],
    ids=["series", "the same name twice", "dictionary", "list"],
)
def test_what_is_no_frame_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(BadInput, match="must be a data frame"):
        framed(make())


def test_types_that_duckdb_does_not_know_are_refused() -> None:
    halves = arrow.array([1.0], arrow.float16())
    with pytest.raises(BadInput, match="a type that DuckDB cannot read"):
        framed(arrow.table({"a": halves, "n": [1]}))


@pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])
def test_a_frame_without_columns_is_refused(library: Any) -> None:
    with pytest.raises(BadInput, match="at least one column"):
        framed(library.DataFrame())


def test_batches_and_lazy_frames_are_frames() -> None:
    for frame in (arrow.record_batch({"n": [1, 2]}), polars.LazyFrame({"n": [1, 2]})):
        assert framed(frame).noisy_count(epsilon=1).value == 2


def test_frames_need_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[dataframes\]'"):
        framed(polars.DataFrame({"n": [1]}))


def test_users_may_be_hashes_of_64_bits_without_a_sign() -> None:
    hashes = polars.Series([(1 << 64) - 1, 1 << 63, 1, 1], dtype=polars.UInt64)
    users = framed(polars.DataFrame({"id": hashes}), user="id", max_rows=1)
    assert users.distinct_users(epsilon=1).value == 3
    assert framed(polars.DataFrame({"n": hashes})).columns == {"n": "integer"}
