"""The SQL that reads releases: all of them in two ranges, and one of their numbers alone.

LATERAL with OFFSET 0 is an optimisation fence: for each step the planner uses the primary key, and
cannot reorder the query to scan the whole table for each of them.
"""

from __future__ import annotations

PUBLISHED = (
    "SELECT step.step, step.start_us, step.end_us, rows.* FROM step CROSS JOIN LATERAL ("
    "SELECT series, value, value_real, low, low_real, high, high_real, label FROM release "
    "WHERE release.stream = step.stream AND release.step = step.step "
    "AND series BETWEEN ? AND ? ORDER BY series OFFSET 0) AS rows "
    "WHERE step.stream = ? AND step.step BETWEEN ? AND ? ORDER BY step.step, rows.series"
)
COLUMNS = {
    **{
        name: f"coalesce({name}::DOUBLE PRECISION, {name}_real)"
        for name in ("value", "low", "high")
    },
    "label": "label",
}
ONE_COLUMN = {
    name: f"SELECT rows.cell FROM step CROSS JOIN LATERAL (SELECT series, {cell} AS cell "
    "FROM release WHERE release.stream = step.stream AND release.step = step.step "
    "AND series BETWEEN ? AND ? ORDER BY series OFFSET 0) AS rows "
    "WHERE step.stream = ? AND step.step BETWEEN ? AND ? ORDER BY step.step, rows.series"
    for name, cell in COLUMNS.items()
}
