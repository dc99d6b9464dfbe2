"""Apply max_per_step cheaply: count events per hash(user, step), sort only groups beyond the bound.

Few users exceed the bound in a step.  Counts by a short hash of (user, step) rule out all groups
that certainly do not.  Only the other groups are sorted, because sorting takes time and memory.
If two users share a hash, the result is the same.

``place`` is the SQL of an event's place, which takes long.  It is computed after the joins, and
only for events that are put in order.
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

    Who does not ask for places pays for those of the large groups alone.
    """
    columns = bounds.columns("step", "who", "place", "part")
    wanted = bounds.columns("step", "who", f"{place} AS place", "part")
    rows = f"SELECT *, {_crowd()} AS crowd FROM ({select})"
    crowded = _crowded(tables, rows, bounds)
    kept = _foremost(tables, rows, crowded, bounds, place)
    return (
        f"SELECT {wanted} FROM ({rows}) ANTI JOIN {crowded} USING (crowd) "
        f"UNION ALL SELECT {columns} FROM {kept}"
    )


def hold_without_crowds(
    tables: TemporaryTables,
    fresh: str,
    select: str,
    bounds: ContributionBounds,
    *,
    place: str = "place",
    needed: str = "true",
) -> None:
    """Adds to a table the events of a scan that its users keep; the table has no other rows.

    All events are held first, so that the scan is read only once more, for the large groups.
    ``needed`` is SQL that says whose places are needed later; the others are NULL.
    """
    columns = bounds.columns("step", "who", "place", "part")
    asked = place if needed == "true" else f"CASE WHEN {needed} THEN {place} END"
    wanted = bounds.columns("step", "who", f"{asked} AS place", "part")
    tables.insert(fresh, f"SELECT {wanted} FROM ({select})")
    crowded = _crowded(tables, f"SELECT {_crowd()} AS crowd FROM {fresh}", bounds)
    if tables.any(f"SELECT crowd FROM {crowded}"):
        rows = f"SELECT *, {_crowd()} AS crowd FROM ({select})"
        kept = _foremost(tables, rows, crowded, bounds, place)
        tables.run(f"DELETE FROM {fresh} WHERE {_crowd()} IN (SELECT crowd FROM {crowded})")
        tables.insert(fresh, f"SELECT {columns} FROM {kept}")
        tables.drop(kept)
    tables.drop(crowded)


def _crowd() -> str:
    return f"CAST(hash(who, step) % {_HASHES} AS UINTEGER)"


def _crowded(tables: TemporaryTables, rows: str, bounds: ContributionBounds) -> str:
    """The table of hashes with more events than one user may have in a step."""
    counts = f"SELECT crowd FROM ({rows}) GROUP BY crowd HAVING count(*) > {bounds.per_step}"
    return tables.create("crowded", counts)


def _foremost(
    tables: TemporaryTables, rows: str, crowded: str, bounds: ContributionBounds, place: str
) -> str:
    """The table of the events that users with such a hash keep."""
    wanted = bounds.columns("step", "who", f"{place} AS place", "part")
    return tables.create(
        "foremost",
        f"SELECT * FROM (SELECT {wanted} FROM ({rows}) SEMI JOIN {crowded} USING (crowd)) "
        f"{foremost('who', bounds.per_step, bounds.answers)}",
    )
