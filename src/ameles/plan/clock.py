"""The public clock of a stream: where each step begins and ends, in UTC microseconds.

Steps count from 1, and a step is [start, end).  A step of days begins at the same time of day in
the plan's zone, whatever the clocks did in between.

>>> clock = Clock(start=datetime(2026, 3, 28), every=Duration.read("1d"), zone="Europe/Rome")
>>> [(clock.start_of(step + 1) - clock.start_of(step)) // (3600 * SECOND) for step in (1, 2, 3)]
[24, 23, 24]
>>> clock.ended(clock.start_of(3))
2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from ameles.core.exceptions import BadInput
from ameles.plan.durations import SECOND, Duration

MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Rows with a time further than this after a run's cut-off count nowhere.
FAR = 10_000


def microseconds(instant: datetime) -> int:
    """An instant as microseconds since 1970, exactly."""
    if instant.tzinfo is None:
        raise BadInput(
            "A time must have a zone.",
            why="a time without a zone is a different instant on every machine",
            tip="datetime(2026, 1, 3, tzinfo=UTC)",
        )
    since = instant - EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds


def instant(us: int) -> datetime:
    """The instant that is this many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=us)


# Dates have years of four digits, so no step may end later than this.
END = microseconds(datetime(9999, 1, 1, tzinfo=UTC))


@dataclass(frozen=True)
class Clock:
    """The public clock of a stream; a ``start`` without an offset is in ``zone``."""

    start: datetime
    every: Duration
    zone: str

    @cached_property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    @cached_property
    def wall(self) -> datetime:
        """The start on a wall clock of the zone."""
        if self.start.tzinfo is None:
            return self.start
        return self.start.astimezone(self._zone).replace(tzinfo=None)

    @cached_property
    def first(self) -> int:
        """When the first step begins."""
        return microseconds(self.wall.replace(tzinfo=self._zone))

    @cached_property
    def latest(self) -> int:
        """The last possible step."""
        return max(0, (END - self.first) // self.every.microseconds)

    def start_of(self, step: int) -> int:
        """When a step begins."""
        if not self.every.calendar or step == 1:
            return self.first + (step - 1) * self.every.microseconds
        # wall-clock arithmetic: the zone decides how long a day is
        wall = self.wall + timedelta(days=(step - 1) * self.every.days)
        return microseconds(wall.replace(tzinfo=self._zone))

    def end_of(self, step: int) -> int:
        """When a step ends and the next begins."""
        return self.start_of(step + 1)

    def ended(self, us: int) -> int:
        """How many steps have ended by this instant."""
        if us < self.first:
            return 0
        steps = min((us - self.first) // self.every.microseconds, self.latest)
        if self.every.calendar:  # clock changes can make it one more or one less
            while steps and self.end_of(steps) > us:
                steps -= 1
            while steps < self.latest and self.end_of(steps + 1) <= us:
                steps += 1
        return steps

    def step_sql(self, us: str, first: int, last: int, number: Callable[[int], str] = str) -> str:
        """SQL for the step of an event at ``us``, which lies in one of the steps ``first`` to
        ``last``; ``number`` writes the number of the last step."""
        length, pieces = self.every.microseconds, self._regular(last)
        begun = max(place for place, (step, _) in enumerate(pieces) if step <= first)
        branches = []
        for (step, start), (following, end) in pairwise([*pieces[begun:], (last + 1, 0)]):
            nominal = f"{step} + ({us} - {start}) // {length}"
            if following <= last:
                # the last step of a piece may be longer than the nominal length
                branches.append(f"WHEN {us} < {end} THEN least({nominal}, {following - 1})")
        # the last piece, too, ends with a step of any length
        nominal = f"least({nominal}, {number(last)})" if self.every.calendar else nominal
        return f"CASE {' '.join(branches)} ELSE {nominal} END" if branches else nominal

    def _regular(self, last: int) -> list[tuple[int, int]]:
        """The steps, with their starts, that begin a piece of equally long steps."""
        if not self.every.calendar:
            return [(1, self.first)]
        # A follower asks for more steps each time, so it is told of twice as many as it asks for.
        most = max(last, min(1 << last.bit_length(), self.latest))
        pieces = _pieces(self.first, self.wall, self.every.days, self.zone, most)
        return [(step, start) for step, start in pieces if step <= last]


@lru_cache(maxsize=64)
def _pieces(
    first: int, wall: datetime, days: int, zone: str, last: int
) -> tuple[tuple[int, int], ...]:
    """The first step, and those whose distance from UTC is not that of the step before."""
    pieces, at, begun = [(1, first)], wall, microseconds(wall.replace(tzinfo=UTC))
    step_length, distance_from_utc = timedelta(days=days), ZoneInfo(zone).utcoffset
    offset = timedelta(microseconds=begun - first)
    for step in range(2, last + 1):
        at += step_length
        now = distance_from_utc(at)
        if now is not None and now != offset:  # a zone always has one
            offset = now
            pieces.append((step, begun + ((step - 1) * step_length - offset) // MICROSECOND))
    return tuple(pieces)
