"""Steps begin where the calendar says, and DuckDB assigns events as Python does."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta, timezone

import duckdb
import numpy as np
import pytest

from ameles.core.exceptions import BadInput
from ameles.plan.clock import Clock, instant, microseconds
from ameles.plan.durations import DAY, SECOND, Duration

HOUR = 3600 * SECOND
# Apia lost a whole day in 2011, São Paulo changed its clocks at midnight.
ZONES = ["UTC", "Europe/Rome", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kathmandu"]


def daily(zone: str, start: datetime = datetime(2011, 1, 1)) -> Clock:
    return Clock(start=start, every=Duration.read("1d"), zone=zone)


def test_microseconds_are_exact_both_ways() -> None:
    moment = datetime(2026, 3, 29, 1, 2, 3, 456789, tzinfo=UTC)
    assert instant(microseconds(moment)) == moment
    assert microseconds(datetime(1970, 1, 1, tzinfo=UTC)) == 0


def test_fixed_steps() -> None:
    clock = Clock(start=datetime(2026, 1, 1), every=Duration.read("10m"), zone="Europe/Rome")
    assert instant(clock.first) == datetime(2025, 12, 31, 23, tzinfo=UTC)
    assert clock.end_of(6) - clock.first == HOUR
    assert [clock.ended(clock.first + us) for us in (-1, 0, 600 * SECOND - 1, 600 * SECOND)] == [
        *(0, 0, 0, 1)
    ]


def test_days_have_23_and_25_hours() -> None:
    clock = daily("Europe/Rome", datetime(2026, 1, 1))
    lengths = [(clock.end_of(step) - clock.start_of(step)) // HOUR for step in range(1, 366)]
    assert sorted(set(lengths)) == [23, 24, 25]
    assert (lengths.index(23), lengths.index(25)) == (87, 297)  # 29 March and 25 October
    assert clock.end_of(365) - clock.first == 365 * DAY


def test_a_start_with_an_offset_keeps_its_time_of_day_in_the_zone() -> None:
    start = datetime(2026, 3, 28, 6, tzinfo=timezone(timedelta(hours=1)))
    clock = Clock(start=start, every=Duration.read("1d"), zone="Europe/Rome")
    assert instant(clock.start_of(3)) == datetime(2026, 3, 30, 4, tzinfo=UTC)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("every", ["1d", "1w", "6h"])
def test_duckdb_assigns_the_same_steps(zone: str, every: str) -> None:
    last = 900
    clock = Clock(start=datetime(2011, 1, 1), every=Duration.read(every), zone=zone)
    edges = [clock.start_of(step) for step in range(1, last + 2)]
    around = [edge + shift for edge in edges for shift in (-1, 0, 1, HOUR, 23 * HOUR)]
    events = np.array([*around, edges[0] - DAY, edges[-1] + DAY])
    duck = duckdb.cursor()
    duck.register("events", {"us": events})
    for first in {1, 2, last // 2, last} - {0}:
        sql = clock.step_sql("us", first, last)
        inside = events[(events >= edges[first - 1]) & (events < edges[-1])]
        duck.register("inside", {"us": inside})
        steps = duck.execute(f"SELECT {sql} FROM inside").fetchall()
        assert [step for (step,) in steps] == [bisect_right(edges, us) for us in inside]


@pytest.mark.parametrize("zone", ZONES)
def test_a_step_has_ended_exactly_at_its_end(zone: str) -> None:
    clock = daily(zone)
    for step in range(1, 1200, 7):
        end = clock.end_of(step)
        assert clock.ended(end) >= step
        assert clock.ended(end - 1) < step or clock.start_of(step) == end  # a day that was lost
    assert clock.ended(clock.first - 1) == 0


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(BadInput, match="must have a zone"):
        microseconds(datetime(2026, 1, 1))


@pytest.mark.parametrize("every", ["1d", "52w", "9999w", "1h", "999999999s"])
def test_steps_end_with_the_calendar(every: str) -> None:
    """Years have four digits: what lies beyond is no step, and no error."""
    clock = Clock(start=datetime(2026, 1, 1), every=Duration.read(every), zone="Europe/Rome")
    latest = datetime.max.replace(tzinfo=UTC)
    assert clock.ended(microseconds(latest)) == clock.latest
    assert 9000 - 9999 // 52 < instant(clock.end_of(clock.latest)).year <= 9999
    assert clock.ended(clock.end_of(clock.latest) - 1) == clock.latest - 1
    assert "us" in clock.step_sql("us", 1, min(clock.latest, 100))


def test_a_step_longer_than_all_time() -> None:
    clock = Clock(start=datetime(2026, 1, 1), every=Duration.read("999999999w"), zone="UTC")
    assert (clock.latest, clock.ended(microseconds(datetime.max.replace(tzinfo=UTC)))) == (0, 0)


def test_a_start_in_the_hour_that_comes_twice() -> None:
    """In Rome it is half past two twice that night; the offset says which."""
    second = datetime(2026, 10, 25, 2, 30, tzinfo=timezone(timedelta(hours=1)))
    clock = Clock(start=second, every=Duration.read("1d"), zone="Europe/Rome")
    assert instant(clock.first) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert instant(clock.start_of(2)) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
    assert clock.ended(clock.end_of(1)) == 1
