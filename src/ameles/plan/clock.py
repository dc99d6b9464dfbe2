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

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from zoneinfo import ZoneInfo

from ameles.core.exceptions import BadInput
from ameles.plan.durations import SECOND, Duration

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
    _pieces: dict[int, list[tuple[int, int]]] = field(
        default_factory=dict, compare=False, repr=False
    )

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

    def step_sql(self, us: str, first: int, last: int) -> str:
        """SQL for the step of an event at ``us``, which lies in one of the steps ``first`` to
        ``last``."""
        length, pieces = self.every.microseconds, self._regular(last)
        begun = max(place for place, (step, _) in enumerate(pieces) if step <= first)
        branches = []
        for (step, start), (following, end) in pairwise([*pieces[begun:], (last + 1, 0)]):
            nominal = f"{step} + ({us} - {start}) // {length}"
            if following <= last:
                # the last step of a piece may be longer than the nominal length
                branches.append(f"WHEN {us} < {end} THEN least({nominal}, {following - 1})")
        # the last piece, too, ends with a step of any length
        nominal = f"least({nominal}, {last})" if self.every.calendar else nominal
        return f"CASE {' '.join(branches)} ELSE {nominal} END" if branches else nominal

    def _regular(self, last: int) -> list[tuple[int, int]]:
        """The steps, with their starts, that begin a piece of equally long steps."""
        if last not in self._pieces:
            pieces = [(1, self.first)]
            for step in range(2, last + 1) if self.every.calendar else ():
                start = self.start_of(step)
                if start != pieces[-1][1] + (step - pieces[-1][0]) * self.every.microseconds:
                    pieces.append((step, start))
            self._pieces[last] = pieces
        return self._pieces[last]
