"""The second job of a reading: bounds one bucket of users, and remembers them in a new file.

It runs in tasks anywhere that the folder of the stream can be seen.  It changes no file that was
there: until the engine has committed the names of the new ones, they count nowhere.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ameles.connectors.duck import OutOfMemory, quiet
from ameles.core.exceptions import AmelesError
from ameles.engine.distributed.bucket_folder import BucketFolder, sha256
from ameles.engine.distributed.demanded_versions import Versions
from ameles.engine.distributed.manifest import BucketFiles, Candidates, UsersFile
from ameles.engine.distributed.map_job import MOST_PASSES
from ameles.engine.distributed.results import BucketResult, Shard
from ameles.engine.distributed.task_connection import task_connection
from ameles.engine.distributed.user_runs import (
    GROWTH,
    find_users,
    merged,
    read_run,
    records_of,
    write_run,
)
from ameles.engine.gathering.bounding import Bounding
from ameles.engine.gathering.contribution_bounds import ContributionBounds, SeenUsers
from ameles.engine.gathering.event_sql import EventSql
from ameles.engine.gathering.exact_totals import AddingUp
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.packed_arrays import Arrays, pack, stacked, unpack
from ameles.engine.gathering.pending import Totals
from ameles.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class _Bounded:
    """What the rows of a bucket come to."""

    totals: dict[str, Totals]
    waiting: Arrays
    seen: list[SeenUsers]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReduceJob:
    """Bounds buckets of users for a plan at a moment; ``salt`` is secret, so the job is."""

    plan: Plan
    moment: Moment
    salt: bytes = field(repr=False)
    versions: Versions
    memory: int  # bytes that DuckDB may use in one task
    threads: int | None = None  # of DuckDB in one task; None: one for each core
    folder: Path
    generation: int  # of the commit that this job is for
    buckets: tuple[BucketFiles, ...]  # what earlier commits have left

    def __repr__(self) -> str:
        return "<ReduceJob>"

    def bound(self, bucket: int, shards: Iterable[Shard]) -> BucketResult:
        """The exact totals of a bucket, from all shards of it, and the files that are valid now."""
        self.versions.check()
        given, files, target = list(shards), self.buckets[bucket], self.moment.target
        pieces = tuple(sorted(shard.piece for shard in given))
        folder, bounds = BucketFolder(self.folder), ContributionBounds.of(self.plan)
        rows = [_unpacked(shard.rows) for shard in given if shard.rows]
        due = files.candidates is not None and files.candidates.first <= target
        totals: dict[str, Totals] = {}
        if rows or due:
            if files.candidates is not None:
                rows.append(_unpacked(folder.read(files.candidates.name, files.candidates.digest)))
            found = self._bounded(folder, bounds, files.runs, stacked(rows))
            totals = found.totals
            files = BucketFiles(
                self._remembered(folder, bucket, files.runs, found.seen),
                self._waiting(folder, bucket, found.waiting),
            )
        return BucketResult(bucket, pieces, totals, kept_files(files, self.plan, target))

    def _bounded(
        self,
        folder: BucketFolder,
        bounds: ContributionBounds,
        runs: tuple[UsersFile, ...],
        rows: Arrays,
    ) -> _Bounded:
        """Bounds the rows of a bucket; of one share of its users after the other, if not all of
        them fit into memory."""
        passes = 1
        while True:
            try:
                return self._shares(folder, bounds, runs, rows, passes)
            except OutOfMemory:
                if passes >= MOST_PASSES:
                    raise
                passes *= 2

    def _shares(
        self,
        folder: BucketFolder,
        bounds: ContributionBounds,
        runs: tuple[UsersFile, ...],
        rows: Arrays,
        passes: int,
    ) -> _Bounded:
        def lookup(window: int, users: list[bytes]) -> SeenUsers:
            return find_users(folder, runs, window, users)

        events = EventSql(self.plan)
        cells = events.cells
        waiting, seen = list[Arrays](), list[SeenUsers]()
        zone, memory = self.plan.stream.zone, self.memory
        with task_connection(zone, memory, threads=self.threads) as duck:
            adding = AddingUp(events, duck)
            bounding = Bounding(duck, bounds, self.moment, self.salt, lookup)
            for share in range(passes):
                mine = _share(rows, share, passes)
                if not len(mine["step"]):
                    continue
                with quiet("bounding what each user adds"), bounding.keyed(mine) as kept:
                    adding.add_events(kept.rows)
                    for name, span in adding.once.items():
                        adding.add_users(name, kept.once(cells[name], name, span))
                    waiting.append(kept.candidates())
                    remembered = kept.seen(cells)
                    if remembered is not None:
                        seen.append(remembered)
            return _Bounded(adding.totals(), stacked(waiting), seen)

    def _remembered(
        self, folder: BucketFolder, bucket: int, runs: tuple[UsersFile, ...], seen: list[SeenUsers]
    ) -> tuple[UsersFile, ...]:
        """The runs with a new one, into which the smaller ones before it are merged."""
        some = [users for users in seen if users.users]
        if not some:
            return runs
        window, fresh = some[0].window, merged([records_of(users) for users in some])
        runs = tuple(run for run in runs if run.window == window)  # earlier windows are forgotten
        while runs and runs[-1].users <= GROWTH * len(fresh):
            fresh, runs = merged([read_run(folder, runs[-1]), fresh]), runs[:-1]
        return (*runs, write_run(folder, self.generation, bucket, fresh, window))

    def _waiting(self, folder: BucketFolder, bucket: int, rows: Arrays) -> Candidates | None:
        """A new file of events that wait for their steps to close."""
        if not rows:
            return None
        content = pack({name: column for name, column in rows.items() if name != "part"})
        name = folder.write("open", self.generation, bucket, content)
        return Candidates(name, sha256(content), int(rows["step"].min()))


def kept_files(files: BucketFiles, plan: Plan, target: int) -> BucketFiles:
    """The files that are needed once ``target`` is released: none about users who are forgotten."""
    if target == plan.stream.horizon:
        return BucketFiles()
    return files.from_window(ContributionBounds.of(plan).window_of(target + 1))


def _unpacked(rows: bytes) -> Arrays:
    try:
        return unpack(rows)[0]
    except (KeyError, TypeError, ValueError, struct.error):
        pass  # the message may quote rows
    raise AmelesError(
        "Rows of users were damaged on their way from one task to another.",
        why="their checksum does not fit; nothing was counted",
        tip="run again",
    )


def _share(rows: Arrays, share: int, passes: int) -> Arrays:
    """The rows of one share of the users."""
    part = np.zeros(len(rows["step"]), dtype=np.uint64)
    if passes == 1:
        return {**rows, "part": part}
    last = np.ascontiguousarray(rows["key"][:, 8:]).view(">u8").reshape(-1)
    mine = last % np.uint64(passes) == share
    return {name: column[mine] for name, column in {**rows, "part": part}.items()}
