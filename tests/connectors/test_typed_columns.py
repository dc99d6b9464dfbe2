"""Every value is cast on its own: what does not fit is NULL, and nothing fails."""

from __future__ import annotations

from functools import cache
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.connectors.duck import connect
from ameles.connectors.typed_columns import KINDS, Typed, check_kinds, typed
from ameles.core.exceptions import PlanError

HOUR = 3_600_000_000


@cache
def shared(zone: str) -> duckdb.DuckDBPyConnection:
    return connect(zone=zone, memory=64 << 20)


def cast(texts: list[str], kind: str, zone: str = "UTC") -> list[Any]:
    held = np.empty(len(texts), dtype=object)
    held[:] = texts
    relation = typed([Typed("v", kind, "x")], "given")
    value = "epoch_us(v)" if kind == "timestamp" else "v"
    duck = shared(zone)
    duck.register("given", {"x": held})
    return [v for (v,) in duck.execute(f"SELECT {value} FROM {relation}").fetchall()]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("text", " a ", " a "),
        ("integer", "3", 3),
        ("integer", "-3", -3),
        ("integer", "+3", 3),
        ("integer", " 03 ", 3),
        ("integer", "3.0", 3),
        ("integer", "3.7", None),
        ("integer", "1e3", None),
        ("integer", "0x10", None),
        ("integer", "1_000", None),
        ("integer", "9223372036854775807", 2**63 - 1),
        ("integer", "9223372036854775808", None),
        ("integer", "", None),
        ("integer", "three", None),
        ("number", "1.5", 1.5),
        ("number", " 1e3 ", 1000.0),
        ("number", "nan", None),
        ("number", "-inf", None),
        ("number", "1e999", None),
        ("number", "1,5", None),
        ("boolean", "true", True),
        ("boolean", " FALSE", False),
        ("boolean", "1", True),
        ("boolean", "no", False),
        ("boolean", "maybe", None),
        ("timestamp", "1970-01-01T01:00:00Z", HOUR),
        ("timestamp", "1970-01-01 03:00:00+02:00", HOUR),
        ("timestamp", " 1970-01-01 ", 0),
        ("timestamp", "1970-02-30", None),
        ("timestamp", "infinity", None),
        ("timestamp", "now", None),
        ("timestamp", "yesterday", None),
    ],
)
def test_a_text_as_a_value(kind: str, text: str, value: object) -> None:
    assert cast([text], kind) == [value]


def test_a_time_without_an_offset_is_in_the_zone_and_one_with_an_offset_is_not() -> None:
    texts = ["1970-01-01 02:00", "1970-01-01 02:00Z"]
    assert cast(texts, "timestamp", "Asia/Tokyo") == [-7 * HOUR, 2 * HOUR]


@pytest.mark.parametrize(
    ("kind", "sql", "value"),
    [
        ("integer", "3.7::DOUBLE", None),
        ("integer", "3.0::DOUBLE", 3),
        ("integer", "'nan'::DOUBLE", None),
        ("integer", "1e300::DOUBLE", None),
        ("integer", "3.70::DECIMAL(5, 2)", None),
        ("integer", "3.00::DECIMAL(5, 2)", 3),
        ("integer", "7::UTINYINT", 7),
        ("integer", "18446744073709551615::UBIGINT", None),
        ("integer", "'3.7'", None),
        ("integer", "true", None),
        ("number", "7::INTEGER", 7.0),
        ("number", "'inf'::FLOAT", None),
        ("number", "'1.5'", 1.5),
        ("boolean", "true", True),
        ("boolean", "'yes'", True),
        ("boolean", "0::INTEGER", False),
        ("timestamp", "TIMESTAMP '1970-01-01 02:00'", 2 * HOUR),
        ("timestamp", "TIMESTAMPTZ '1970-01-01 02:00+01:00'", HOUR),
        ("timestamp", "DATE '1970-01-01'", 0),
        ("timestamp", "TIMESTAMP 'infinity'", None),
        ("timestamp", "'1970-01-01 01:00'", HOUR),
        ("timestamp", "7::INTEGER", None),
        ("text", "7::INTEGER", "7"),
        ("text", "NULL::VARCHAR", None),
    ],
)
def test_a_typed_value_as_another(kind: str, sql: str, value: object) -> None:
    duck = shared("UTC")
    ((type_name,),) = duck.execute(f"SELECT typeof({sql})").fetchall()
    relation = typed([Typed("v", kind, "x", type_name)], f"(SELECT {sql} AS x)")
    shown = "epoch_us(v)" if kind == "timestamp" else "v"
    assert duck.execute(f"SELECT {shown} FROM {relation}").fetchall() == [(value,)]


@settings(max_examples=15, deadline=None)
@given(
    texts=st.lists(
        st.text(st.characters(codec="utf-8"), max_size=20)
        | st.from_regex(r"\A[0-9+\-:. TZeE_xinfa]{0,25}\Z"),
        min_size=20,
        max_size=100,
    )
)
def test_no_text_makes_a_cast_fail(texts: list[str]) -> None:
    for kind in KINDS:
        together = cast(texts, kind)
        assert together == [cast([text], kind)[0] for text in texts[:2]] + together[2:]


def test_kinds_and_names_are_checked() -> None:
    check_kinds({"a": "text", "b": "integer"})
    with pytest.raises(PlanError, match="declared as 'int'"):
        check_kinds({"a": "int"})
    with pytest.raises(PlanError, match="differ only in capital letters"):
        check_kinds({"age": "text", "Age": "text"})


WALL = [
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.123456",
    "2026-03-29 02:30:00",  # does not exist in Rome
    "2026-10-25 02:30:00.999999",  # is there twice
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59",
    "290000-01-01 00:00:00",
    "infinity",
    "-infinity",
]


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "Europe/Rome"])
@pytest.mark.parametrize("wall", ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])
def test_a_wall_clock_is_read_in_the_zone_as_duckdb_does(wall: str, zone: str) -> None:
    duck = shared(zone)
    for text in WALL:
        given = f"(SELECT TRY_CAST('{text}' AS {wall}) AS x)"
        relation = typed([Typed("v", "timestamp", "x", wall)], given)
        times = duck.execute(f"SELECT epoch_us(v) FROM {relation}").fetchall()
        plain = "TRY_CAST(x AS TIMESTAMPTZ)"
        wanted = duck.execute(
            f"SELECT CASE WHEN isfinite({plain}) THEN epoch_us({plain}) END FROM {given}"
        ).fetchall()
        assert times == wanted, text
