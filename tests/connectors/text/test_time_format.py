"""Declared formats of times: patterns and counts since 1970; nothing fails, none moves another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.connectors.format import Format
from ameles.connectors.text.time_format import check_time_format
from ameles.connectors.typed_columns import Typed, given_name, typed
from ameles.core.exceptions import PlanError
from ameles.measures.fields import identifier
from tests.connectors.test_typed_columns import shared
from tests.connectors.text.test_iso_times import micros


def read(texts: list[str], *formats: str, zone: str = "UTC") -> list[Any]:
    check_time_format(formats)
    held = np.empty(len(texts), dtype=object)
    held[:] = texts
    form = Format(time_format=formats)
    duck = shared(zone)
    duck.register("given", {"x": held})
    relation = typed([Typed("v", "timestamp", "x")], "given", form)
    return [v for (v,) in duck.execute(f"SELECT epoch_us(v) FROM {relation}").fetchall()]


def at(text: str, zone: str = "UTC") -> int:
    return micros(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)))


@pytest.mark.parametrize(
    ("pattern", "text", "instant"),
    [
        ("%d.%m.%Y", "22.01.2020", "2020-01-22"),
        ("%d.%m.%Y", " 22.01.2020 ", "2020-01-22"),
        ("%d.%m.%Y", "2.1.2020", "2020-01-02"),
        ("%-d.%-m.%Y", "2.1.2020", "2020-01-02"),
        ("%d.%m.%y", "22.01.68", "2068-01-22"),
        ("%d.%m.%y", "22.01.69", "1969-01-22"),
        ("%m/%d/%Y %I:%M %p", "01/22/2020 12:15 am", "2020-01-22 00:15"),
        ("%a, %d %b %Y", "Wed, 22 jan 2020", "2020-01-22"),
        ("%d %B %Y", "22 January 2020", "2020-01-22"),
        ("%Y%m%d%H%M%S", "20200122101530", "2020-01-22 10:15:30"),
        ("%d.%m.%Y %H:%M:%S.%f", "22.01.2020 10:15:30.5", "2020-01-22 10:15:30.500"),
        ("%d.%m.%Y %H:%M %z", "22.01.2020 10:15 +02:00", "2020-01-22 08:15"),
        ("%d.%m.%Y %H:%M %z", "22.01.2020 10:15 +0200", "2020-01-22 08:15"),
        ("%d.%m.%Y %H:%M%z", "22.01.2020 10:15Z", "2020-01-22 10:15"),
        ("%d.%m.%Y%%", "22.01.2020%", "2020-01-22"),
        ("%d.%m.%Y it's", "22.01.2020 it's", "2020-01-22"),
        ("%d.%m.%Y", "01.01.1900", "1900-01-01"),
        ("%d.%m.%Y", "01.01.1970", "1970-01-01"),
    ],
)
def test_a_text_that_fits(pattern: str, text: str, instant: str) -> None:
    assert read([text], pattern) == [at(instant)]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("%d.%m.%Y", "31.02.2020"),
        ("%d.%m.%Y", "29.02.2019"),
        ("%d.%m.%Y", "99.99.9999"),
        ("%d.%m.%Y", "22.01.2020x"),
        ("%d.%m.%Y", "22.01.2020 10:15"),
        ("%d.%m.%Y", "2020-01-22"),  # what is declared is all that is read
        ("%d.%m.%Y", "22.01.12020"),
        ("%d.%m.%Y", ""),
        ("%d.%m.%Y", "epoch"),
        ("%d.%m.%Y", "infinity"),
        ("%d.%m.%Y", "-infinity"),
        ("%d.%m.%Y", " INFINITY "),
        ("%d.%m.%Y %H:%M", "22.01.2020 24:00"),
        ("%d.%m.%Y %H:%M:%S", "22.01.2020 23:59:60"),
        ("%d.%m.%Y %H:%M:%S.%f", "22.01.2020 10:15:30.1234567"),
        ("%m/%d/%Y %I:%M %p", "01/22/2020 13:15 pm"),
        ("%d.%m.%Y %H:%M %z", "22.01.2020 10:15"),
        ("%d.%m.%Y %H:%M %z", "epoch"),
        ("%d.%m.%Y %H:%M %z", "infinity"),
        ("%d.%m.%Y %H:%M %z", "-infinity"),
    ],
)
def test_a_text_that_does_not_fit(pattern: str, text: str) -> None:
    assert read([text], pattern) == [None]
    assert read([text], pattern, zone="Europe/Rome") == [None]


def test_the_first_pattern_that_fits() -> None:
    texts = ["22.01.2020", "2020/01/22", "01/02/2020 10:15 +01:00", "22-01-2020"]
    formats = ["%d.%m.%Y", "%Y/%m/%d", "%d/%m/%Y %H:%M %z", "%m/%d/%Y %H:%M %z"]
    wanted = [at("2020-01-22", "Asia/Tokyo")] * 2 + [at("2020-02-01 09:15"), None]
    assert read(texts, *formats, zone="Asia/Tokyo") == wanted
    assert read(texts[:2], *formats[:2], zone="Asia/Tokyo") == wanted[:2]


@pytest.mark.parametrize(
    ("formats", "said"),
    [
        (["%H:%M"], "has no year"),
        (["%d.%m."], "has no year"),
        (["%Y-%m"], "has no day"),
        (["dd.mm.yyyy"], "has no year"),
        (["%Y-%m-%d %Q"], "%Q, which is not a directive"),
        (["%Y-%m-%d %"], "ends with a percent sign"),
        (["%Y-%m-%d %-"], "%-"),
        (["%x"], "depends on the locale"),
        (["%c"], "depends on the locale"),
        (["%d.%m.%Y %X"], "depends on the locale"),
        (["%Y-%j"], "in a year"),
        (["%G-W%V-%u"], "in a year"),
        (["%d.%m.%Y %Z"], "the name of a zone"),
        (["%s"], "has %s"),
        (["%d.%m.%Y %d"], "the day twice"),
        (["%d.%b.%m.%Y"], "the month twice"),
        (["%d.%m.%Y %I:%M"], "only one of %I and %p"),
        (["%d.%m.%Y %H:%M %p"], "only one of %I and %p"),
        (["%d.%m.%Y %M"], "a minute and no hour"),
        (["%d.%m.%Y %H:%M.%f"], "a fraction and no second"),
        (["%Y-%m-%dT%H:%M:%SZ"], "the letter Z"),
        (["%d.%m.%Y", "epoch"], "cannot be combined"),
        (["epochs"], "has no year"),
        ([], "1 to 20"),
        (["%d.%m.%Y"] * 21, "1 to 20"),
        (["%d.%m.%Y" + " " * 100], "at most 100 characters"),
        (["%d.%m.%Y\n"], "all of them printable"),
    ],
)
def test_patterns_are_checked_before_anything_is_read(formats: list[str], said: str) -> None:
    with pytest.raises(PlanError, match=said) as caught:
        check_time_format(formats)
    assert caught.value.tip


@pytest.mark.parametrize(
    ("name", "text", "us"),
    [
        ("epoch", "1579688100", 1579688100 * 10**6),
        ("epoch", "1579688100.123", 1579688100123000),
        ("epoch", "1579688100.1234569", 1579688100123456),
        ("epoch", "-1", -(10**6)),
        ("epoch", "-0.0000001", -1),
        ("epoch", " 5 ", 5 * 10**6),
        ("epoch", "1.5e9", 1500000000 * 10**6),
        ("epoch", "253402300799", 253402300799 * 10**6),
        ("epoch", "253402300801", None),
        ("epoch", "1579688100123", None),  # of milliseconds
        ("epoch-ms", "1579688100123", 1579688100123000),
        ("epoch-ms", "1579688100123.5", 1579688100123500),
        ("epoch-us", "1579688100123456", 1579688100123456),
        ("epoch-us", "1579688100123456.9", 1579688100123456),
        ("epoch", "", None),
        ("epoch", "2020-01-22", None),
        ("epoch", "nan", None),
        ("epoch", "inf", None),
        ("epoch", "0x10", None),
        ("epoch", "9" * 40, None),
        ("epoch-us", "9223372036854775807", None),
        ("epoch-us", "-9223372036854775808", None),
        ("epoch", "true", None),
    ],
)
def test_counts_since_1970(name: str, text: str, us: int | None) -> None:
    assert read([text], name) == [us]
    assert read([text], name, zone="Asia/Tokyo") == [us]


@pytest.mark.parametrize(
    ("formats", "sql", "instant"),
    [
        (("epoch-ms",), "1579688100123::BIGINT", 1579688100123000),
        (("epoch",), "1579688100::INTEGER", 1579688100000000),
        (("epoch",), "1579688100.123::DOUBLE", 1579688100123000),
        (("epoch",), "1579688100.123::DECIMAL(15, 3)", 1579688100123000),
        (("epoch",), "'nan'::DOUBLE", None),
        (("epoch",), "1e300::DOUBLE", None),
        (("epoch-us",), "18446744073709551615::UBIGINT", None),
        (("epoch",), "TIMESTAMP '1970-01-01 01:00'", 3_600_000_000),  # a time as it is
        (("%Y%m%d",), "20200122::INTEGER", 1579651200000000),
        (("%Y%m%d",), "'20200122'", 1579651200000000),
        (("%Y%m%d",), "DATE '2020-01-22'", 1579651200000000),
    ],
)
def test_typed_columns(formats: tuple[str, ...], sql: str, instant: int | None) -> None:
    duck = shared("UTC")
    ((type_name,),) = duck.execute(f"SELECT typeof({sql})").fetchall()
    form = Format(time_format=formats)
    relation = typed([Typed("v", "timestamp", "x", type_name)], f"(SELECT {sql} AS x)", form)
    assert duck.execute(f"SELECT epoch_us(v) FROM {relation}").fetchall() == [(instant,)]


FOUR_DIGITS = st.datetimes(
    min_value=datetime(1000, 1, 1), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)
)
PATTERNS = ["%d.%m.%Y %H:%M:%S.%f", "%Y%m%d%H%M%S%f", "%A %d %B %Y, %I.%M.%S %p %f"]


@settings(max_examples=25, deadline=None)
@given(
    times=st.lists(FOUR_DIGITS, min_size=10, max_size=80),
    pattern=st.sampled_from(PATTERNS),
)
def test_what_python_writes_is_read_as_it_was(times: list[datetime], pattern: str) -> None:
    assert read([t.strftime(pattern) for t in times], pattern) == [micros(t) for t in times]


ANY = st.text(st.characters(codec="utf-8"), max_size=20) | st.from_regex(
    r"\A[0-9+\-:. TZeEinfty%]{0,30}\Z"
)


@settings(max_examples=30, deadline=None)
@given(
    texts=st.lists(ANY, min_size=20, max_size=100),
    formats=st.sampled_from(
        [("epoch",), ("epoch-us",), ("%d.%m.%Y",), ("%Y-%m-%d %H:%M:%S.%f%z", "%d %b %y %I %p")]
    ),
    zone=st.sampled_from(["UTC", "Europe/Rome"]),
)
def test_no_text_makes_it_fail_or_moves_another(
    texts: list[str], formats: tuple[str, ...], zone: str
) -> None:
    together = read(texts, *formats, zone=zone)
    assert together == [read([text], *formats, zone=zone)[0] for text in texts[:3]] + together[3:]


def test_the_given_text_beside_the_value() -> None:
    duck = shared("UTC")
    columns = [Typed("at", "timestamp", "a"), Typed("n", "integer", "b", written="c")]
    rows = "(VALUES ('22.01.2020', '1', 'x'), ('2020-01-22', '1.5', 'y'), (NULL, NULL, NULL))"
    form = Format(time_format=("%d.%m.%Y",))
    relation = typed(columns, f"{rows} AS given(a, b, c)", form, raw=True)
    names = ['epoch_us("at")', identifier(given_name("at")), "n", identifier(given_name("n"))]
    assert duck.execute(f"SELECT {', '.join(names)} FROM {relation}").fetchall() == [
        (at("2020-01-22"), "22.01.2020", 1, "x"),
        (None, "2020-01-22", None, "y"),
        (None, None, None, None),
    ]


def test_microseconds() -> None:
    assert micros(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=1)) == 10**6
