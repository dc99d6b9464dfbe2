"""The choice among a user's events, where a user has more than the bounds let through.

Of a user's events in a step ``max_per_step`` count, and each event has the same chance, whatever it
contains.  The choice depends on the stream's secret salt and on that user's events in that step
alone: not on other users, on columns that no release asks for, nor on the order, the batches or the
machines in which events come.

Equal answers are numbered, and an event's place is a keyed hash of the user, the step, the answers
and the number.  The events with the smallest places count.  Events with equal answers can replace
each other, so it does not matter which of them has which number.  Without the numbers, equal events
would share one place, and a rare event would count far more often than it should.

Few users exceed the bound in a step.  Counts by a short hash of (user, step) rule out all groups
that certainly do not, so only the other groups pay for places and for sorting.  If two users share
a short hash, the result is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ameles.engine.gathering.contribution_bounds import ContributionBounds
from ameles.engine.gathering.event_sql import user_hash
from ameles.engine.gathering.temporary_tables import TemporaryTables

_HASHES = 1 << 32
# SQL: the number of an event among those of a group that have the same answers.
NUMBER = "row_number() OVER (PARTITION BY {})"


@dataclass(frozen=True)
class Choice:
    """Chooses among rows; their users, in ``key``, are keyed hashes or ids not ``hashed`` yet."""

    tables: TemporaryTables
    bounds: ContributionBounds
    salt: bytes = field(repr=False)
    hashed: bool

    def kept(self, rows: str) -> str:
        """SQL: the rows of a query that their users keep.  Only rows of large groups are held."""
        numbered = f"SELECT *, {_crowd()} AS crowd FROM ({rows})"
        crowded = self._crowded(numbered)
        if not self.tables.any(f"SELECT crowd FROM {crowded}"):
            return rows
        columns = self.bounds.columns("step", "key", "part")
        kept = self._foremost(f"SELECT * FROM ({numbered}) SEMI JOIN {crowded} USING (crowd)")
        return (
            f"SELECT {columns} FROM ({numbered}) ANTI JOIN {crowded} USING (crowd) "
            f"UNION ALL SELECT {columns} FROM {kept}"
        )

    def keep(self, table: str, where: str) -> None:
        """Deletes from a table the rows, among some of them, that their users do not keep."""
        crowded = self._crowded(f"SELECT {_crowd()} AS crowd FROM {table} WHERE {where}")
        if self.tables.any(f"SELECT crowd FROM {crowded}"):
            large = f"{where} AND {_crowd()} IN (SELECT crowd FROM {crowded})"
            kept = self._foremost(f"SELECT * FROM {table} WHERE {large}")
            self.tables.run(f"DELETE FROM {table} WHERE {large}")
            columns = self.bounds.columns("step", "key", "part")
            self.tables.run(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {kept}")
            self.tables.drop(kept)
        self.tables.drop(crowded)

    def placed(self, rows: str, answers: Sequence[str], use: str) -> str:
        """SQL: rows with their ``place`` in the user's order, which is another one for each use."""
        user = "lower(hex(key))" if self.hashed else user_hash(self.salt, "key")
        texts = ", ".join(self._text(name) for name in answers)
        number = NUMBER.format(", ".join(("key", "step", *answers)))
        joined = (
            f"concat_ws(chr(31), '{self.salt.hex()}', '{use}', {user}, step, {texts}, {number})"
        )
        return (
            f"SELECT *, CAST('0x' || left(sha256({joined}), 16) AS UBIGINT) AS place FROM ({rows})"
        )

    def _text(self, name: str) -> str:
        """SQL: an answer as text; the length of a word says where it ends."""
        word = f"length({name}) || ':' || {name}" if name in self.bounds.words else name
        return f"coalesce(CAST({word} AS VARCHAR), '')"

    def _crowded(self, rows: str) -> str:
        """The table of short hashes with more events than one user may have in a step."""
        per_step = self.bounds.per_step
        counts = f"SELECT crowd FROM ({rows}) GROUP BY crowd HAVING count(*) > {per_step}"
        return self.tables.create("crowded", counts)

    def _foremost(self, rows: str) -> str:
        """The table of the rows that each user keeps in each step.

        Places are numbers of 64 bits, so two different events may share one: their answers decide.
        """
        answers = self.bounds.answers
        order = ", ".join(("place", *answers))
        nth = f"row_number() OVER (PARTITION BY key, step ORDER BY {order})"
        placed = self.placed(rows, answers, "kept")
        return self.tables.create(
            "foremost", f"SELECT * FROM ({placed}) QUALIFY {nth} <= {self.bounds.per_step}"
        )


def _crowd() -> str:
    return f"CAST(hash(key, step) % {_HASHES} AS UINTEGER)"
