"""Views that the tests of pan-private counters share: when the state is seized."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from ameles.audit import Instant
from ameles.audit.instant import View


def after(*steps: int) -> View:
    return tuple(Instant(step) for step in steps)


def between_steps(steps: int) -> list[View]:
    return [after(step) for step in range(steps + 1)]


def within_steps(steps: int) -> list[View]:
    """Between ``add`` and ``release``."""
    return [(Instant(step, added=True),) for step in range(steps)]


def between_events(steps: int) -> list[View]:
    """Between an event that counts nothing and the one that may differ."""
    return [(Instant(step, between=True),) for step in range(steps)]


def announced(view: View, *, later: int = 0) -> View:
    """The same intrusions, each announced at once, or so many steps later."""
    return tuple(replace(instant, announced=later) for instant in view)


def every_pair(steps: int) -> list[View]:
    """Two intrusions at any two instants, the first announced at once."""
    instants = [
        *(Instant(step) for step in range(steps + 1)),
        *(Instant(step, between=True) for step in range(steps)),
        *(Instant(step, added=True) for step in range(steps)),
    ]
    instants.sort(key=lambda instant: instant.place)
    return [(replace(one, announced=0), other) for one, other in combinations(instants, 2)]
