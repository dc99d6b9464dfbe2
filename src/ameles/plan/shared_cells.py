"""What a plan says of users who are counted in a table that may be seized."""

from __future__ import annotations

from ameles.core.recipe import Recipe
from ameles.measures.distinct import Distinct
from ameles.measures.seized_distinct import inner_of, reach, users_fit
from ameles.mechanisms.continual.afresh import Afresh
from ameles.plan.plan import Plan


def shared_cells(plan: Plan) -> list[str]:
    """On the cells that users share, for each size of a table; and whether that is of any use."""
    sizes = {one.table for one in plan.releases if isinstance(one, Distinct) and one.table}
    told = [
        f"Users are counted in {size:,} cells, by a keyed hash; two may share one, which the "
        "counts make up for on average, and the intervals include. Up to about "
        f"{users_fit(size):,} users the table tells how many."
        for size in sorted(sizes)
    ]
    steps = plan.unit.window or plan.stream.horizon or 1
    wide = [
        f"'{one.name}'"
        for one in plan.releases
        if isinstance(one, Distinct)
        and one.table
        and 4 * reach(plan.recipes[one.name], steps) > one.table
    ]
    if wide:
        told.append(
            f"The intervals of {', '.join(wide)} are wider than half of the table: fewer steps, or "
            "shorter windows that begin anew, make them narrower, as does a larger epsilon."
        )
    return told


def seized_why(recipe: Recipe) -> str:
    """Why users are counted in this way."""
    inner = inner_of(recipe)
    if isinstance(inner, Afresh):
        steps = "1 step" if inner.horizon == 1 else f"{inner.horizon} steps"
        how = f"asking its table afresh at each of {steps} has the smallest error"
    else:
        how = (
            f"over {inner.horizon} steps a number that changes at most {inner.changes} times has "
            "the smallest error"
        )
    return f"{how}, and begins anew with every window" if inner is not recipe else how
