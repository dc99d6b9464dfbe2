"""Values of data frames at which DuckDB would fail are missing, and no row stops a question."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy
import pytest

from ameles.core.exceptions import BadInput, MissingExtra
from ameles.core.guarantee import EVENT, USER
from ameles.query import Table
from tests.query.tables import rows_of, truthful

pandas: Any = importlib.import_module("pandas")
polars: Any = importlib.import_module("polars")
arrow: Any = importlib.import_module("pyarrow")

UNITS = ("s", "ms", "us", "ns")


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


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("zone", [None, "Europe/Rome"])
def test_a_time_that_does_not_fit_is_missing(unit: str, zone: str | None) -> None:
    ends = [0, (1 << 63) - 1, 1 - (1 << 63), None]
    times = arrow.array(ends, arrow.int64()).cast(arrow.timestamp(unit, tz=zone))
    table = framed(arrow.table({"moment": times}))
    assert table.noisy_count(epsilon=1).value == 4
    assert table.where("moment = TIMESTAMP '1970-01-01'").noisy_count(epsilon=1).value == 1


def test_times_in_a_zone_keep_their_values() -> None:
    seconds = [1_700_000_000, ((1 << 63) - 1) // 10**6, -9_223_372_022_400]
    times = arrow.array(seconds, arrow.int64()).cast(arrow.timestamp("s", tz="Asia/Kathmandu"))
    table = framed(arrow.table({"moment": times}))
    assert table.where("moment = TIMESTAMP '2023-11-14 22:13:20'").noisy_count(epsilon=1).value == 1
    assert table.where("moment IS NOT NULL").noisy_count(epsilon=1).value == 3


MOST = (1 << 63) - 1
ODD = (-MOST - 1, -MOST, MOST - 1, MOST, 10**17, -1, 86_400 * 10**9 + 1, -9_223_372_022_400_000_001)
TIMES = [
    *(arrow.timestamp(unit, zone) for unit in UNITS for zone in (None, "UTC", "Europe/Rome")),
    *(arrow.duration(unit) for unit in UNITS),
    arrow.time64("us"),
    arrow.time64("ns"),
    arrow.time32("s"),
    arrow.time32("ms"),
    arrow.date32(),
    arrow.date64(),
]
ODD_32 = (-(1 << 31), (1 << 31) - 1, 2 - (1 << 31), -1, 86_401)


def of_type(kind: Any, counts: tuple[int, ...]) -> Any:
    """The values 0, 1 and 2 of a type, and others, which may be none."""
    whole = arrow.int32() if kind.bit_width == 32 else arrow.int64()
    return arrow.array([0, 1, 2, *counts], whole).view(kind)


def encoded(values: Any, form: str) -> Any:
    ends = arrow.array(range(len(values) + 1), arrow.int32())
    match form:
        case "list":
            return arrow.ListArray.from_arrays(ends, values)
        case "record":
            return arrow.StructArray.from_arrays([values], ["a"])
        case "dictionary":
            return arrow.DictionaryArray.from_arrays(ends[:-1], values)
        case "below a null":
            bits = arrow.array([n < 3 for n in range(len(values))]).buffers()[1]
            return arrow.Array.from_buffers(values.type, len(values), [bits, values.buffers()[1]])
        case "record below a null":
            missing = arrow.array([n >= 3 for n in range(len(values))])
            return arrow.StructArray.from_arrays([values], ["a"], mask=missing)
    return values


FORMS = ["plain", "list", "record", "dictionary", "below a null", "record below a null"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("type_of_value", TIMES, ids=str)
def test_no_time_stops_a_question(type_of_value: Any, form: str) -> None:
    types = arrow.types
    odd = ODD_32 if type_of_value.bit_width == 32 else ODD
    values = encoded(of_type(type_of_value, odd), form)
    flat = form in ("plain", "dictionary", "below a null")
    moments = types.is_timestamp(type_of_value) or types.is_date(type_of_value)
    for kind in ["text", "timestamp"] if flat and moments else ["text"]:
        with_rows = framed(arrow.table({"v": values}), columns={"v": kind})
        without = framed(arrow.table({"v": values.slice(0, 3)}), columns={"v": kind})
        assert with_rows.columns == without.columns
        assert with_rows.noisy_count(epsilon=1).value == 3 + len(odd)
        texts = [q.select(v="CAST(v AS VARCHAR)") for q in (with_rows, without)]
        assert rows_of(texts[0])[:3] == rows_of(texts[1])
        assert texts[1].where("v IS NOT NULL").noisy_count(epsilon=1).value == 3


@pytest.mark.parametrize("kind", ["text", "number"])
def test_a_decimal_with_too_many_digits_is_missing(kind: str) -> None:
    raw = b"".join(one.to_bytes(16, "little") for one in (5, 1 << 127, 7))
    values = arrow.Array.from_buffers(arrow.decimal128(38, 2), 3, [None, arrow.py_buffer(raw)])
    table = framed(arrow.table({"v": values}), columns={"v": kind})
    assert table.where("v IS NOT NULL").noisy_count(epsilon=1).value == 2


def test_broken_texts_inside_of_lists_and_records_are_missing() -> None:
    texts = {"list": ["[x]", "[NULL]", "[y]"], "record": ["{'a': x}", "{'a': NULL}", "{'a': y}"]}
    for form, expected in texts.items():
        table = framed(arrow.table({"v": encoded(broken_texts(), form)}), columns={"v": "text"})
        assert rows_of(table) == [(text,) for text in expected]


def opaque(name: str) -> Any:
    values = arrow.array([b"", b""])
    return arrow.ExtensionArray.from_storage(arrow.opaque(arrow.binary(), name, "DuckDB"), values)


@pytest.mark.parametrize(
    "make",
    [
        lambda: arrow.array([[("a", 1)], None], arrow.map_(arrow.string(), arrow.int64())),
        lambda: arrow.array([[[("a", 1)]], None], arrow.list_(arrow.map_(arrow.string(), "i8"))),
        lambda: opaque("bit"),
    ],
    ids=["map", "list of maps", "opaque"],
)
def test_a_type_that_cannot_be_checked_is_refused_whatever_the_rows_are(
    make: Callable[[], Any],
) -> None:
    for values in (make(), make().slice(0, 0)):
        with pytest.raises(BadInput, match="'v' of the data frame has a type that Ameles cannot"):
            framed(arrow.table({"v": values}), columns={"v": "text"})
        other = arrow.table({"v": values, "n": arrow.nulls(len(values), arrow.int64())})
        assert framed(other, columns={"n": "integer"}).columns == {"n": "integer"}


def test_lists_keep_their_texts_and_their_nulls() -> None:
    lists = [[1, 2], None, [3, 4]]
    for kind in (arrow.list_, arrow.large_list, arrow.list_view, lambda one: arrow.list_(one, 2)):
        values = arrow.array(lists, kind(arrow.int64()))
        table = framed(arrow.table({"v": values}), columns={"v": "text"})
        assert rows_of(table) == [("[1, 2]",), (None,), ("[3, 4]",)]


class Silent:
    """A value that has no text."""

    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


HOSTILE: dict[str, Callable[[], Any]] = {
    "an integer": lambda: 1,
    "a long integer": lambda: 10**5000,
    "half of a pair": lambda: "\ud800",
    "no text": lambda: Silent(),
    "a decimal that cannot be compared": lambda: Decimal("sNaN"),
    "bytes": lambda: b"\xff",
    "a list": lambda: [1],
    "a date": lambda: date(2026, 1, 1),
}
NO_CATEGORY = ("a list", "a decimal that cannot be compared")  # they have no hash
PLACES = ["objects", "a category", "another category", "other objects", "the index"]


def objects(values: list[Any]) -> Any:
    made = numpy.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        made[place] = value
    return made


@pytest.mark.parametrize(
    ("name", "place"),
    [
        (name, place)
        for name in HOSTILE
        for place in PLACES
        if "category" not in place or name not in NO_CATEGORY
    ],
)
@pytest.mark.parametrize("declared", [True, False])
def test_no_row_of_pandas_refuses_the_table(name: str, place: str, declared: bool) -> None:
    def made(last: Any) -> Table:
        odd = pandas.Index(objects(["a", "b", last]), dtype=object)
        frame = pandas.DataFrame({"v": objects(["a", "b", "c"])}, dtype=object)
        if place == "the index":
            frame.index = odd
        else:
            column = pandas.Series(odd, dtype=object)
            if "category" in place:
                with warnings.catch_warnings(action="ignore"):  # of pandas, about odd categories
                    kind = pandas.CategoricalDtype(odd)
                    column = pandas.Series(pandas.Categorical.from_codes([0, 1, 2], dtype=kind))
            frame["w" if "other" in place else "v"] = column
        return framed(frame, columns={"v": "text"} if declared else None)

    hostile, harmless = made(HOSTILE[name]()), made("c")
    assert hostile.columns == harmless.columns
    assert hostile.noisy_count(epsilon=1).value == 3
    assert hostile.where("v IN ('a', 'b')").noisy_count(epsilon=1).value == 2


def test_columns_of_pandas_keep_their_values() -> None:
    class Subclass(pandas.DataFrame):  # type: ignore[misc]
        """As those of other libraries are."""

    frame = Subclass(
        {
            "whole": pandas.Series([7, 8, 9]).astype("category"),
            "text": pandas.Series(["x", None, "y"]).astype("category"),
            "sparse": pandas.arrays.SparseArray([0, 0, 1]),
            "objects": objects([float("nan"), 1, pandas.NaT]),
            "odd": pandas.arrays.SparseArray(objects(["x", "\ud800", 7])),
            5: [True, False, True],
        }
    )
    frame.index = pandas.Index([1, 2, 3], name="place")
    table = framed(frame)
    assert table.columns == {
        "whole": "integer",
        "text": "text",
        "sparse": "integer",
        "objects": "text",
        "odd": "text",
        "5": "boolean",
    }
    assert rows_of(table) == [
        (7, "x", 0, None, "x", True),
        (8, None, 0, "1", None, False),
        (9, "y", 1, None, "7", True),
    ]
    with pytest.raises(BadInput, match="no column 'place'"):
        framed(frame, columns={"place": "integer"})


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
