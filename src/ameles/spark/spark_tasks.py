"""Runs the engine's jobs as Spark jobs: Spark schedules them, shuffles shards, and tries again.

    pieces ── split ──▶ shards ══ shuffle ══▶ bound ──▶ results        users
    pieces ── count ──▶ results                                        events

Spark may run a task twice, or again after a machine was lost.  Jobs are functions of their pieces
alone, so every attempt gives the same; the engine counts what it gets back here, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any
from uuid import uuid4

from ameles.connectors.reading import Piece
from ameles.engine.distributed.bucket_gatherer import Cluster
from ameles.engine.distributed.demanded_versions import OtherVersion
from ameles.engine.distributed.map_job import MapJob
from ameles.engine.distributed.reduce_job import ReduceJob
from ameles.engine.distributed.results import BucketResult, NumberedPiece, PieceTotals
from ameles.spark.context import SparkFailed
from ameles.spark.task_entry import NONE, OTHER, entry
from ameles.spark.task_programs import Batch, BoundUsers, CountPieces, SplitPieces, TaskRefusal

# About so many bytes of a source are read by one task, if there is enough for all cores.
LARGE_TASK = 64 << 20
SMALL_TASK = 1 << 20
_KIND = re.compile(r"TaskFailed: (\w+)")
_PYTHON = "PYTHON_VERSION_MISMATCH"
# Spark itself imports these before a task of Ameles begins; no other name of a package is told.
_PACKAGE = re.compile(r"No module named '(numpy|pandas|pyarrow)'")


class SparkTasks:
    """The tasks of a Spark context, which belongs to whoever opened it."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._group = f"ameles-{uuid4()}"
        self._version = metadata.version("ameles")
        self._running = False

    def cluster(self, folder: Path, buckets: int | None) -> Cluster:
        """The cluster with these tasks; DuckDB uses as many threads as a task has cores."""
        threads = int(self._context.getConf().get("spark.task.cpus", "1"))
        return Cluster(tasks=self, folder=folder, buckets=buckets, threads=threads)

    def events(self, job: MapJob, pieces: Sequence[Piece]) -> Iterator[PieceTotals]:
        batches = self._batches(pieces)
        rows = self._context.parallelize(batches, max(1, len(batches)))
        counted = rows.mapPartitionsWithIndex(entry(CountPieces(job), self._version))
        yield from self._collected(counted.collect)

    def users(
        self, job: MapJob, pieces: Sequence[Piece], reduce: ReduceJob, buckets: int
    ) -> Iterator[BucketResult]:
        batches = self._batches(pieces)
        reducers = self._reducers(pieces, buckets)
        split = entry(SplitPieces(job, reducers), self._version, reducers)
        bound = entry(BoundUsers(reduce, reducers, buckets), self._version)
        rows = self._context.parallelize(batches, max(1, len(batches)))
        shuffled = rows.mapPartitionsWithIndex(split).partitionBy(reducers, int)
        yield from self._collected(shuffled.mapPartitionsWithIndex(bound).collect)

    def close(self) -> None:
        """Ends what still runs; the next job starts as usual."""
        if self._running:
            with suppress(Exception):  # Java may be gone
                self._context.cancelJobGroup(self._group)

    def _batches(self, pieces: Sequence[Piece]) -> list[Batch]:
        share = sum(piece.size for piece in pieces) // (2 * self._context.defaultParallelism)
        return batched(pieces, min(LARGE_TASK, max(SMALL_TASK, share)))

    def _reducers(self, pieces: Sequence[Piece], buckets: int) -> int:
        """How many tasks bound users: few if there is little to read, since each takes a while."""
        cores: int = self._context.defaultParallelism
        return min(buckets, max(cores, sum(piece.size for piece in pieces) // LARGE_TASK))

    def _collected(self, collect: Callable[[], list[Any]]) -> list[Any]:
        """The results of Spark jobs that this function starts; raises the refusal of a task."""
        found, failure = list[Any](), None
        with self._grouped():
            try:
                found = collect()
            except Exception as error:
                failure = _failure(error)
        if failure is not None:
            raise failure
        for each in found:
            if isinstance(each, TaskRefusal):
                raise each.error
            if isinstance(each, tuple) and each[0] == OTHER:
                raise self._other_version(*each[1:])
        return found

    @contextmanager
    def _grouped(self) -> Iterator[None]:
        """Spark jobs that this starts can be cancelled by their group, and only they."""
        names = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
        before = {name: self._context.getLocalProperty(name) for name in names}
        self._context.setJobGroup(self._group, "Ameles reads a source", interruptOnCancel=True)
        self._running = True
        try:
            yield
            self._running = False
        finally:
            with suppress(Exception):
                for name, value in before.items():
                    self._context.setLocalProperty(name, value)

    def _other_version(self, machine: str, found: str) -> OtherVersion:
        has = "no Ameles" if found == NONE else f"Ameles {found}"
        return OtherVersion(
            f"The machine '{machine}' has {has}; the engine that gave it work has {self._version}.",
            why="with another version a task could count other events or other users",
            tip=f"pip install ameles=={self._version} on every machine of the cluster",
        )


def batched(pieces: Sequence[Piece], size: int) -> list[Batch]:
    """Pieces and their numbers, in tasks of about this many bytes."""
    batches: list[list[NumberedPiece]] = []
    filled = 0  # bytes in the last of them
    for number, piece in enumerate(pieces):
        if not batches or filled + piece.size > size:
            batches.append([])
            filled = 0
        batches[-1].append((number, piece))
        filled += piece.size
    return [*map(tuple, batches)]


def _failure(error: Exception) -> SparkFailed:
    """What is told about an exception of Spark: never its text, which is long and of others."""
    text = str(error)
    kind, package = _KIND.search(text), _PACKAGE.search(text)
    if _PYTHON in text:
        why = "the machines of the cluster have another version of Python"
        tip = "PYSPARK_PYTHON=PATH, a Python of the same version on every machine"
    elif package is not None:
        why = f"a Python that runs tasks has no package '{package[1]}'"
        tip = (
            "PYSPARK_PYTHON=PATH before the session starts, a Python with ameles[spark] on every "
            "machine"
        )
    elif kind is not None:
        why = f"a task failed with {kind[1]} each time that it was tried"
        tip = "run again; Spark's own messages say on which machine it failed"
    else:
        why = f"PySpark reports {type(error).__name__}: a process may have been killed or lost"
        tip = "run again; Spark's own messages say what was lost"
    return SparkFailed("Spark could not finish its tasks; nothing was released.", why=why, tip=tip)
