"""A clock that stands still until the test moves it."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from ameles.plan.clock import microseconds


class ManualClock:
    """The time of a test.  A text without an offset is a time in ``zone``.

    A call gives the time in microseconds since 1970, as the engine's own clock does.

    >>> clock = ManualClock("2026-01-01")
    >>> clock.advance(hours=6)
    >>> clock.now.isoformat()
    '2026-01-01T06:00:00+00:00'
    >>> clock.set("2026-01-03T12:00")
    >>> clock() == microseconds(clock.now)
    True
    """

    def __init__(self, now: datetime | str, zone: str = "UTC") -> None:
        self._zone = ZoneInfo(zone)
        self.now = self._instant(now)

    def __call__(self) -> int:
        return microseconds(self.now)

    def __repr__(self) -> str:
        return f"ManualClock({self.now.isoformat()!r})"

    def set(self, now: datetime | str) -> None:
        """Set the time; it may also go back."""
        self.now = self._instant(now)

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        """Move the time forward."""
        self.now += timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)

    def _instant(self, now: datetime | str) -> datetime:
        instant = datetime.fromisoformat(now) if isinstance(now, str) else now
        return instant if instant.tzinfo is not None else instant.replace(tzinfo=self._zone)
