"""Pieces and jobs that fail where a test wants it; what they did is told by files."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb

from ameles.connectors.reading import Piece
from ameles.engine.distributed.map_job import MapJob
from ameles.engine.distributed.reduce_job import ReduceJob
from ameles.engine.distributed.results import BucketResult, PieceTotals, Shard
from ameles.spark.spark_tasks import SparkTasks

CANARY = "canary-4711"


def attempts(folder: Path, what: str) -> int:
    """How often something was begun, by whatever process."""
    return len(list(folder.glob(f"{what}-*")))


def _begun(folder: Path, what: str) -> int:
    (folder / f"{what}-{uuid4()}").touch()
    return attempts(folder, what)


@dataclass(frozen=True)
class KilledOnce(Piece):
    """A piece whose first reader is killed in the middle."""

    piece: Piece
    folder: Path

    @property
    def size(self) -> int:
        return self.piece.size

    @property
    def paths(self) -> tuple[str, ...]:
        return self.piece.paths

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        first = _begun(self.folder, "read") == 1
        yield from self.piece.scans(duck)
        if first:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Quoting(KilledOnce):
    """A piece that cannot be read, with an error that quotes an event."""

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        _begun(self.folder, "read")
        raise ValueError(f"cannot read {CANARY}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledReduce(ReduceJob):
    """A job that is killed once, after it has written the files of a bucket."""

    marks: Path

    def bound(self, bucket: int, shards: Iterable[Shard]) -> BucketResult:
        result = ReduceJob.bound(self, bucket, shards)
        if _begun(self.marks, "bound") == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


class FailingTasks(SparkTasks):
    """Tasks of Spark that fail: readers as ``kind`` says, and a reducer once."""

    def __init__(self, context: Any, folder: Path, kind: type[KilledOnce] = KilledOnce) -> None:
        super().__init__(context)
        self._folder = folder
        self._kind = kind

    def events(self, job: MapJob, pieces: Sequence[Piece]) -> Iterator[PieceTotals]:
        return super().events(job, self._failing(pieces))

    def users(
        self, job: MapJob, pieces: Sequence[Piece], reduce: ReduceJob, buckets: int
    ) -> Iterator[BucketResult]:
        given = {each.name: getattr(reduce, each.name) for each in fields(reduce)}
        killed = KilledReduce(**given, marks=self._folder)
        return super().users(job, self._failing(pieces), killed, buckets)

    def _failing(self, pieces: Sequence[Piece]) -> list[Piece]:
        return [self._kind(piece, self._folder) for piece in pieces]
