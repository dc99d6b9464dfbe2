"""Durations as people write them: "10m", "1h", "1d", "2w".

Seconds, minutes and hours have a fixed length.  Days and weeks are those of the calendar in the
plan's zone: on two days of a year they may be an hour longer or shorter.

>>> Duration.read("10m"), Duration.read("1w").days
(Duration(count=10, unit='m'), 7)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ameles.core.exceptions import BadInput

SECOND = 1_000_000  # in microseconds, the clock's grain
FIXED = {"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}
DAYS = {"d": 1, "w": 7}
DAY = 24 * FIXED["h"]
_WRITTEN = re.compile(r"([1-9][0-9]{0,8})([smhdw])")


@dataclass(frozen=True, slots=True)
class Duration:
    """A number of seconds, minutes, hours, days or weeks."""

    count: int
    unit: str

    def __str__(self) -> str:
        return f"{self.count}{self.unit}"

    @classmethod
    def read(cls, text: str) -> Duration:
        """The duration that a person wrote."""
        written = _WRITTEN.fullmatch(text)
        if written is None:
            raise BadInput(
                "A duration is a whole number and one of s, m, h, d, w. "
                f"Got {text[:40]!r} instead.",
                tip='"10m" for ten minutes, "1d" for a day',
            )
        return cls(int(written[1]), written[2])

    @property
    def calendar(self) -> bool:
        """Whether its length depends on the calendar: days and weeks."""
        return self.unit in DAYS

    @property
    def days(self) -> int:
        """The number of days, if its length depends on the calendar."""
        return self.count * DAYS[self.unit]

    @property
    def microseconds(self) -> int:
        """Its length, with days of 24 hours."""
        return self.days * DAY if self.calendar else self.count * FIXED[self.unit]

    def steps(self, every: Duration, *, zone: str) -> int:
        """How many steps of length ``every`` it has; refused if that is not a whole number.

        >>> Duration.read("7d").steps(Duration.read("1d"), zone="Europe/Rome")
        7
        """
        if self.calendar != every.calendar and zone != "UTC":
            raise BadInput(
                f"{self} is not a whole number of steps of {every} in the zone {zone}.",
                why="a day has 23 or 25 hours there when the clocks change",
                tip=f"{self} in the same kind of unit as {every}, or zone UTC",
            )
        steps, rest = divmod(self.microseconds, every.microseconds)
        if rest:
            raise BadInput(
                f"{self} is not a whole number of steps of {every}.",
                tip=f'"{every.count * max(1, steps)}{every.unit}"',
            )
        return steps
