"""The bound of a step on a large scan: few users have more events in it than they may.

Counts by a short hash of (user, step) leave out all who certainly have not; only the others are
put in order, which is what takes time and memory.  Two users who share a hash change nothing.
"""

from __future__ import annotations

import duckdb

_HASHES = 1 << 32


def foremost(user: str, per_step: int) -> str:
    """SQL, after FROM: only the events that a user keeps in a step."""
    nth = f"row_number() OVER (PARTITION BY {user}, step ORDER BY place)"
    return f"QUALIFY {nth} <= {per_step}"


def without_crowds(
    duck: duckdb.DuckDBPyConnection, select: str, columns: str, per_step: int
) -> str:
    """SQL: the events of a scan that its users keep.  Holds those of crowds; reads the others."""
    rows = (
        f"SELECT {columns}, CAST(hash(who, step) % {_HASHES} AS UINTEGER) AS crowd FROM ({select})"
    )
    duck.execute(
        f"CREATE OR REPLACE TEMP TABLE crowded AS SELECT crowd FROM ({rows}) "
        f"GROUP BY crowd HAVING count(*) > {per_step}"
    )
    duck.execute(
        f"CREATE OR REPLACE TEMP TABLE foremost AS SELECT {columns} FROM ({rows}) "
        f"SEMI JOIN crowded USING (crowd) {foremost('who', per_step)}"
    )
    return (
        f"SELECT {columns} FROM ({rows}) ANTI JOIN crowded USING (crowd) "
        f"UNION ALL SELECT {columns} FROM foremost"
    )
