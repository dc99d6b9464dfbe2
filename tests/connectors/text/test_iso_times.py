"""ISO 8601 in all its forms; what DuckDB's cast takes by itself stays as it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ameles.connectors.format import Format
from ameles.connectors.typed_columns import Typed, typed
from tests.connectors.test_typed_columns import cast, shared

OLD = Format(rules=1)
NOON = datetime(2020, 1, 22, 12, tzinfo=UTC)


def micros(instant: datetime) -> int:
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    "text",
    [
        "20200122T120000Z",
        "20200122T1200Z",
        "20200122T12Z",
        "20200122t120000z",
        "20200122T120000,000Z",
        "20200122T120000.0000000001Z",
        "20200122T140000+0200",
        "20200122T14+02",
        "20200122T063000-05:30",
        "20200122 120000Z",
        " 20200122T120000Z ",
        "2020-01-22T12Z",
        "2020-01-22t12:00:00z",
        "2020-01-22T12:00:00,0Z",
        "2020-01-22T11:60Z".replace("11:60", "12:00,0"),
        "2020-W04-3T12:00:00Z",
        "2020W043T120000Z",
        "2020-w04-3t12z",
        "2020-022T12:00:00Z",
        "2020022T120000Z",
    ],
)
def test_forms_of_one_instant(text: str) -> None:
    assert cast([text], "timestamp") == [micros(NOON)]


@pytest.mark.parametrize(
    ("text", "later"),
    [
        ("20200122T120000,5Z", timedelta(seconds=0.5)),
        ("20200122T120000.123456789Z", timedelta(microseconds=123456)),
        ("2020-01-22T12:00,5Z", timedelta(seconds=30)),
        ("2020-01-22T12,5Z", timedelta(minutes=30)),
        ("2020-01-22T12.000000001Z", timedelta(microseconds=3)),
        ("20200122T240000Z", timedelta(hours=12)),
        ("20200122T24Z", timedelta(hours=12)),
    ],
)
def test_fractions_are_of_the_last_part(text: str, later: timedelta) -> None:
    assert cast([text], "timestamp") == [micros(NOON + later)]


@pytest.mark.parametrize(
    "text",
    [
        "2020",
        "2020-01",
        "202001",
        "2020-W04",
        "2020W04",
        "20200122T",
        "20200122T1Z",
        "20200122T240001Z",
        "20200122T240000,1Z",
        "20200122T126000Z",
        "20200122T120060Z",
        "20200122T120000+2400",
        "20200122T120000+0260",
        "20200122T120000ZZ",
        "20200122Z",
        "20200230",
        "20201301",
        "2020-000",
        "2019-366",
        "2020-367",
        "2019-W53-1",
        "2020-W00-1",
        "2020-W54-1",
        "2020-W04-0",
        "2020-W04-8",
        "0000-001",
        "0000W011",
        "٢٠٢٠٠١٢٢",
        "1579688100",
        "20200122\n",
    ],
)
def test_what_names_no_instant(text: str) -> None:
    assert cast([text], "timestamp") == [None]


def test_without_an_offset_it_is_in_the_zone() -> None:
    rome = ZoneInfo("Europe/Rome")
    for text, wall in {
        "20200122T1015": datetime(2020, 1, 22, 10, 15, tzinfo=rome),
        "2020-W27-3": datetime(2020, 7, 1, tzinfo=rome),
        "2020-183": datetime(2020, 7, 1, tzinfo=rome),
    }.items():
        assert cast([text], "timestamp", "Europe/Rome") == [micros(wall)]


TIMES = st.datetimes(
    min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)
)


OFFSETS = st.integers(-1439, 1439)
DATES = ("{0:%Y%m%d}", "{1:04}-W{2:02}-{3}", "{1:04}W{2:02}{3}", "{0:%Y-%j}", "{0:%Y%j}")


# Few questions of many instants: what takes time is that DuckDB reads the question.
@settings(max_examples=20, deadline=None)
@given(times=st.lists(st.tuples(TIMES, OFFSETS), min_size=40, max_size=120))
def test_all_forms_of_any_instant_are_python_s(times: list[tuple[datetime, int]]) -> None:
    """The same instants, written by Python in every form."""
    texts, wanted = [], []
    for time, minutes in times:
        t = time.astimezone(timezone(timedelta(minutes=minutes)))
        if 1 < t.year < 9999:
            for date in DATES:
                form = date + "t{0:%H%M%S},{0:%f}{4}"
                texts.append(form.format(_padded(t), *t.isocalendar(), _offset(minutes)))
                wanted.append(micros(t))
    assert cast(texts, "timestamp") == wanted


class _Padded:
    """Years of four digits, which strftime does not have everywhere."""

    def __init__(self, time: datetime) -> None:
        self.time = time

    def __format__(self, spec: str) -> str:
        return format(self.time, spec.replace("%Y", f"{self.time.year:04}"))


def _padded(time: datetime) -> _Padded:
    return _Padded(time)


def _offset(minutes: int) -> str:
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"


DUCKS = [
    *("2020-1-2", "2020/01/22", "2020 01 22", "epoch", "infinity", "-infinity", "20-01-22"),
    *("2020-01-22 10:15:00 Europe/Rome", "2020-01-22 10:15:00 UTC", "0044-03-15 (BC)"),
    *("12020-01-22", "-2020-01-22", "2020-01-22T1:5:3", "2020-01-22T10:15:00.", "2020-01-22T24:00"),
    *("2020-01-22T10:15:00+99:99", "2020-01-22T10:15:00+01:30:15", "2026-03-29T02:30", ""),
    *("20200122", "20200122T101500Z", "2020-W04-3", "2020-022", "2020-01-22t10:15:00z", "x"),
]


def _by_rules(texts: list[str], form: Format, zone: str) -> list[object]:
    rows = ", ".join(f"('{text}')" for text in texts)
    relation = typed([Typed("v", "timestamp", "x")], f"(VALUES {rows}) AS given(x)", form)
    duck = shared(zone)
    return [v for (v,) in duck.execute(f"SELECT epoch_us(v) FROM {relation}").fetchall()]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Rome"])
def test_launched_streams_keep_duckdb_s_cast_and_new_ones_take_all_that_it_takes(zone: str) -> None:
    duck = shared(zone)
    plain = "TRY_CAST(trim(x) AS TIMESTAMPTZ)"
    rows = ", ".join(f"('{text}')" for text in DUCKS)
    wanted = duck.execute(
        f"SELECT CASE WHEN isfinite({plain}) THEN epoch_us({plain}) END "
        f"FROM (VALUES {rows}) AS given(x)"
    ).fetchall()
    old, new = _by_rules(DUCKS, OLD, zone), _by_rules(DUCKS, Format(), zone)
    assert old == [value for (value,) in wanted]
    assert [n for o, n in zip(old, new, strict=True) if o is not None] == [
        o for o in old if o is not None
    ]
    assert sum(o is None for o in old) == 9
    assert sum(n is None for n in new) == 4
