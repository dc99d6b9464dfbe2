"""The protocol between the engine and whoever schedules its tasks.

A job is a value that can be pickled, with functions that any process may call.  No task draws
noise, because a task may be tried again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from ameles.connectors.reading import Piece
from ameles.engine.distributed.map_job import MapJob
from ameles.engine.distributed.reduce_job import ReduceJob
from ameles.engine.distributed.results import BucketResult, PieceTotals


class Tasks(Protocol):
    """Runs the functions of jobs, anywhere, and gives back their results."""

    def events(self, job: MapJob, pieces: Sequence[Piece]) -> Iterable[PieceTotals]:
        """Calls ``job.count`` so that each piece is in exactly one result."""

    def users(
        self, job: MapJob, pieces: Sequence[Piece], reduce: ReduceJob, buckets: int
    ) -> Iterable[BucketResult]:
        """Calls ``job.split``, then ``reduce.bound`` once for each bucket from 0 to ``buckets``
        - 1 with all shards of that bucket, also if there are none."""

    def close(self) -> None:
        """Frees what it holds about events; it may be used again after that."""
