"""Apply max_per_step cheaply: count events per hash(user, step), sort only groups beyond the bound.

Few users have more events in a step than they may.  Counts by a short hash of (user, step) leave
out all who certainly have not; only the others are put in order, which is what takes time and
memory.  Two users who share a hash change nothing.
"""

from __future__ import annotations

from ameles.engine.gathering.event_sql import foremost
from ameles.engine.gathering.temporary_tables import TemporaryTables

_HASHES = 1 << 32


def without_crowds(tables: TemporaryTables, select: str, columns: str, per_step: int) -> str:
    """SQL: the events of a scan that its users keep.  Holds those of crowds; reads the others."""
    rows = (
        f"SELECT {columns}, CAST(hash(who, step) % {_HASHES} AS UINTEGER) AS crowd FROM ({select})"
    )
    counts = f"SELECT crowd FROM ({rows}) GROUP BY crowd HAVING count(*) > {per_step}"
    crowded = tables.create("crowded", counts)
    kept = tables.create(
        "foremost",
        f"SELECT {columns} FROM ({rows}) SEMI JOIN {crowded} USING (crowd) "
        f"{foremost('who', per_step)}",
    )
    return (
        f"SELECT {columns} FROM ({rows}) ANTI JOIN {crowded} USING (crowd) "
        f"UNION ALL SELECT {columns} FROM {kept}"
    )
