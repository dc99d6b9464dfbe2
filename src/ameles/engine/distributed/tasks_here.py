"""Tasks that run in this process, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ameles.connectors.reading import Piece
from ameles.engine.distributed.map_job import MapJob
from ameles.engine.distributed.reduce_job import ReduceJob
from ameles.engine.distributed.results import BucketResult, PieceTotals, Shard
from ameles.engine.distributed.task_connection import close_connections


@dataclass(frozen=True, slots=True)
class TasksHere:
    """Runs all tasks here; ``at_once`` is the number of pieces in one task."""

    at_once: int = 1

    def events(self, job: MapJob, pieces: Sequence[Piece]) -> Iterator[PieceTotals]:
        numbered = list(enumerate(pieces))
        for first in range(0, len(numbered), self.at_once):
            yield job.count(numbered[first : first + self.at_once])

    def users(
        self, job: MapJob, pieces: Sequence[Piece], reduce: ReduceJob, buckets: int
    ) -> Iterator[BucketResult]:
        shuffled: list[list[Shard]] = [[] for _ in range(buckets)]
        numbered = list(enumerate(pieces))
        for first in range(0, len(numbered), self.at_once):
            for shard in job.split(numbered[first : first + self.at_once]):
                shuffled[shard.bucket].append(shard)
        for bucket, shards in enumerate(shuffled):
            yield reduce.bound(bucket, shards)

    def close(self) -> None:
        close_connections()
