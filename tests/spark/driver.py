"""A driver in a process of its own, on a real Spark, which others may kill.

    python -m tests.spark.driver FOLDER MASTER CRASH [NAME=VALUE...]

It takes three deliveries of a small stream about users, without noise, and goes on with those that
an earlier process has not committed.  Its tasks tell by files when they begin and linger for a
moment.  With CRASH "commit", it kills itself just before its second commit, once.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock
from uuid import uuid4

import duckdb

from ameles.connectors.reading import Piece
from ameles.engine.distributed.bucket_folder import MARK
from ameles.engine.distributed.bucket_gatherer import Cluster
from ameles.engine.distributed.manifest import Manifest
from ameles.engine.distributed.map_job import MapJob
from ameles.engine.distributed.reduce_job import ReduceJob
from ameles.engine.distributed.results import BucketResult
from ameles.engine.gathering.pending import Pending
from ameles.engine.running.stored_state import StoredState
from ameles.spark.context import spark_context
from ameles.spark.spark_tasks import SparkTasks
from ameles.store import open_store
from tests.engine.worlds import COUNT, USER, World, row

DISTINCT = '[[release]]\nname = "people"\nmeasure = "distinct"\nby = { fever = [true, false] }\n'
DAYS = (2, 4, 6)
LINGER = 0.3  # seconds, in which a process can be killed
LONG = 30.0  # seconds of a first attempt that another one overtakes


def world(folder: Path) -> World:
    """The stream; whoever runs it has the same salt."""
    return World(folder, COUNT + DISTINCT, unit=USER)


def rows(delivery: int) -> list[str]:
    """The events of two days, some of them late."""
    last = DAYS[delivery]
    return [
        row(max(1, day), f"u{(i * 5 + day) % 17}", ("north", "south")[i % 2], 30, 1, i % 3 == 0)
        for day in (last - 1, last, last - 3)
        for i in range(25)
    ]


def leftovers(folder: Path) -> set[str]:
    """Files about users that the store does not list."""
    with closing(open_store(str(folder / "s.db"))) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        stored = transaction.pending(stream)
    manifest = Manifest.of(Pending.from_bytes(stored or b"").state)
    assert manifest is not None
    there = {name for name in os.listdir(manifest.folder) if f"-{MARK}-" not in name}
    return there - manifest.names


def run(folder: Path, **options: Any) -> None:
    """Takes all deliveries from the first that was not committed."""
    site = world(folder)
    with mock.patch("ameles.engine.running.launch.os", SimpleNamespace(urandom=bytes)):
        for delivery, until in enumerate(DAYS):
            mark = folder / f"delivered-{delivery}"
            if not mark.exists():
                if delivery:
                    site.append(rows(delivery))
                else:
                    site.write(rows(delivery))
                mark.touch()
            site.run(until, **options)


@dataclass(frozen=True)
class Lingering(Piece):
    """A piece that tells by a file when it is read, and takes a moment.

    With ``slow``, its first reader takes long: Spark is to start another one meanwhile.
    """

    piece: Piece
    folder: Path
    label: str
    slow: bool

    @property
    def size(self) -> int:
        return self.piece.size

    @property
    def paths(self) -> tuple[str, ...]:
        return self.piece.paths

    def scans(self, duck: duckdb.DuckDBPyConnection) -> Iterator[str]:
        first = not list(self.folder.glob(f"read-{self.label}-*"))
        (self.folder / f"read-{self.label}-{os.getpid()}-{uuid4()}").touch()
        time.sleep(LONG if self.slow and first else LINGER)
        yield from self.piece.scans(duck)


class LingeringTasks(SparkTasks):
    """Tasks of Spark whose pieces linger."""

    def __init__(self, context: Any, folder: Path, *, slow: bool) -> None:
        super().__init__(context)
        self._folder = folder
        self._slow = slow

    def users(
        self, job: MapJob, pieces: Sequence[Piece], reduce: ReduceJob, buckets: int
    ) -> Iterator[BucketResult]:
        lingering = [
            Lingering(
                piece, self._folder, f"{reduce.generation}.{number}", self._slow and not number
            )
            for number, piece in enumerate(pieces)
        ]
        return super().users(job, lingering, reduce, buckets)

    def _batches(self, pieces: Sequence[Piece]) -> Any:
        return [((number, piece),) for number, piece in enumerate(pieces)]  # a task each


def main() -> None:
    """Runs the stream to its end."""
    name, master, crash, *settings = sys.argv[1:]
    folder = Path(name)
    commits = 0
    commit = vars(StoredState)["_commit"]

    def before_commit(state: StoredState, *given: Any) -> None:
        nonlocal commits
        commits += 1
        if crash == "commit" and commits == 2 and not (folder / "crashed").exists():
            (folder / "crashed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        commit(state, *given)

    given = dict(text.split("=", 1) for text in settings)
    with (
        spark_context(master, given) as context,
        mock.patch.object(StoredState, "_commit", before_commit),
    ):
        tasks = LingeringTasks(context, folder, slow=crash == "slow")
        run(folder, cluster=Cluster(tasks=tasks, folder=folder / "users", buckets=3, piece=1500))


if __name__ == "__main__":
    main()
