"""A gatherer turns rows into exact bounded totals; its state is opaque to everybody else.

The engine stores the state beside the position, in the transaction that releases the steps.  So
rows can be gathered elsewhere by the same SQL, for example in the tasks of a cluster
(``engine/distributed``): pieces of a reading are sent there, ``EventSql`` selects their events, and
``Bounding.with_keys`` and ``Bounding.keyed`` bound them.  Only the engine draws noise, after
everything was gathered.

``DuckGatherer`` adds up single events as their rows pass.  Of users it holds the rows of one share
at a time, where a share fits into memory.  Which events of a user count depends on that user's
events alone, so shares are independent and their sums add up.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import duckdb

from ameles.connectors.duck import KeptConnection, OutOfMemory, quiet
from ameles.connectors.reading import Reading
from ameles.connectors.text.view import FewLines, SteadyRelation
from ameles.engine.gathering.bounded_reading import Bounded
from ameles.engine.gathering.bounding import Bounding
from ameles.engine.gathering.contribution_bounds import ContributionBounds, Lookup, SeenUsers
from ameles.engine.gathering.event_sql import ONE, EventSql
from ameles.engine.gathering.exact_totals import AddingUp
from ameles.engine.gathering.key_records import KeyRecords
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.packed_arrays import Arrays, stacked
from ameles.engine.gathering.pending import GathererState, Totals
from ameles.engine.gathering.prepared_queries import Numbers
from ameles.plan.plan import Plan

# The most rows of users that are held at a time; more need several passes over the source.
ROWS_AT_ONCE = 2_500_000
# Twice as many fit if no user was seen before, and four times as many if rows only pass.
ROWS_OF_NEW_USERS = 2 * ROWS_AT_ONCE
ROWS_PASSING = 4 * ROWS_AT_ONCE
# About how many bytes of a file one row takes; a wrong guess does no harm.
BYTES_A_ROW = 16
MOST_PASSES = 1 << 12


@dataclass(frozen=True)
class Gathered:
    """The result of a reading: totals of steps, and what the next reading needs."""

    totals: dict[str, Totals]
    position: str
    state: GathererState
    seen: list[SeenUsers] = field(default_factory=list)  # users that the store must remember
    records: dict[str, KeyRecords] = field(default_factory=dict)  # where keys are discovered

    def __repr__(self) -> str:
        return "<Gathered>"


class Gatherer(Protocol):
    """Takes a reading and the state before it; gives totals, a position and the next state."""

    def gather(
        self, reading: Reading, moment: Moment, salt: bytes, state: GathererState
    ) -> Gathered: ...

    def committed(self, state: GathererState) -> None:
        """Is told the state that the store has now: what only earlier states need may go."""

    def close(self) -> None:
        """Frees everything that it holds about events."""


@dataclass(frozen=True)
class DuckGatherer:
    """Gathers in this process.  Its state is the candidates: events of steps that stay open."""

    plan: Plan
    connection: KeptConnection
    lookup: Lookup | None = None  # users of earlier steps; None: they are not remembered
    prepares: bool = False  # DuckDB may keep the plan of a query, and with it exact sums

    @cached_property
    def _events(self) -> EventSql:
        return EventSql(self.plan)

    def gather(
        self, reading: Reading, moment: Moment, salt: bytes, state: GathererState
    ) -> Gathered:
        if not reading.size and not state:
            return Gathered({}, reading.position, state)  # DuckDB is not needed
        duck = self.connection.reading(reading.paths, reading.size)
        earlier = self.lookup if moment.released else None  # nobody was seen before the first step
        task = _Task(
            self.plan, duck, reading, moment, salt, state, earlier, self._events, self.prepares
        )
        return task.events() if self.plan.privacy.user is None else task.users()

    def committed(self, state: GathererState) -> None:
        """Nothing is kept outside of the state."""

    def close(self) -> None:
        self.connection.close()


@dataclass(frozen=True)
class _Task:
    """One reading of a source, under the plan's bounds."""

    plan: Plan
    duck: duckdb.DuckDBPyConnection
    reading: Reading
    moment: Moment
    salt: bytes = field(repr=False)
    state: GathererState
    lookup: Lookup | None
    sql: EventSql
    prepares: bool

    def events(self) -> Gathered:
        """Adds up all events, without users."""
        adding = AddingUp(self.sql, self.duck)
        for relation in self.reading.scans(self.duck):
            if self.prepares and isinstance(relation, FewLines):
                adding.add_few(relation, self.moment)
            elif self.prepares and isinstance(relation, SteadyRelation):
                numbers = Numbers()
                selected = self.sql.select(relation, self.moment, self.salt, number=numbers.add)
                adding.add_events(selected, numbers)
            else:
                adding.add_events(self.sql.select(relation, self.moment, self.salt))
        return Gathered(adding.totals(), self.reading.position, GathererState())

    def users(self) -> Gathered:
        """Adds up users under their bounds, in as many shares as memory requires."""
        bounds = ContributionBounds.of(self.plan)
        # If nothing is remembered, the users of one scan can be bounded as their events pass.
        passing = self.reading.single and not self.state and not bounds.remembers
        passes = -(-self.reading.size // (BYTES_A_ROW * self._at_once(passing=passing))) or 1
        # Another version of DuckDB hashes users into other shares, so then there is only one share.
        whole = bool(self.state) and self.state.made_by != duckdb.__version__
        passes = 1 if whole else passes
        while True:
            try:
                return self._shares(bounds, passes, passing=passing)
            except OutOfMemory:
                if whole or passes >= MOST_PASSES:
                    raise
                passes *= 2  # try again with smaller shares of the users

    def _selected(self, share: int = 0, shares: int = 1) -> Generator[str]:
        """The events of each scan, with their answers."""
        for relation in self.reading.scans(self.duck):
            yield self.sql.select(relation, self.moment, self.salt, share=share, shares=shares)

    def _shares(self, bounds: ContributionBounds, passes: int, *, passing: bool) -> Gathered:
        events = self.sql
        adding, waiting, seen = AddingUp(events, self.duck), list[Arrays](), list[SeenUsers]()
        records: dict[str, list[KeyRecords]] = {name: [] for name in events.words}
        cells = events.cells
        bounding = Bounding(self.duck, bounds, self.moment, self.salt, self.lookup)
        for share in range(passes):
            # Close the generator even on failure: its ``finally`` unregisters the block, so that
            # a retry can read it again.
            with closing(self._selected(share, passes)) as selected:
                bounded = (
                    bounding.passing(next(selected))
                    if passing
                    else bounding.holding(selected, self.state.arrays, share=share, passes=passes)
                )
                with quiet("bounding what each user adds"), bounded as kept:
                    adding.add_events(kept.rows)
                    for name, span in adding.once.items():
                        adding.add_users(name, kept.once(cells[name], name, span))
                    for name, parts in records.items():
                        parts.append(self._records(events, kept, name))
                    waiting.append(kept.candidates())
                    remembered = kept.seen(cells)
                    if remembered is not None:
                        seen.append(remembered)
                for _ in selected:  # fails if the source changed while it was read
                    pass
        kept_open = stacked(waiting)
        # If some candidates may have older hashes, all are treated as having them.
        older = bool(self.state) and bool(kept_open)
        state = GathererState(kept_open, self.state.made_by if older else duckdb.__version__)
        found = {
            name: KeyRecords.joined(parts, len(events.amounts[name]))
            for name, parts in records.items()
        }
        return Gathered(adding.totals(), self.reading.position, state, seen, found)

    def _records(self, events: EventSql, kept: Bounded, name: str) -> KeyRecords:
        """The records of a release whose keys are discovered."""
        once = next(one.question.once for one in self.plan.releases if one.name == name)
        amounts = ["1" if one == ONE else one for one in events.amounts[name]]
        return kept.records(events.words[name], events.cells[name], amounts, once=once is not None)

    def _at_once(self, *, passing: bool) -> int:
        """How many rows to hold at a time."""
        if passing:
            return ROWS_PASSING
        new = self.lookup is None and not self.state and self.reading.single
        return ROWS_OF_NEW_USERS if new else ROWS_AT_ONCE
