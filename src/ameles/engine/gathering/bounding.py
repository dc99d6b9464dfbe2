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
from ameles.engine.gathering.crowded import Choice
from ameles.engine.gathering.event_sql import user_key
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

    @contextmanager
    def passing(self, select: str) -> Iterator[Bounded]:
        """Bounds the events of one scan as they pass.

        Only for bounds that remember nothing: then steps are independent, and only the events of
        steps that stay open are held.  The scan must stay open until the rows are read.
        """
        target, rows = self.moment.target, self._named(select)
        with TemporaryTables(self.duck) as tables:
            held, closing = None, rows
            if self._ahead(tables, f"({select})"):
                fresh = self._fresh(tables, [f"SELECT * FROM ({select}) WHERE step > {target}"])
                held = self._keyed(tables, fresh)
                closing = f"SELECT * FROM ({rows}) WHERE step <= {target}"
            choice = self._choice(tables, hashed=False)
            yield self._bounded(choice, choice.kept(closing), held)

    @contextmanager
    def holding(
        self,
        selects: Iterable[str],
        waiting: Arrays,
        *,
        share: int = 0,
        passes: int = 1,
    ) -> Iterator[Bounded]:
        """Holds the events of one share of the users, together with their waiting events."""
        with TemporaryTables(self.duck) as tables:
            fresh = self._fresh(tables, selects)
            known = self.bounds.remembers and self.lookup is not None
            if waiting or known or self._ahead(tables, fresh):
                mine = "" if passes == 1 else f" WHERE part % {passes} = {share}"
                held = self._keyed(tables, fresh, waiting, mine)
                yield self._allowed(tables, held)
            else:  # hashes are slower than ids, and not needed here
                yield self._allowed(tables, fresh, hashed=False)

    @contextmanager
    def keyed(self, rows: Arrays) -> Iterator[Bounded]:
        """Holds rows that ``with_keys`` gave, here or in other processes."""
        with TemporaryTables(self.duck) as tables:
            selected = selected_rows(self.bounds)
            yield self._allowed(tables, tables.create_from("keyed", given_rows(rows), selected))

    def with_keys(self, selects: Iterable[str]) -> Arrays:
        """The events of some scans, with keyed hashes of users, and no bounds applied."""
        with TemporaryTables(self.duck) as tables:
            fresh = self._fresh(tables, selects)
            return fetched_rows(tables, self.bounds, self._keyed(tables, fresh))

    def _named(self, select: str) -> str:
        """SQL: the events of a scan, with ids of users as keys."""
        return f"SELECT {self.bounds.columns('step', 'who AS key', 'part')} FROM ({select})"

    def _fresh(self, tables: TemporaryTables, selects: Iterable[str]) -> str:
        """The table of new events, with ids of users as keys."""
        words = self.bounds.words
        answers = "".join(
            f", {name} {'VARCHAR' if name in words else 'BIGINT'}" for name in self.bounds.answers
        )
        fresh = tables.create_empty("fresh", f"step BIGINT, key VARCHAR, part UBIGINT{answers}")
        for select in selects:
            tables.insert(fresh, self._named(select))
        return fresh

    def _choice(self, tables: TemporaryTables, *, hashed: bool) -> Choice:
        return Choice(tables, self.bounds, self.salt, hashed)

    def _keyed(
        self,
        tables: TemporaryTables,
        fresh: str,
        waiting: Arrays | None = None,
        mine: str = "",
    ) -> str:
        """The table of events with users as keyed hashes, together with the waiting events."""
        names = self.bounds.columns("step", "hashed AS key", "part")
        users = f"(SELECT DISTINCT key FROM {fresh})"
        hashes = f"SELECT key, {user_key(self.salt, 'key')} AS hashed FROM {users}"
        rows = f"SELECT {names} FROM {fresh} JOIN ({hashes}) USING (key)"
        if waiting:
            rows += f" UNION ALL {selected_rows(self.bounds, mine)}"
            table = tables.create_from("keyed", given_rows(waiting), rows)
        else:
            table = tables.create("keyed", rows)
        tables.drop(fresh)  # so that the rows are in memory only once
        return table

    def _allowed(self, tables: TemporaryTables, held: str, *, hashed: bool = True) -> Bounded:
        """The events in closing steps that each user keeps, in the first steps of each user."""
        bounds, most = self.bounds, self.bounds.max_steps
        choice, closing = self._choice(tables, hashed=hashed), f"step <= {self.moment.target}"
        choice.keep(held, closing)
        names = bounds.columns("step", "key", "span")
        rows = f"SELECT *, {bounds.span} AS span FROM {held} WHERE {closing}"
        if not bounds.remembers:
            return self._bounded(choice, f"SELECT {names} FROM ({rows})", held)
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
        return self._bounded(choice, kept, held, users, remembered)

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
        choice: Choice,
        rows: str,
        held: str | None,
        users: str | None = None,
        remembered: str | None = None,
    ) -> Bounded:
        return Bounded(
            choice=choice,
            moment=self.moment,
            rows=rows,
            held=held,
            users=users,
            remembered=remembered,
        )

    def _ahead(self, tables: TemporaryTables, table: str) -> bool:
        """Whether any of its events belongs to a step that stays open."""
        target = self.moment.target
        if target >= self.moment.last:
            return False
        return tables.any(f"SELECT step FROM {table} WHERE step > {target}")
