"""What each candidate would clip, added up over all units: exact, secret, and bounded for each.

Theorem      Write P_c(u) for unit u's part of what candidate c clips.  It is a function of that
             unit's own events, and between 0 and the distance of the narrowest from the widest
             candidate, times ``SCALE``.  Adding a unit adds P_c(u) to the sum of every candidate c,
             so all sums move the same way, each by at most that distance: they are monotone scores
             whose sensitivity is SCALE * reach
Neighbours   one unit added or removed: an event, a user, or a user within a window

What a unit's part is:

- ``max_steps`` (events of a user in more steps): the steps beyond the candidate, up to the widest;
- ``max_per_step``: the events of a step beyond the candidate, up to the widest, on average over the
  user's steps;
- ``lower`` and ``upper``: by how much a value lies outside of the candidate, up to the widest, on
  average over the user's events that count in the release.

Everything is cut at the widest candidate first, so nobody's part grows with how far beyond the
whole grid they are.  Averages are rounded down to whole thousandths, for each user.
Everything is computed in whole numbers by DuckDB, in one pass over the source, or in several with a
share of the users each if they do not fit into memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import duckdb

from ameles.connectors.duck import OutOfMemory, connect, quiet
from ameles.connectors.reading import Reading
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.gathering.moment import Moment
from ameles.engine.private_bounds.candidates import CandidateBound
from ameles.engine.private_bounds.noise_cost import SCALE
from ameles.measures.bounded import BoundedMeasure
from ameles.measures.fields import identifier
from ameles.plan.plan import Plan

MEMORY = 1 << 30
_BYTES_A_PASS = 256 << 20  # about how many bytes of a source one pass over the users covers
_MOST_PASSES = 1 << 10


def clipped_amounts(
    plan: Plan,
    bounds: Sequence[CandidateBound],
    reading: Reading,
    moment: Moment,
    *,
    memory: int = MEMORY,
) -> list[list[int]]:
    """For each bound, what each of its candidates clips, in thousandths of its unit.

    The plan must have its widest bounds: values are cut at them first.
    """
    users = plan.privacy.user is not None
    passes = -(-reading.size // _BYTES_A_PASS) or 1 if users else 1
    while True:
        try:
            return _Pass(plan, bounds, reading, moment, memory).all(passes)
        except OutOfMemory:
            if not users or passes >= _MOST_PASSES:
                raise
            passes *= 2  # fewer users in each pass


class _Pass:
    def __init__(
        self,
        plan: Plan,
        bounds: Sequence[CandidateBound],
        reading: Reading,
        moment: Moment,
        memory: int,
    ) -> None:
        self._plan = plan
        self._bounds = bounds
        self._reading = reading
        self._moment = moment
        self._memory = memory
        self._totals = [[0] * len(bound.candidates) for bound in bounds]

    def all(self, passes: int) -> list[list[int]]:
        zone, paths = self._plan.stream.zone, self._reading.paths
        with closing(connect(zone=zone, memory=self._memory, readable=paths)) as duck:
            for share in range(passes):
                if self._plan.privacy.user is None:
                    self._add_events(duck)
                else:
                    self._add_users(duck, share, passes)
        return self._totals

    def _add_events(self, duck: duckdb.DuckDBPyConnection) -> None:
        """Every event is a unit; a row with a weight stands for so many."""
        times = "" if self._plan.stream.weight is None else " * CAST(weight AS HUGEINT)"
        parts = [
            f"sum({SCALE} * CAST({self._outside(place, end)} AS HUGEINT){times})"
            for place, bound in enumerate(self._bounds)
            for end in bound.whole
        ]
        for relation in self._reading.scans(duck):
            with quiet("adding up what bounds clip"):
                self._add(duck.execute(f"SELECT {', '.join(parts)} FROM ({self._rows(relation)})"))

    def _add_users(self, duck: duckdb.DuckDBPyConnection, share: int, shares: int) -> None:
        """Each user, or user within a window, is a unit."""
        columns = ["count(*) AS events"]
        for place, bound in enumerate(self._bounds):
            if bound.release is not None:
                columns.append(f"count(value_{place}) AS given_{place}")
                columns += [
                    f"sum(CAST({self._outside(place, end)} AS HUGEINT)) AS {_name(place, which)}"
                    for which, end in enumerate(bound.whole)
                ]
        names = [column.rpartition(" ")[2] for column in columns]
        kinds = ", ".join(f"{name} HUGEINT" for name in names)
        with quiet("adding up what bounds clip"):
            duck.execute(f"CREATE OR REPLACE TEMP TABLE visits (who VARCHAR, step BIGINT, {kinds})")
        for relation in self._reading.scans(duck):
            with quiet("adding up what bounds clip"):
                duck.execute(
                    f"INSERT INTO visits SELECT who, step, {', '.join(columns)} "
                    f"FROM ({self._rows(relation, share, shares)}) GROUP BY who, step"
                )
        # several scans may have events of one user in one step
        sums = ", ".join(f"sum({name}) AS {name}" for name in names)
        window = self._plan.unit.window
        span = "0" if window is None else f"(step - 1) // {window}"
        steps = f"SELECT who, {span} AS span, {sums} FROM visits GROUP BY who, step"
        parts = [
            f"{self._part(place, which)} AS part_{place}_{which}"
            for place, bound in enumerate(self._bounds)
            for which in range(len(bound.candidates))
        ]
        totals = ", ".join(f"sum({part.rpartition(' ')[2]})" for part in parts)
        units = f"SELECT {', '.join(parts)} FROM ({steps}) GROUP BY who, span"
        with quiet("adding up what bounds clip"):
            self._add(duck.execute(f"SELECT {totals} FROM ({units})"))
            duck.execute("DROP TABLE visits")

    def _part(self, place: int, which: int) -> str:
        """SQL: a unit's part of what a candidate clips, from the rows of its steps."""
        bound = self._bounds[place]
        own, top = bound.whole[which], bound.whole[-1]
        match bound.name:
            case "max_steps":
                return f"{SCALE} * (least(count(*), {top}) - least(count(*), {own}))"
            case "max_per_step":
                over = f"sum(least(events, {top}) - least(events, {own}))"
                return f"{SCALE} * {over} // count(*)"
            case _:
                outside = f"sum({_name(place, which)})"
                return f"{SCALE} * {outside} // greatest(sum(given_{place}), 1)"

    def _rows(self, relation: str, share: int = 0, shares: int = 1) -> str:
        """SELECT the step, the user, and for each bound on values the value in grid units."""
        sql, privacy = EventSql(self._plan), self._plan.privacy
        step, kept = sql.counted(self._moment)
        selected = [f"{step} AS step"]
        if privacy.user is not None:
            who = f"CAST({identifier(privacy.user)} AS VARCHAR)"
            selected.append(f"{who} AS who")
            if shares > 1:
                kept += f" AND hash({who}) % {shares} = {share}"
        if self._plan.stream.weight is not None:
            selected.append(f"{identifier(self._plan.stream.weight)} AS weight")
        for place, bound in enumerate(self._bounds):
            if bound.release is not None:
                release = self._release(bound.release)
                counts = f"{sql.matches(release)} AND ({release.cell}) IS NOT NULL"
                selected.append(f"CASE WHEN {counts} THEN {release.units} END AS value_{place}")
        return f"SELECT {', '.join(selected)} FROM {relation} WHERE {kept}"

    def _outside(self, place: int, end: int) -> str:
        """SQL: by how many grid units a value is beyond a candidate."""
        value = f"value_{place}"
        beyond = f"{value} - ({end})" if self._bounds[place].name == "upper" else f"{end} - {value}"
        return f"greatest({beyond}, 0)"

    def _release(self, name: str) -> BoundedMeasure:
        for release in self._plan.releases:
            if release.name == name and isinstance(release, BoundedMeasure):
                return release
        raise AssertionError("a bound on values is of a release with bounds")

    def _add(self, result: duckdb.DuckDBPyConnection) -> None:
        """Adds one row of sums, which are NULL without any events."""
        ((*sums,),) = result.fetchall()
        numbers = iter(int(total or 0) for total in sums)
        self._totals = [[total + next(numbers) for total in row] for row in self._totals]


def _name(place: int, which: int) -> str:
    return f"outside_{place}_{which}"
