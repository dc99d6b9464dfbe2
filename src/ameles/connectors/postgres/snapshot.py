"""Snapshots of Postgres: which transactions had ended at some moment.

A row counts when its transaction has ended in the new snapshot and had not in the old one.  So a
transaction that commits late counts once, whenever that is, and no other waits for it.  The rows
are found by ranges of transactions: those from the old snapshot's end on, and the few that were
still open then.

>>> old, new = Snapshot.of("10:12:10"), Snapshot.of("10:15:10,13")
>>> [tx for tx in range(9, 16) if new.has(tx) and not old.has(tx)]
[12, 14]
>>> new.goes_on(old), old.goes_on(new)
(True, False)
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Transactions below ``lowest`` had ended, those from ``end`` on had not begun or not ended,
    and of those between, ``open`` had not ended."""

    lowest: int
    end: int
    open: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: str) -> Snapshot:
        """A snapshot as Postgres writes it: ``xmin:xmax:xip,...``."""
        lowest, end, still = text.split(":")
        return cls(int(lowest), int(end), tuple(map(int, filter(None, still.split(",")))))

    def __str__(self) -> str:
        return f"{self.lowest}:{self.end}:{','.join(map(str, self.open))}"

    def has(self, transaction: int) -> bool:
        """Whether a transaction had ended."""
        return transaction < self.end and transaction not in self.open

    def goes_on(self, before: Snapshot) -> bool:
        """Whether everything that had ended before has ended here."""
        return self.lowest >= before.lowest and self.end >= before.end


NOTHING = Snapshot(3, 3)  # before the first transaction of a server


def new_rows(table: str, column: str, old: Snapshot, new: Snapshot, wanted: str) -> str:
    """SQL: something of the rows whose transactions ended between two snapshots."""
    ranges = [f"{column} >= '{old.end}'::xid8 AND {column} < '{new.end}'::xid8"]
    if old.open:
        ranges.append(f"{column} = ANY ('{{{','.join(map(str, old.open))}}}'::xid8[])")
    return " UNION ALL ".join(
        f"SELECT {wanted} FROM ONLY {table} AS t "
        f"WHERE {each} AND pg_visible_in_snapshot({column}, '{new}'::pg_snapshot)"
        for each in ranges
    )


def foreign_rows(table: str, column: str, now: Snapshot) -> str:
    """SQL: whether a row names a transaction that has not ended although the row can be seen."""
    still = f"{{{','.join(map(str, now.open))}}}"
    return (
        f"SELECT EXISTS (SELECT FROM ONLY {table} AS t WHERE {column} >= '{now.end}'::xid8) "
        f"OR EXISTS (SELECT FROM ONLY {table} AS t WHERE {column} = ANY ('{still}'::xid8[]))"
    )
