"""Apply max_per_step cheaply: count events per hash(user, step), sort only groups beyond the bound.

Few users exceed the bound in a step.  Counts by a short hash of (user, step) rule out all groups
that certainly do not.  Only the other groups are sorted, because sorting takes time and memory.
If two users share a hash, the result is the same.
"""

from __future__ import annotations

from ameles.engine.gathering.contribution_bounds import ContributionBounds
from ameles.engine.gathering.event_sql import foremost
from ameles.engine.gathering.temporary_tables import TemporaryTables

_HASHES = 1 << 32


def without_crowds(
    tables: TemporaryTables, select: str, bounds: ContributionBounds, place: str = "place"
) -> str:
    """SQL: the events of a scan that its users keep.  Only events of large groups are held.

    ``place`` is the SQL of an event's place, which takes long: it is computed after the joins, and
    not at all where nobody asks for it.
    """
    columns, per_step = bounds.columns("step", "who", "place", "part"), bounds.per_step
    wanted = bounds.columns("step", "who", f"{place} AS place", "part")
    rows = f"SELECT *, CAST(hash(who, step) % {_HASHES} AS UINTEGER) AS crowd FROM ({select})"
    counts = f"SELECT crowd FROM ({rows}) GROUP BY crowd HAVING count(*) > {per_step}"
    crowded = tables.create("crowded", counts)
    kept = tables.create(
        "foremost",
        f"SELECT * FROM (SELECT {wanted} FROM ({rows}) SEMI JOIN {crowded} USING (crowd)) "
        f"{foremost('who', per_step, bounds.answers)}",
    )
    return (
        f"SELECT {wanted} FROM ({rows}) ANTI JOIN {crowded} USING (crowd) "
        f"UNION ALL SELECT {columns} FROM {kept}"
    )
