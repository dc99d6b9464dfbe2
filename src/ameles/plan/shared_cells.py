"""Sentences about users who are counted in a table that may be seized."""

from __future__ import annotations

import numpy as np

from ameles.measures.measure import Measure
from ameles.measures.modular import Modular
from ameles.measures.seized_distinct import users_fit
from ameles.measures.table_measure import HashedMeasure
from ameles.plan.plan import Plan


def shared_cells(plan: Plan) -> list[str]:
    """Sentences about cells that users share, for each size of a table, and about wide
    intervals."""
    tables = {one.name: one.hashed_cells for one in plan.releases if one.hashed_cells}
    told = list(dict.fromkeys(_shared(one) for one in plan.releases if one.name in tables))
    last = np.array([plan.unit.window or plan.stream.horizon or 1])
    wide, whole = [], []
    for one in plan.releases:
        if one.name in tables:
            (half,) = one.half_widths(plan.recipes[one.name], plan.terms(one), last)
            if isinstance(one, HashedMeasure):
                whole += [f"'{one.name}'"] if 4 * half > one.worth else []
            else:
                wide += [f"'{one.name}'"] if 4 * half > tables[one.name] else []
    if wide:
        told.append(f"The intervals of {', '.join(wide)} are wider than half of the table: {_LESS}")
    if whole:
        told.append(
            f"The intervals of {', '.join(whole)} are wider than half of what is possible: {_LESS}"
        )
    told += [_crowded(one) for one in plan.releases if _is_crowded(one)]
    return told + _unpublished(plan)


def _is_crowded(release: Measure) -> bool:
    """Whether so many users would fill the table; a table whose users add up is refused then."""
    return isinstance(release, HashedMeasure) and release.users > users_fit(release.table)


def _crowded(release: Measure) -> str:
    fit = users_fit(release.hashed_cells or 0)
    return (
        f"The table of '{release.name}' can count up to about {fit:,} users: if more come, it is "
        "full, and its intervals have no upper end."
    )


def _unpublished(plan: Plan) -> list[str]:
    """Of which releases the last window is never published, because the stream ends before it."""
    window, horizon = plan.unit.window, plan.stream.horizon
    if window is None or horizon is None or horizon % window == 0:
        return []
    return [
        f"The last window of '{release.name}' is never published: it would end after the stream."
        for release in plan.releases
        if isinstance(release, Modular)
    ]


def _shared(release: Measure) -> str:
    """What it means for a release that users share cells."""
    size = release.hashed_cells or 0
    cells = (
        f"Users are counted in {size:,} cells, chosen by a keyed hash. Two users may share a cell"
    )
    if isinstance(release, HashedMeasure) and release.adds_up:
        return (
            f"{cells}, and their events then count as those of one: the intervals of "
            f"'{release.name}' allow for that if at most {release.users:,} users come."
        )
    if isinstance(release, HashedMeasure):
        return (
            f"{cells}: the intervals of '{release.name}' allow for it. It is a part of "
            f"{release.users:,} users, whether more come or fewer."
        )
    return (
        f"{cells}: the counts correct for that on average, and the intervals allow for it. The "
        f"table can count up to about {users_fit(size):,} users."
    )


_LESS = (
    "fewer steps, or shorter windows that begin anew, make them narrower, as does a larger epsilon."
)
