"""A bounded reading: the users' rows that count now, and the rows that must be kept for later.

It owns no rows itself: its tables belong to the ``with`` block in ``bounding.py`` that made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ameles.engine.gathering.contribution_bounds import ContributionBounds, SeenUsers
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

    tables: TemporaryTables
    bounds: ContributionBounds
    moment: Moment
    salt: bytes
    rows: str  # SQL: a SELECT of the rows that count now
    held: str | None  # the table of events that may belong to open steps; None: there are none
    users: str | None = None  # the table of users in closing steps, if users are remembered
    remembered: str | None = None  # the table of what earlier runs remembered about these users
    hashed: bool = True  # whether users are keyed hashes, as in the store, or ids

    def __repr__(self) -> str:
        return "<Bounded>"

    def once(self, cell: str, release: str, span: Literal["step", "life"]) -> str:
        """SQL: the (step, cell) of each user, for a release in which a user counts once."""
        if span == "step":
            unseen, one = "", f"key, step ORDER BY place, {cell}"
        else:
            bit = _bit(self.bounds.marks.index(release))
            known = f"SELECT key, span FROM {self.remembered} WHERE (marks & {bit}) <> 0"
            unseen, one = (
                f"ANTI JOIN ({known}) USING (key, span) ",
                f"key, span ORDER BY step, place, {cell}",
            )
        return (
            f"SELECT step, {cell} AS cell FROM ({self.rows}) {unseen}WHERE {cell} IS NOT NULL "
            f"QUALIFY row_number() OVER (PARTITION BY {one}) = 1"
        )

    def records(self, word: str, cell: str, amounts: Sequence[str], *, once: bool) -> KeyRecords:
        """The single records of a release whose keys are discovered.

        If a user counts ``once``, of a step and a key the first record is there alone.
        """
        one = f"PARTITION BY key, step, {word} ORDER BY place, {cell}"
        first = f"QUALIFY row_number() OVER ({one}) = 1" if once else ""
        known = f"{cell} IS NOT NULL AND {word} IS NOT NULL"
        # computed once: in a passing scan, places take long
        rows = self.tables.create("records", f"SELECT * FROM ({self.rows}) WHERE {known} {first}")
        words = self.tables.create(
            "words",
            f"SELECT word, row_number() OVER () - 1 AS number FROM "
            f"(SELECT DISTINCT {word} AS word FROM {rows})",
        )
        texts = self.tables.fetched(f"SELECT word FROM {words} ORDER BY number")["word"]
        key = "key" if self.hashed else user_key(self.salt, "key")
        added = "".join(f", {name} AS added_{n}" for n, name in enumerate(amounts))
        found = self.tables.fetched(
            f"SELECT step, {key} AS hashed, place, number, {cell} AS cell{added} "
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
        key = "key" if self.hashed else user_key(self.salt, "key")
        seen = self.tables.fetched(
            f"SELECT {key} AS key, least(used + steps, {bounds.max_steps}) AS steps, marks "
            f"FROM ({rows}) WHERE used < {bounds.max_steps} ORDER BY key"
        )
        users = [bytes(key) for key in seen["key"]]
        return SeenUsers(span, users, _whole(seen["steps"]), _whole(seen["marks"]))


def _bit(place: int) -> str:
    """SQL: a BIGINT with only this bit set; the last of 64 makes it negative."""
    return f"CAST({1 << place if place < 63 else -(1 << 63)} AS BIGINT)"


def _whole(values: Any) -> IntArray:
    return np.ma.getdata(values).astype(np.int64)
