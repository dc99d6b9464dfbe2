"""A bounded reading: the users' rows that count now, and the rows that must be kept for later.

It owns no rows itself: its tables belong to the ``with`` block in ``bounding.py`` that made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ameles.engine.gathering.contribution_bounds import ContributionBounds, SeenUsers
from ameles.engine.gathering.crowded import Choice
from ameles.engine.gathering.event_sql import user_key
from ameles.engine.gathering.key_records import KeyRecords
from ameles.engine.gathering.keyed_rows import fetched_rows, packed
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.packed_arrays import Arrays
from ameles.engine.gathering.temporary_tables import TemporaryTables
from ameles.noise.arrays import IntArray


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Bounded:
    """Rows under the bounds of a plan, in tables that last as long as their ``with`` block."""

    choice: Choice  # among the rows of each user
    moment: Moment
    rows: str  # SQL: a SELECT of the rows that count now
    held: str | None  # the table of events that may belong to open steps; None: there are none
    users: str | None = None  # the table of users in closing steps, if users are remembered
    remembered: str | None = None  # the table of what earlier runs remembered about these users

    def __repr__(self) -> str:
        return "<Bounded>"

    @property
    def tables(self) -> TemporaryTables:
        """The owner of its tables."""
        return self.choice.tables

    @property
    def bounds(self) -> ContributionBounds:
        """The bounds of the plan."""
        return self.choice.bounds

    @property
    def _hashed_user(self) -> str:
        """SQL: the keyed hash of a row's user."""
        return "key" if self.choice.hashed else user_key(self.choice.salt, "key")

    def once(self, cell: str, release: str, span: Literal["step", "life"]) -> str:
        """SQL: the (step, cell) of each user, for a release in which a user counts once.

        It is the cell of an event that each of the user's events may be, with the same chance: the
        first in the user's order, of the first step for ``life``.  Who has one cell needs no order.
        """
        there = f"{cell} IS NOT NULL"
        if span == "life":
            bit = _bit(self.bounds.marks.index(release))
            known = f"SELECT key, span FROM {self.remembered} WHERE (marks & {bit}) <> 0"
            first = "rank() OVER (PARTITION BY key, span ORDER BY step) = 1"
            there = f"ANTI JOIN ({known}) USING (key, span) WHERE {there} QUALIFY {first}"
        else:
            there = f"WHERE {there}"
        counted = f"SELECT key, step, {cell} AS cell FROM ({self.rows}) {there}"
        cells = self.tables.create(
            "cells", f"SELECT key, step, cell, count(*) AS times FROM ({counted}) GROUP BY ALL"
        )
        several = self.tables.create(
            "several", f"SELECT key, step FROM {cells} GROUP BY ALL HAVING count(*) > 1"
        )
        mine = f"{cells} SEMI JOIN {several} USING (key, step)"
        each = f"SELECT key, step, cell FROM (SELECT *, unnest(range(times)) FROM {mine})"
        nth = "row_number() OVER (PARTITION BY key, step ORDER BY place, cell)"
        return (
            f"SELECT step, cell FROM {cells} ANTI JOIN {several} USING (key, step) UNION ALL "
            f"(SELECT step, cell FROM ({self.choice.placed(each, ['cell'], 'once')}) "
            f"QUALIFY {nth} = 1)"
        )

    def records(self, word: str, cell: str, amounts: Sequence[str], *, once: bool) -> KeyRecords:
        """The single records of a release whose keys are discovered.

        If a user counts ``once``, of a step and a key the first record is there alone.
        """
        known = f"SELECT * FROM ({self.rows}) WHERE {cell} IS NOT NULL AND {word} IS NOT NULL"
        facts = [name for name in self.bounds.answers if name in (word, cell, *amounts)]
        nth = f"row_number() OVER (PARTITION BY key, step, {word} ORDER BY place, {cell})"
        first = f" QUALIFY {nth} = 1" if once else ""
        placed = self.choice.placed(known, facts, "record")
        rows = self.tables.create("records", f"SELECT * FROM ({placed}){first}")
        words = self.tables.create(
            "words",
            f"SELECT word, row_number() OVER () - 1 AS number FROM "
            f"(SELECT DISTINCT {word} AS word FROM {rows})",
        )
        texts = self.tables.fetched(f"SELECT word FROM {words} ORDER BY number")["word"]
        added = "".join(f", {name} AS added_{n}" for n, name in enumerate(amounts))
        found = self.tables.fetched(
            f"SELECT step, {self._hashed_user} AS hashed, place, number, {cell} AS cell{added} "
            f"FROM {rows} JOIN {words} ON {rows}.{word} = {words}.word"
        )
        self.tables.drop(rows)
        self.tables.drop(words)
        plain = {name: np.ma.getdata(values) for name, values in found.items()}
        return KeyRecords(
            step=_whole(plain["step"]),
            user=packed(plain["hashed"]),
            place=plain["place"].astype(np.uint64),
            word=_whole(plain["number"]),
            cell=_whole(plain["cell"]),
            amounts=np.stack([_whole(plain[f"added_{n}"]) for n in range(len(amounts))], axis=1),
            words=np.ma.getdata(texts).astype(object),
        )

    def candidates(self) -> Arrays:
        """The events of steps that stay open."""
        target = self.moment.target
        if self.held is None or target >= self.moment.last:
            return {}
        ahead = f"{self.held} WHERE step > {target}"
        if not self.tables.any(f"SELECT step FROM {ahead}"):
            return {}
        return fetched_rows(self.tables, self.bounds, ahead)

    def seen(self, cells: dict[str, str]) -> SeenUsers | None:
        """What must be remembered about these users; ``cells`` are those of the marked releases."""
        if self.users is None:
            return None
        bounds, span = self.bounds, self.bounds.window_of(self.moment.target + 1)
        rows = f"SELECT key, used, steps, marks FROM {self.users} WHERE span = {span}"
        if bounds.marks:
            bits = " | ".join(
                f"CASE WHEN bool_or({cells[name]} IS NOT NULL) THEN {_bit(place)} ELSE 0 END"
                for place, name in enumerate(bounds.marks)
            )
            mine = f"FROM ({self.rows}) WHERE span = {span}"
            marked = f"SELECT key, {bits} AS bits {mine} GROUP BY key"
            both = f"({rows}) JOIN ({marked}) USING (key)"
            rows = f"SELECT * REPLACE (marks | bits AS marks) FROM {both}"
        seen = self.tables.fetched(
            f"SELECT {self._hashed_user} AS key, "
            f"least(used + steps, {bounds.max_steps}) AS steps, marks "
            f"FROM ({rows}) WHERE used < {bounds.max_steps} ORDER BY key"
        )
        users = [bytes(key) for key in seen["key"]]
        return SeenUsers(span, users, _whole(seen["steps"]), _whole(seen["marks"]))


def _bit(place: int) -> str:
    """SQL: a BIGINT with only this bit set; the last of 64 makes it negative."""
    return f"CAST({1 << place if place < 63 else -(1 << 63)} AS BIGINT)"


def _whole(values: Any) -> IntArray:
    return np.ma.getdata(values).astype(np.int64)
