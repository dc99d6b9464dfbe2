"""The rows of a data frame, read by the tasks of its own Spark session.

Spark computes the frame and hands its rows to Python as Arrow batches.  A task writes those of its
partition into a Parquet file in memory, so that DuckDB reads them exactly as it reads files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ameles.connectors.memory_file import memory_file
from ameles.connectors.reading import Piece
from ameles.connectors.source import SeekableSource
from ameles.engine.distributed.map_job import MapJob
from ameles.engine.distributed.reduce_job import ReduceJob
from ameles.engine.distributed.results import BucketResult, PieceTotals
from ameles.plan.plan import Plan
from ameles.plan.source import plan_source
from ameles.spark.spark_tasks import SparkTasks
from ameles.spark.task_entry import entry
from ameles.spark.task_programs import Batch, BoundUsers, CountPieces, SplitPieces

PACKED = "packed binary"


@dataclass(frozen=True, slots=True)
class OverArrow:
    """Gives a program the rows of a partition as pieces, instead of Arrow batches."""

    program: CountPieces | SplitPieces
    plan: Plan

    def __call__(self, partition: int, rows: Iterator[Any]) -> Iterator[Any]:
        return self.program(partition, self._batches(partition, rows))

    def _batches(self, partition: int, rows: Iterator[Any]) -> Iterator[Batch]:
        """One batch of pieces, which can be read until the next is asked for."""
        some = [arrow for arrow in rows if arrow.num_rows]
        if some:
            table = import_module("pyarrow").Table.from_batches(some)
            with in_memory(table, [*self.plan.stream.columns]) as file:
                yield tuple((partition, piece) for piece in pieces_of(self.plan, file))


class FrameTasks(SparkTasks):
    """Tasks that read a data frame instead of pieces of files."""

    def __init__(self, frame: Any, columns: Sequence[str]) -> None:
        super().__init__(frame.sparkSession.sparkContext)
        self._frame = plan_columns(frame, columns)

    def events(self, job: MapJob, pieces: Sequence[Piece]) -> Iterator[PieceTotals]:
        program = entry(OverArrow(CountPieces(job), job.plan), self._version)
        results = self._collected(lambda: self._packed(program).collect())
        yield PieceTotals((0,), {})  # the frame is one piece, whatever its partitions
        for result in results:
            yield replace(result, pieces=())

    def users(
        self, job: MapJob, pieces: Sequence[Piece], reduce: ReduceJob, buckets: int
    ) -> Iterator[BucketResult]:
        reducers = min(buckets, max(1, self._context.defaultParallelism))
        split = entry(OverArrow(SplitPieces(job, reducers), job.plan), self._version, reducers)
        bound = entry(BoundUsers(reduce, reducers, buckets), self._version)

        def collect() -> list[Any]:
            rows = self._packed(split) if pieces else self._context.parallelize([], 1)
            shuffled = rows.partitionBy(reducers, int).mapPartitionsWithIndex(bound)
            found: list[Any] = shuffled.collect()
            return found

        for result in self._collected(collect):
            yield replace(result, pieces=(0,) if pieces else ())

    def _packed(self, program: Callable[[int, Iterator[Any]], Iterator[Any]]) -> Any:
        """What a program makes of the partitions of the frame.

        Spark computes a frame up to its last shuffle when it is asked for its partitions, so this
        already starts jobs, which may fail.
        """
        return self._frame.mapInArrow(over_arrow(program), PACKED).rdd.map(unpacking())


def over_arrow(
    program: Callable[[int, Iterator[Any]], Iterator[Any]],
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A program for ``mapInArrow``; Spark sends it as it is, as it does with ``entry``."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        arrow, spark = import_module("pyarrow"), import_module("pyspark")
        pickles = import_module("pyspark.serializers").CPickleSerializer()
        for result in program(spark.TaskContext.get().partitionId(), batches):
            yield arrow.RecordBatch.from_pydict({"packed": [pickles.dumps(result)]})

    return run


def unpacking() -> Callable[[Any], Any]:
    """Takes a result out of the row in which it crossed Java."""

    def unpacked(row: Any) -> Any:
        return import_module("pyspark.serializers").CPickleSerializer().loads(bytes(row[0]))

    return unpacked


def plan_columns(frame: Any, names: Sequence[str]) -> Any:
    """A frame with these of its columns alone, in their order.

    They are numbered: PySpark takes a dot in a name of a column for the way into a structure.
    """
    columns = frame.select(*(f"`{name.replace('`', '``')}`" for name in names))
    return columns.toDF(*(f"column{number}" for number in range(len(names))))


@contextmanager
def in_memory(table: Any, names: Sequence[str]) -> Iterator[Path]:
    """A Parquet file with the rows of an Arrow table, whose columns get these names.

    It is on no disk, where the system can do that.
    """
    parquet = import_module("pyarrow.parquet")
    with tempfile.TemporaryDirectory(prefix="ameles-frame-") as folder:  # mode 0700
        file = Path(folder) / "frame" / "frame.parquet"
        with memory_file(file) as handle, os.fdopen(os.dup(handle), "wb") as memory:
            parquet.write_table(table.rename_columns(names), memory)
            memory.flush()
            yield file


def pieces_of(plan: Plan, file: Path) -> list[Piece]:
    """What a task reads of such a file; a column that does not fit the plan is refused."""
    stream = plan.stream.model_copy(update={"source": str(file)})
    source = plan_source(replace(plan, stream=stream))
    if not isinstance(source, SeekableSource):
        raise TypeError
    return [*source.reading(None).pieces]
