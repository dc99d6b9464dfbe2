"""Sentences about users who are counted in a table that may be seized."""

from __future__ import annotations

import numpy as np

from ameles.measures.seized_distinct import users_fit
from ameles.plan.plan import Plan


def shared_cells(plan: Plan) -> list[str]:
    """Sentences about cells that users share, for each size of a table, and about wide
    intervals."""
    tables = {one.name: one.hashed_cells for one in plan.releases if one.hashed_cells}
    told = [
        f"Users are counted in {size:,} cells, chosen by a keyed hash. Two users may share a cell: "
        "the counts correct for that on average, and the intervals allow for it. The table can "
        f"count up to about {users_fit(size):,} users."
        for size in sorted(set(tables.values()))
    ]
    last = np.array([plan.unit.window or plan.stream.horizon or 1])
    wide = []
    for one in plan.releases:
        if one.name in tables:
            (half,) = one.half_widths(plan.recipes[one.name], plan.terms(one), last)
            wide += [f"'{one.name}'"] if 4 * half > tables[one.name] else []
    if wide:
        told.append(
            f"The intervals of {', '.join(wide)} are wider than half of the table: fewer steps, or "
            "shorter windows that begin anew, make them narrower, as does a larger epsilon."
        )
    return told
