"""Plans for the tests of the kit, and rows for them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 1, 1, tzinfo=UTC)

_BEGINNING = """
[stream]
name = "visits"
source = "{source}"
{time}
start = "2026-01-01"
every = "1d"
horizon = 6
{stream}
[privacy]
population = "visitors"
{unit}
epsilon = 1
[[release]]
name = "visits"
measure = "count"
by = {{ region = ["north", "south"] }}
[[release]]
name = "daily"
measure = "count"
over = "step"
[store]
url = "visits.db"
vault = "keys-of-the-plan"
[[sink]]
csv = "visits.csv"
"""
TIMED = 'time = "at"\ncolumns = { at = "timestamp", who = "text", region = "text" }'
UNTIMED = 'columns = { who = "text", region = "text" }'
EVENT = 'unit = "event"'
USER = 'unit = "user"\nuser = "who"\nmax_per_step = 1\nmax_steps = 2'
SEALED = 'unit = "event"\nintrusions = "one"'


def plan(unit: str = EVENT, *, stream: str = "") -> str:
    return _BEGINNING.format(source="events.csv", time=TIMED, unit=unit, stream=stream)


def live_plan(unit: str = EVENT, *, stream: str = "") -> str:
    return _BEGINNING.format(source="-", time=UNTIMED, unit=unit, stream=stream)


def visit(day: int, region: Any = "north", who: str = "ada", hour: int = 12) -> dict[str, Any]:
    """An event on a day of the stream, counted from 1."""
    return {"at": START + timedelta(days=day - 1, hours=hour), "who": who, "region": region}
