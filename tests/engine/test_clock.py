"""Steps begin where the calendar says, and DuckDB assigns events as Python does."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta, timezone

import duckdb
import numpy as np
import pytest

from ameles.engine.clock import Clock, instant, microseconds
from ameles.engine.durations import DAY, SECOND, Duration

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
    duck = duckdb.connect()
    duck.register("events", {"us": events})
    found = duck.execute(f"SELECT {clock.step_sql('us', last)} FROM events").fetchall()
    inside = [edges[0] <= us < edges[-1] for us in events]
    wanted = [
        bisect_right(edges, us) if ok else None for us, ok in zip(events, inside, strict=True)
    ]
    assert [step for (step,) in found] == wanted


@pytest.mark.parametrize("zone", ZONES)
def test_a_step_has_ended_exactly_at_its_end(zone: str) -> None:
    clock = daily(zone)
    for step in range(1, 1200, 7):
        end = clock.end_of(step)
        assert clock.ended(end) >= step
        assert clock.ended(end - 1) < step or clock.start_of(step) == end  # a day that was lost
    assert clock.ended(clock.first - 1) == 0
