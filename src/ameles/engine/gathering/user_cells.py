"""Folding users: finds the cells of a table that new events hit, and keeps nothing else of them.

A cell is a keyed hash of the user: SHA-256 of the stream's salt and the user.  So it never changes,
whatever the version of DuckDB.  If it changed, one user would have two noisy bits, and the privacy
loss would double.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import numpy as np

from ameles.connectors.duck import quiet
from ameles.connectors.reading import Reading
from ameles.engine.gathering.event_sql import EventSql, user_number
from ameles.engine.gathering.moment import Moment
from ameles.noise.arrays import IntArray
from ameles.plan.plan import Plan
from ameles.store import StreamRecord


@dataclass(frozen=True)
class Folding:
    """Finds the cells for a plan about users whose state may be seized."""

    plan: Plan
    duck: duckdb.DuckDBPyConnection
    stream: StreamRecord

    def cells(self, reading: Reading) -> Iterator[dict[str, IntArray]]:
        """For each release, the cell of each event that counts; the caller must wipe the arrays."""
        events, step = EventSql(self.plan), self.stream.released + 1
        moment = Moment(self.stream.released, step, step, step)
        cells = events.cells
        tables = {
            release.name: release.hashed_cells
            for release in self.plan.releases
            if release.hashed_cells is not None
        }
        columns = ", ".join(
            f"CASE WHEN {cells[name]} IS NOT NULL THEN hashed % {size} END AS table_{place}"
            for place, (name, size) in enumerate(tables.items())
        )
        hashed = user_number(self.stream.salt, "who")
        for relation in reading.scans(self.duck):
            rows = events.select(relation, moment, self.stream.salt)
            with quiet("counting users"):
                numbers = self.duck.execute(
                    f"SELECT {columns} FROM (SELECT *, {hashed} AS hashed FROM ({rows}))"
                ).fetchnumpy()
            yield {name: _known(numbers[f"table_{place}"]) for place, name in enumerate(tables)}


def _known(column: object) -> IntArray:
    """The values that are not missing, in a new array; the original is wiped."""
    masked: np.ma.MaskedArray[tuple[int], np.dtype[np.int64]] = np.ma.masked_array(column)
    known: IntArray = masked.compressed().astype(np.int64)
    np.ma.getdata(masked).fill(0)
    return known
