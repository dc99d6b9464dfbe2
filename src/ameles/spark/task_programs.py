"""The programs that run in Spark's tasks, in Python processes on any machine.

A refusal leaves a task as a value, because Spark writes the text of an exception into its logs.
Any other exception becomes one without a text: its own may quote events.  Spark then tries the
task again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ameles.core.exceptions import AmelesError
from ameles.engine.distributed.map_job import MapJob
from ameles.engine.distributed.reduce_job import ReduceJob
from ameles.engine.distributed.results import NumberedPiece, Shard

Batch: TypeAlias = tuple[NumberedPiece, ...]  # the pieces of one task


class TaskFailed(Exception):
    """A task failed for a reason that may quote events, so only its kind is told."""


@dataclass(frozen=True, slots=True)
class TaskRefusal:
    """A refusal on its way to the driver."""

    error: AmelesError


@dataclass(frozen=True, slots=True)
class CountPieces:
    """Adds up the events of pieces."""

    job: MapJob

    def __call__(self, partition: int, batches: Iterator[Batch]) -> Iterator[Any]:
        return clean(lambda: (self.job.count(batch) for batch in batches))


@dataclass(frozen=True, slots=True)
class SplitPieces:
    """Splits the events of pieces by buckets of users; each shard goes to its reducer.

    A refusal goes to all reducers, so that none of them writes a file.
    """

    job: MapJob
    reducers: int

    def __call__(self, partition: int, batches: Iterator[Batch]) -> Iterator[tuple[int, Any]]:
        for each in clean(lambda: (shard for batch in batches for shard in self.job.split(batch))):
            if isinstance(each, TaskRefusal):
                for reducer in range(self.reducers):
                    yield reducer, each
            else:
                yield each.bucket % self.reducers, each


@dataclass(frozen=True, slots=True)
class BoundUsers:
    """Bounds the users of every bucket of one reducer."""

    job: ReduceJob
    reducers: int
    buckets: int

    def __call__(self, reducer: int, arrived: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        return clean(lambda: self._results(reducer, arrived))

    def _results(self, reducer: int, arrived: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        shards: dict[int, list[Shard]] = {
            bucket: [] for bucket in range(reducer, self.buckets, self.reducers)
        }
        for _, each in arrived:
            if not isinstance(each, Shard):  # a refusal
                yield each
                return
            shards[each.bucket].append(each)
        for bucket in [*shards]:
            yield self.job.bound(bucket, shards.pop(bucket))


def clean(results: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """Results, and instead of an exception a refusal, or an exception that quotes nothing."""
    try:
        yield from results()
    except AmelesError as error:
        refused = TaskRefusal(bare(error))
    except Exception as error:
        refused, kind = None, type(error).__name__
    else:
        return
    if refused is None:
        raise TaskFailed(kind)
    yield refused


def bare(error: AmelesError) -> AmelesError:
    """The refusal without the exceptions that led to it."""
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error
