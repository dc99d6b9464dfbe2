"""Bounding: takes rows of users, and gives the rows that the plan's bounds keep.

There are three entries.  ``passing`` bounds one scan as its rows pass and holds nearly nothing;
``holding`` holds the rows of several scans; ``keyed`` takes rows whose users are already keyed
hashes, wherever those were computed.  Each is a ``with`` block that owns the tables of its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb
import numpy as np

from ameles.engine.gathering.bounded_reading import Bounded
from ameles.engine.gathering.contribution_bounds import ContributionBounds, Lookup
from ameles.engine.gathering.crowded import hold_without_crowds, without_crowds
from ameles.engine.gathering.event_sql import foremost, user_key
from ameles.engine.gathering.keyed_rows import fetched_rows, given_rows, selected_rows
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.packed_arrays import Arrays
from ameles.engine.gathering.temporary_tables import TemporaryTables


@dataclass(frozen=True)
class Bounding:
    """The bounds of a plan, applied to one share of the users after the other."""

    duck: duckdb.DuckDBPyConnection
    bounds: ContributionBounds
    moment: Moment
    salt: bytes = field(repr=False)
    lookup: Lookup | None  # None: nothing is remembered yet
    place: str = "place"  # SQL: an event's place, from the columns of a scan
    ordered: bool = True  # releases ask for the places of events in closing steps

    @contextmanager
    def passing(self, select: str) -> Iterator[Bounded]:
        """Bounds the events of one scan as they pass.

        Only for bounds that remember nothing: then steps are independent, and only the events of
        steps that stay open are held.  The scan must stay open until the rows are read.
        """
        target = self.moment.target
        with TemporaryTables(self.duck) as tables:
            held, closing = None, ""
            if self._ahead(tables, f"({select})"):
                ahead = f"SELECT * FROM ({select}) WHERE step > {target}"
                fresh, _ = self._fresh(tables, [ahead])
                held, closing = self._keyed(tables, fresh), f" WHERE step <= {target}"
            kept = self._uncrowded(tables, f"SELECT * FROM ({select}){closing}")
            rows = f"SELECT *, who AS key FROM ({kept})"
            yield self._bounded(tables, rows, held, hashed=False)

    @contextmanager
    def holding(
        self,
        selects: Iterable[str],
        waiting: Arrays,
        *,
        share: int = 0,
        passes: int = 1,
        single: bool = False,
    ) -> Iterator[Bounded]:
        """Holds the events of one share of the users, together with their waiting events."""
        with TemporaryTables(self.duck) as tables:
            # Events of open steps are put in order once more, together with those that come later.
            ahead = not self.ordered and not waiting
            needed = f"step > {self.moment.target}" if ahead else "true"
            fresh, scans = self._fresh(tables, selects, single=single, needed=needed)
            known = self.bounds.remembers and self.lookup is not None
            if waiting or scans > 1 or known or self._ahead(tables, fresh):
                mine = "" if passes == 1 else f" WHERE part % {passes} = {share}"
                again = bool(waiting) or scans > 1
                held = self._keyed(tables, fresh, waiting, mine, again=again)
                yield self._allowed(tables, held)
            else:  # hashes are slower than ids, and not needed here
                yield self._allowed(tables, f"(SELECT *, who AS key FROM {fresh})", hashed=False)

    @contextmanager
    def keyed(self, rows: Arrays) -> Iterator[Bounded]:
        """Holds rows that ``with_keys`` gave, here or in other processes."""
        with TemporaryTables(self.duck) as tables:
            kept = f"SELECT * FROM ({selected_rows(self.bounds)}) {self._foremost('key')}"
            yield self._allowed(tables, tables.create_from("keyed", given_rows(rows), kept))

    def with_keys(self, selects: Iterable[str], *, single: bool = False) -> Arrays:
        """The events of some scans, bounded within each scan, with keyed hashes of users."""
        with TemporaryTables(self.duck) as tables:
            fresh, _ = self._fresh(tables, selects, single=single)
            return fetched_rows(tables, self.bounds, self._keyed(tables, fresh))

    def _fresh(
        self,
        tables: TemporaryTables,
        selects: Iterable[str],
        *,
        single: bool = False,
        needed: str = "true",
    ) -> tuple[str, int]:
        """The table of new events, bounded within each scan, and the number of scans.

        Of a ``single`` scan, only the places that are ``needed`` are there.
        """
        words = self.bounds.words
        answers = "".join(
            f", {name} {'VARCHAR' if name in words else 'BIGINT'}" for name in self.bounds.answers
        )
        columns = f"step BIGINT, who VARCHAR, place UBIGINT, part UBIGINT{answers}"
        fresh, scans = tables.create_empty("fresh", columns), 0
        for select in selects:
            scans += 1
            if single:  # the file is large, and quick to read again
                hold_without_crowds(
                    tables, fresh, select, self.bounds, place=self.place, needed=needed
                )
            else:
                columns = self.bounds.columns("step", "who", "place", "part")
                kept = f"SELECT {columns} FROM ({select}) {self._foremost('who')}"
                tables.insert(fresh, kept)
        return fresh, scans

    def _uncrowded(self, tables: TemporaryTables, select: str) -> str:
        return without_crowds(tables, select, self.bounds, self.place)

    def _foremost(self, user: str) -> str:
        return foremost(user, self.bounds.per_step, self.bounds.answers)

    def _keyed(
        self,
        tables: TemporaryTables,
        fresh: str,
        waiting: Arrays | None = None,
        mine: str = "",
        *,
        again: bool = False,
    ) -> str:
        """The table of events with users as keyed hashes, together with the waiting events."""
        names = self.bounds.columns("step", "key", "place", "part")
        users = f"(SELECT DISTINCT who FROM {fresh})"
        hashes = f"SELECT who, {user_key(self.salt, 'who')} AS key FROM {users}"
        rows = f"SELECT {names} FROM {fresh} JOIN ({hashes}) USING (who)"
        order = self._foremost("key")
        if not waiting:
            held = f"SELECT * FROM ({rows}) {order}" if again else rows
            table = tables.create("keyed", held)
        else:
            rows += f" UNION ALL {selected_rows(self.bounds, mine)}"
            given = given_rows(waiting)
            table = tables.create_from("keyed", given, f"SELECT * FROM ({rows}) {order}")
        tables.drop(fresh)  # so that the rows are in memory only once
        return table

    def _allowed(self, tables: TemporaryTables, held: str, *, hashed: bool = True) -> Bounded:
        """The events in closing steps that belong to the first steps of each user."""
        bounds, most = self.bounds, self.bounds.max_steps
        names = bounds.columns("step", "key", "place", "span")
        rows = f"SELECT *, {bounds.span} AS span FROM {held} WHERE step <= {self.moment.target}"
        if not bounds.remembers:
            return self._bounded(tables, f"SELECT {names} FROM ({rows})", held, hashed=hashed)
        remembered = self._remembered(tables, held, hashed=hashed)
        present = f"SELECT key, span, count(DISTINCT step) AS steps FROM ({rows}) GROUP BY ALL"
        users = tables.create(
            "users",
            "SELECT present.*, coalesce(earlier.steps, 0) AS used, coalesce(marks, 0) AS marks "
            f"FROM ({present}) AS present LEFT JOIN {remembered} AS earlier USING (key, span)",
        )
        # For most users all steps count; only the steps of the other users are sorted.
        busy = f"(SELECT key, span, used FROM {users} WHERE used + steps > {most})"
        nth = "dense_rank() OVER (PARTITION BY key, span ORDER BY step)"
        limited = tables.create(
            "limited",
            f"SELECT {names} FROM ({rows}) JOIN {busy} USING (key, span) "
            f"QUALIFY {nth} + used <= {most}",
        )
        kept = (
            f"SELECT {names} FROM ({rows}) ANTI JOIN {busy} USING (key, span) "
            f"UNION ALL SELECT {names} FROM {limited}"
        )
        return self._bounded(tables, kept, held, users, remembered, hashed=hashed)

    def _remembered(self, tables: TemporaryTables, held: str, *, hashed: bool) -> str:
        """The table of what earlier runs remembered about these users, in the current window."""
        current = self.bounds.window_of(self.moment.released + 1)
        if self.lookup is not None:
            here = f"SELECT DISTINCT key FROM {held} WHERE {self.bounds.span} = {current}"
            users = [bytes(key) for key in tables.fetched(here)["key"]]
            known = self.lookup(current, users)
            if known.users:
                keys = np.empty(len(known.users), dtype=object)
                keys[:] = known.users
                given = {"key": keys, "steps": known.steps, "marks": known.marks}
                span = f"CAST({current} AS BIGINT) AS span"
                columns = f"CAST(key AS BLOB) AS key, {span}, steps, marks"
                return tables.create_from("remembered", given, f"SELECT {columns} FROM {{}}")
        key = "BLOB" if hashed else "VARCHAR"
        columns = f"key {key}, span BIGINT, steps BIGINT, marks BIGINT"
        return tables.create_empty("remembered", columns)

    def _bounded(
        self,
        tables: TemporaryTables,
        rows: str,
        held: str | None,
        users: str | None = None,
        remembered: str | None = None,
        *,
        hashed: bool = True,
    ) -> Bounded:
        return Bounded(
            tables=tables,
            bounds=self.bounds,
            moment=self.moment,
            salt=self.salt,
            rows=rows,
            held=held,
            users=users,
            remembered=remembered,
            hashed=hashed,
        )

    def _ahead(self, tables: TemporaryTables, table: str) -> bool:
        """Whether any of its events belongs to a step that stays open."""
        target = self.moment.target
        if target >= self.moment.last:
            return False
        return tables.any(f"SELECT step FROM {table} WHERE step > {target}")
