"""A few events: DuckDB reads their lines, and Python adds them up.

With ten lines, DuckDB takes as long to prepare for groups as for everything else, and a filter with
numbers that differ from step to step takes as long again as the rest.  So this query has neither.

Python's numbers cannot be overwritten, so this is not for streams whose state may be seized.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np

from ameles.connectors.duck import quiet
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import Totals
from ameles.engine.gathering.prepared_queries import run_prepared

_HALF, _FULL = 1 << 63, 1 << 64


def few_totals(
    events: EventSql, duck: duckdb.DuckDBPyConnection, relation: str, moment: Moment
) -> dict[str, Totals]:
    """The totals of each release of a plan without users, from a relation that stays."""
    with quiet("reading the events of a step"):
        rows = run_prepared(duck, events.select_few(relation)).fetchall()
    steps = events.steps(moment, [us for us, *_ in rows])
    counted = [(step, row) for step, row in zip(steps, rows, strict=True) if step is not None]
    places = {name: place for place, name in enumerate(events.columns, start=2)}
    return {
        release.name: _added(
            counted,
            places[events.cells[release.name]],
            # the amount of a plain count has no column
            [places.get(name) for name in events.amounts[release.name]],
        )
        for release in events.plan.releases
    }


def _added(
    counted: Sequence[tuple[int, tuple[Any, ...]]], cell: int, amounts: Sequence[int | None]
) -> Totals:
    """The sums of some columns for each step and cell.  A row begins with its time and weight; one
    without a cell counts nowhere."""
    sums: dict[tuple[int, int], list[int]] = {}
    for step, row in counted:
        if row[cell] is not None:
            known = sums.setdefault((step, row[cell]), [0] * len(amounts))
            for place, amount in enumerate(amounts):
                known[place] += row[1] * (1 if amount is None else row[amount] or 0)
    if not sums:
        return Totals.none(len(amounts))
    places = np.array(list(sums), dtype=np.int64)
    # modulo 2**64, as DuckDB's sums are
    exact = [[(one + _HALF) % _FULL - _HALF for one in known] for known in sums.values()]
    return Totals(places[:, 0], places[:, 1], np.array(exact, dtype=np.int64))
