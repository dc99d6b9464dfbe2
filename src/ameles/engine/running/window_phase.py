"""Where the windows of a population's users begin: streams that share a cap must agree on it.

With the unit user-window, the loss is per window.  The losses of two streams add up under one cap
only if every window of one is a window of the other: with the same length, and edges at the same
instants.  Otherwise one window of a user could overlap two windows of another stream, and the user
would lose what both allow.

A phase is stored as the length of a window and its first edge since 1970.  Windows of days follow
the calendar of a zone; all other windows are a number of microseconds, and their zone is UTC.

>>> def weekly(start: str, zone: str = "UTC") -> str:
...     clock = Clock(start=datetime.fromisoformat(start), every=Duration.read("1d"), zone=zone)
...     return str(phase_of(clock, Duration.read("1w")))
>>> weekly("2026-01-01")
'604800s from 1970-01-01T00:00:00 UTC'
>>> weekly("2026-01-08") == weekly("2026-01-01"), weekly("2026-01-09") == weekly("2026-01-01")
(True, False)
>>> weekly("2026-01-01", zone="Europe/Rome")
'7d from 1970-01-01T00:00:00 Europe/Rome'
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ameles.core.exceptions import PlanError
from ameles.plan.clock import Clock, instant
from ameles.plan.durations import SECOND, Duration
from ameles.plan.plan import Plan
from ameles.store import PopulationRecord, Transaction

_DAY_ZERO = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class WindowPhase:
    """A length in seconds or calendar days, and one edge in the local time of a zone."""

    length: Duration
    edge: datetime  # the first edge since 1970
    zone: str

    def __str__(self) -> str:
        return f"{self.length} from {self.edge.isoformat()} {self.zone}"

    @classmethod
    def read(cls, text: str) -> WindowPhase:
        """Parses a stored phase."""
        length, _, edge, zone = text.split(" ")
        # as seconds, it may have many digits
        return cls(Duration(int(length[:-1]), length[-1]), datetime.fromisoformat(edge), zone)

    def begins(self, wall: datetime) -> list[datetime]:
        """The last edge up to a local time, and the edge after it, if they exist."""
        length, since = self.length.microseconds, (wall - self.edge) // _MICROSECOND
        before = since - since % length
        edges = []
        for us in (before,) if before == since else (before, before + length):
            with suppress(OverflowError):  # before the year 1, or after 9999
                edges.append(self.edge + timedelta(microseconds=us))
        return [edge for edge in edges if edge >= _DAY_ZERO]


def phase_of(clock: Clock, window: Duration) -> WindowPhase:
    """The phase of a stream's windows."""
    if clock.every.calendar and clock.zone != "UTC":
        length, zone, first = Duration(window.days, "d"), clock.zone, clock.wall
    else:  # steps of a fixed length, and days of 24 hours
        length, zone = Duration(window.microseconds // SECOND, "s"), "UTC"
        first = instant(clock.first).replace(tzinfo=None)
    since = (first - _DAY_ZERO) // _MICROSECOND % length.microseconds
    return WindowPhase(length, _DAY_ZERO + timedelta(microseconds=since), zone)


def check_window(transaction: Transaction, plan: Plan) -> str | None:
    """The population's phase, if the plan's windows line up with it; None: it has no windows."""
    population = transaction.population(plan.privacy.population)
    window = plan.privacy.window
    if population is None:
        return None if window is None else str(phase_of(plan.clock, window))
    if window is None or population.window is None:
        if window is not None or population.window is not None:
            raise _other_length(population, plan)
        return None
    if Duration.read(population.window).microseconds != window.microseconds:
        raise _other_length(population, plan)
    here, there = phase_of(plan.clock, window), _phase(transaction, population)
    if there is not None and there != here:
        raise _other_phase(population, there, plan)
    return str(here)


def _phase(transaction: Transaction, population: PopulationRecord) -> WindowPhase | None:
    """The phase of a population, or of its streams if it was opened before phases were stored."""
    if population.phase is not None:
        return WindowPhase.read(population.phase)
    streams = [s for s in transaction.streams() if s.population == population.name]
    phases = {stream.name: _launched_with(json.loads(stream.plan)) for stream in streams}
    if len(set(phases.values())) > 1:
        listed = "; ".join(f"'{name}': {phase}" for name, phase in phases.items())
        raise PlanError(
            f"The windows of the streams of population '{population.name}' do not line up with one "
            f"another ({listed}), so no further stream can share their cap.",
            why="they were launched by a version that did not check it; they continue as they are, "
            "but a user may lose in one window what two of them allow",
            tip="a population of its own for this plan",
        )
    return next(iter(phases.values()), None)


def _launched_with(document: dict[str, Any]) -> WindowPhase:
    """The phase of a stream, from the plan with which it was launched."""
    stream = document["stream"]
    clock = Clock(
        start=datetime.fromisoformat(stream["start"]),
        every=Duration.read(stream["every"]),
        zone=stream.get("zone", "UTC"),
    )
    return phase_of(clock, Duration.read(document["privacy"]["window"]))


def _other_length(population: PopulationRecord, plan: Plan) -> PlanError:
    """The refusal if two windows have different lengths in time; their steps may differ."""
    return PlanError(
        f"Population '{population.name}' is protected per {population.window or 'life'}, "
        f"and this plan per {plan.privacy.window or 'life'}.",
        why="losses add up only if they are about the same time",
        tip="a population of its own for this plan",
    )


def _other_phase(population: PopulationRecord, there: WindowPhase, plan: Plan) -> PlanError:
    starts, changes = _lined_up(there, plan)
    return PlanError(
        f"The windows of this plan do not line up with those of population '{population.name}': "
        f"a window of {population.window} begins there at {starts[0]}, zone {there.zone}.",
        why="one window would overlap two of another stream, so a user could lose what both "
        "allow, under a cap for one",
        tip=" or ".join(f'start = "{start}"' for start in starts)
        + "".join(f", with {change}" for change in changes)
        + "; or a population of its own for this plan",
    )


def _lined_up(there: WindowPhase, plan: Plan) -> tuple[list[str], list[str]]:
    """The starts near the plan's that would line up, and what else must change for them."""
    clock, changes = plan.clock, []
    wall = instant(clock.first).astimezone(ZoneInfo(there.zone)).replace(tzinfo=None)
    if there.zone != "UTC" and not clock.every.calendar:
        changes.append(f'steps of days and zone = "{there.zone}"')
    elif there.zone != clock.zone and clock.every.calendar:
        changes.append(f'zone = "{there.zone}"')
    if changes:
        wall = clock.wall  # the same written time, in the other zone
    edges = there.begins(wall)
    if changes or clock.zone == there.zone:
        return [_written(edge) for edge in edges], changes
    # steps of a fixed length: an instant, in the local time of the plan's zone
    zone = ZoneInfo(clock.zone)
    return [edge.replace(tzinfo=UTC).astimezone(zone).isoformat() for edge in edges], changes


def _written(edge: datetime) -> str:
    """A start as written in a plan: only the date if it is midnight."""
    return edge.date().isoformat() if edge == datetime(*edge.timetuple()[:3]) else edge.isoformat()
