"""The first job of a reading: opens pieces, and adds up their events or splits their users.

It runs in tasks anywhere.  What it gives back has no ids of users: only keyed hashes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
from numpy.typing import NDArray

from ameles.connectors.duck import OutOfMemory, quiet
from ameles.connectors.reading import Piece
from ameles.engine.distributed.demanded_versions import Versions
from ameles.engine.distributed.results import NumberedPiece, PieceTotals, Shard
from ameles.engine.distributed.task_connection import task_connection
from ameles.engine.gathering.bounding import Bounding
from ameles.engine.gathering.contribution_bounds import ContributionBounds
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.gathering.exact_totals import AddingUp
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.packed_arrays import Arrays, pack, stacked
from ameles.noise.arrays import IntArray
from ameles.plan.plan import Plan
from ameles.plan.sections import StoreSection

MOST_PASSES = 1 << 12


@dataclass(frozen=True, slots=True, kw_only=True)
class MapJob:
    """Reads pieces for a plan at a moment; ``salt`` is secret, so the job is."""

    plan: Plan
    moment: Moment
    buckets: int
    salt: bytes = field(repr=False)
    versions: Versions
    memory: int  # bytes that DuckDB may use in one task
    threads: int | None = None  # of DuckDB in one task; None: one for each core

    def __repr__(self) -> str:
        return "<MapJob>"

    def split(self, pieces: Iterable[NumberedPiece]) -> Iterator[Shard]:
        """The rows of each piece, in a shard for each bucket of users, also for empty ones."""
        given = list(pieces)
        with self._duck(given) as duck:
            for number, piece in given:
                yield from self._shards(number, self._keyed(duck, piece))

    def _keyed(self, duck: duckdb.DuckDBPyConnection, piece: Piece) -> Arrays:
        """The events of a piece; of one share of the users after the other, if not all of them fit
        into memory."""
        bounds = ContributionBounds.of(self.plan)
        bounding = Bounding(duck, bounds, self.moment, self.salt, None)
        passes = 1
        while True:
            try:
                parts = []
                for share in range(passes):
                    # closed even on failure, so that a retry can read the piece again
                    selects = closing(self._selected(duck, piece, share, passes))
                    with quiet("splitting events by users"), selects as selected:
                        parts.append(bounding.with_keys(selected))
                return stacked(parts)
            except OutOfMemory:
                if passes >= MOST_PASSES:
                    raise
                passes *= 2

    def _shards(self, number: int, rows: Arrays) -> Iterator[Shard]:
        del rows["part"]  # of this version of DuckDB, and not needed
        bucket = bucket_of(rows["key"], self.buckets)
        order = np.argsort(bucket, kind="stable")
        edges = np.searchsorted(bucket[order], np.arange(self.buckets + 1))
        ordered = {name: column[order] for name, column in rows.items()}
        for place in range(self.buckets):
            start, end = edges[place], edges[place + 1]
            mine = {name: column[start:end] for name, column in ordered.items()}
            yield Shard(place, number, pack(mine) if end > start else b"")

    def count(self, pieces: Iterable[NumberedPiece]) -> PieceTotals:
        """The exact totals of the events in some pieces, for a plan without users."""
        given = list(pieces)
        with self._duck(given) as duck:
            adding = AddingUp(EventSql(self.plan), duck)
            for _, piece in given:
                for selected in self._selected(duck, piece):
                    adding.add_events(selected)
            return PieceTotals(tuple(number for number, _ in given), adding.totals())

    def _duck(
        self, pieces: Iterable[NumberedPiece]
    ) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        self.versions.check()
        paths = tuple(path for _, piece in pieces for path in piece.paths)
        return task_connection(self.plan.stream.zone, self.memory, paths, threads=self.threads)

    def _selected(
        self, duck: duckdb.DuckDBPyConnection, piece: Piece, share: int = 0, shares: int = 1
    ) -> Generator[str]:
        """The events of each scan, with their answers."""
        events = EventSql(self.plan)
        for relation in piece.scans(duck):
            yield events.select(relation, self.moment, self.salt, share=share, shares=shares)


def bucket_of(keys: NDArray[np.uint8], buckets: int) -> IntArray:
    """The bucket of each keyed hash of a user."""
    first = np.ascontiguousarray(keys[:, :8]).view(">u8").reshape(-1)
    return (first % np.uint64(buckets)).astype(np.int64)


def for_tasks(plan: Plan) -> Plan:
    """The plan without what tasks need not know: its sinks, and the place of its store."""
    return replace(plan, sinks=(), store=StoreSection(url="elsewhere"), file=None)
