"""Where a stream stands when rows are taken in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """The last released step, the last that closes now, and the last that may ever have events.

    ``arrived`` is the step of events without a time of their own.
    """

    released: int
    target: int
    last: int
    arrived: int | None = None
