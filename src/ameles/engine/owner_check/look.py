"""Reads a source once, as a run would, and counts everything that ``ameles check`` shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from operator import attrgetter
from typing import Protocol

import duckdb

from ameles.connectors.duck import OutOfMemory, connect, quiet
from ameles.connectors.text.lines import Tally
from ameles.connectors.typed_columns import HEAVIEST, given_name
from ameles.core.exceptions import AmelesError
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.gathering.moment import Moment
from ameles.engine.owner_check.column_facts import ColumnLook
from ameles.engine.owner_check.facts import Facts, LineFacts, TimeFacts, WeightFacts
from ameles.engine.owner_check.release_facts import ReleaseLook
from ameles.engine.owner_check.user_bounds import UserLook
from ameles.measures.fields import identifier
from ameles.plan.clock import END, instant
from ameles.plan.plan import Plan

MEMORY = 1 << 30
_REPLACED = 0xFFFD  # replaces a character that the encoding does not have
# About how many bytes of a source one pass over the users covers.
_BYTES_A_PASS = 256 << 20
_MOST_PASSES = 1 << 10
_SALT = b""  # it decides which events of a user are kept, and does not change how many


class Rows(Protocol):
    """The rows of a source, which can be read several times."""

    tally: Tally

    @property
    def size(self) -> int: ...
    @property
    def held(self) -> bool: ...  # a scan is small, and reading it again is slow
    @property
    def paths(self) -> tuple[str, ...]: ...
    @property
    def problems(self) -> tuple[AmelesError, ...]: ...
    @property
    def incomplete(self) -> tuple[str, ...]: ...
    def scans(self, duck: duckdb.DuckDBPyConnection, *, first: bool) -> Iterator[str]: ...


def look(
    plan: Plan,
    rows: Rows,
    moment: Moment,
    *,
    show: bool = False,
    memory: int = MEMORY,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Facts:
    """All facts about the rows of a source; with values only if ``show`` is true."""
    users = plan.privacy.user is not None
    passes = -(-rows.size // _BYTES_A_PASS) or 1 if users else 1
    while True:
        try:
            return _Look(plan, moment, show=show, progress=progress).at(rows, passes, memory)
        except OutOfMemory:
            if not users or passes >= _MOST_PASSES:
                raise
            passes *= 2  # fewer users in each pass


class _Look:
    def __init__(
        self, plan: Plan, moment: Moment, *, show: bool, progress: Callable[[int, int], None]
    ) -> None:
        self._plan = plan
        self._moment = moment
        self._progress = progress
        self._columns = ColumnLook(plan, show=show)
        self._releases = ReleaseLook(plan, show=show)
        self._lines = LineFacts()
        self._times = TimeFacts()
        self._weights = None if plan.stream.weight is None else WeightFacts()
        self._without_id = 0

    def at(self, rows: Rows, passes: int, memory: int) -> Facts:
        zone, plan = self._plan.stream.zone, self._plan
        rows.tally = Tally()
        with closing(connect(zone=zone, memory=memory, readable=rows.paths)) as duck:
            users = None if plan.privacy.user is None else UserLook(plan, duck)
            for share in range(passes):
                for relation in rows.scans(duck, first=share == 0):
                    scan = self._scan(duck, relation, held=rows.held)
                    if share == 0:
                        self._add(duck, scan)
                    if users is not None:
                        users.add(self._events(scan, share, passes))
                    self._progress(share * rows.size + rows.tally.read, passes * rows.size)
                if users is not None:
                    users.fold()
            user_facts = None if users is None else users.finished()
        if user_facts is not None:
            user_facts.without = self._without_id
        self._lines.flaws = rows.tally.flaws
        self._lines.places = {
            flaw: sorted(places, key=attrgetter("file", "line"))
            for flaw, places in rows.tally.places.items()
        }
        return Facts(
            stream=plan.stream.name,
            source=plan.stream.source,
            released=self._moment.released,
            lines=self._lines,
            columns=self._columns.finished(),
            times=self._times,
            weights=self._weights,
            users=user_facts,
            releases=self._releases.finished(),
        )

    def _scan(self, duck: duckdb.DuckDBPyConnection, relation: str, *, held: bool) -> str:
        """Gives the rows of a scan a name; if they are held in memory, they are parsed once."""
        kind = "TABLE" if held else "VIEW"
        with quiet("reading events"):
            duck.execute(f"CREATE OR REPLACE TEMP {kind} scan AS SELECT * FROM {relation}")
        return "scan"

    def _events(self, scan: str, share: int = 0, shares: int = 1) -> str:
        events = EventSql(self._plan)
        return events.select(scan, self._moment, _SALT, share=share, shares=shares)

    def _add(self, duck: duckdb.DuckDBPyConnection, scan: str) -> None:
        moment = self._moment
        _, kept = EventSql(self._plan).counted(moment)
        self._columns.add(duck, scan)
        self._add_times(duck, scan, kept)
        self._releases.add(duck, f"SELECT * FROM {scan} WHERE {kept}", self._events(scan))

    def _add_times(self, duck: duckdb.DuckDBPyConnection, scan: str, kept: str) -> None:
        plan = self._plan
        texts = [identifier(given_name(name)) for name in plan.stream.columns]
        broken = " OR ".join(f"contains({text}, chr({_REPLACED}))" for text in texts)
        user, weight = plan.privacy.user, plan.stream.weight
        heavy = "NULL" if weight is None else identifier(weight)
        asked = [
            "count(*)",
            f"count(*) FILTER ({broken})",
            f"count(*) FILTER ({kept})",
            "0" if user is None else f"count(*) FILTER ({identifier(user)} IS NULL)",
            f"count(*) FILTER ({heavy} IS NULL)",
            f"count(*) FILTER ({heavy} < 0)",
            f"count(*) FILTER ({heavy} = 0)",
            f"count(*) FILTER (abs({heavy}) >= {HEAVIEST})",
            f"coalesce(sum({heavy}) FILTER ({kept}), 0)",
            *self._of_times(),
        ]
        with quiet("looking at times"):
            (counts,) = duck.execute(f"SELECT {', '.join(asked)} FROM {scan}").fetchall()
        lines, times = self._lines, self._times
        lines.events += counts[0]
        lines.replaced += counts[1]
        times.counted += counts[2]
        self._without_id += counts[3]
        if self._weights is not None:
            self._weights.missing += counts[4]
            self._weights.negative += counts[5]
            self._weights.zero += counts[6]
            self._weights.clamped += counts[7]
            self._weights.total += int(counts[8])
        without, before, late, after, waiting, first, last = counts[9:]
        times.without += without
        times.before += before
        times.late += late
        times.after += after
        times.waiting += waiting
        if first is not None:
            seen = [times.first, times.last, instant(first), instant(last)]
            known = [time for time in seen if time is not None]
            times.first, times.last = min(known), max(known)

    def _of_times(self) -> list[str]:
        """SQL that counts rows: without a time, before the start, late, after the end, open; and
        the first and last time."""
        time, clock, moment = self._plan.stream.time, self._plan.clock, self._moment
        if time is None:
            return ["0", "0", "0", "0", "0", "NULL", "NULL"]
        us = f"epoch_us({identifier(time)})"
        shown = f"{us} >= 0 AND {us} < {END}"  # years that a date of Python has
        opening, end = clock.start_of(moment.released + 1), clock.end_of(moment.last)
        return [
            f"count(*) FILTER ({us} IS NULL)",
            f"count(*) FILTER ({us} < {clock.first})",
            f"count(*) FILTER ({us} >= {clock.first} AND {us} < {opening})",
            f"count(*) FILTER ({us} >= {end})",
            f"count(*) FILTER ({us} >= {clock.end_of(moment.target)} AND {us} < {end})",
            f"min({us}) FILTER ({shown})",
            f"max({us}) FILTER ({shown})",
        ]
