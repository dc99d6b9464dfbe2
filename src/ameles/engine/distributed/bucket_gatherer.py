"""Gathers in tasks that somebody else schedules; users are bounded in buckets.

The users of a bucket are bounded by the same SQL as in one process.  Which events of a user count
depends on that user's events alone, so buckets are independent and their sums add up.  Its state
is a manifest: names of files in a folder that all tasks see.  They are valid once the engine has
committed the manifest; all others are removed after a commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from ameles.connectors.reading import Reading
from ameles.core.exceptions import AmelesError, BadInput, StoreRefused
from ameles.engine.distributed.bucket_folder import BucketFolder
from ameles.engine.distributed.demanded_versions import Versions
from ameles.engine.distributed.manifest import Manifest
from ameles.engine.distributed.map_job import MapJob, for_tasks
from ameles.engine.distributed.reduce_job import ReduceJob, kept_files
from ameles.engine.distributed.results import BucketResult
from ameles.engine.distributed.tasks import Tasks
from ameles.engine.gathering.gatherer import Gathered
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.pending import GathererState, Totals
from ameles.plan.plan import Plan

BUCKETS = 16  # a bucket takes 45 ms of a processor, however few its users are
MOST_BUCKETS = 100_000
MEMORY = 1 << 30
PIECE = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Who runs the tasks, and where they keep what is remembered about users.

    ``folder`` is seen by all tasks; each stream has a folder in it.  ``buckets`` is fixed at the
    launch; None: as at the launch.  ``memory`` is what DuckDB may use in one task, in bytes, and
    ``threads`` how many threads; None: one for each core.  About ``piece`` bytes of a source are
    one piece.
    """

    tasks: Tasks = field(repr=False)
    folder: Path
    buckets: int | None = None
    memory: int = MEMORY
    threads: int | None = None
    piece: int = PIECE

    def __post_init__(self) -> None:
        if self.buckets is not None and not 1 <= self.buckets <= MOST_BUCKETS:
            raise BadInput(
                f"There must be between 1 and {MOST_BUCKETS} buckets of users, not {self.buckets}.",
                tip=f"{BUCKETS}, or as many as make the users of one fit into a task's memory",
            )

    def of_stream(self, identity: UUID) -> Path:
        """The folder of a stream."""
        return self.folder.absolute() / str(identity)

    def launched(self, plan: Plan, identity: UUID) -> GathererState:
        """The first state of a stream, with its folder; without users there is none."""
        if plan.privacy.user is None:
            return GathererState()
        folder = self.of_stream(identity)
        BucketFolder(folder).create()
        return Manifest.first(str(folder), self.buckets or BUCKETS).state()


@dataclass(frozen=True)
class BucketGatherer:
    """Gathers with the tasks of a cluster."""

    plan: Plan
    cluster: Cluster
    identity: UUID

    def gather(
        self, reading: Reading, moment: Moment, salt: bytes, state: GathererState
    ) -> Gathered:
        reading = reading.cut(self.cluster.piece)
        if self.plan.privacy.user is None:
            return self._events(reading, moment, salt)
        return self._users(reading, moment, salt, self._manifest(state))

    def committed(self, state: GathererState) -> None:
        """Marks the commit; removes files of attempts that did not commit or were replaced."""
        manifest = Manifest.of(state)
        if manifest is not None:
            folder = BucketFolder(Path(manifest.folder))
            if manifest.generation:
                folder.mark(manifest.generation)
            folder.remove_unnamed(manifest.names, manifest.generation)

    def close(self) -> None:
        self.cluster.tasks.close()

    def _events(self, reading: Reading, moment: Moment, salt: bytes) -> Gathered:
        """Adds up all events, without users."""
        parts: list[dict[str, Totals]] = []
        if reading.size:
            job, counted = self._map_job(moment, salt, 1), list[int]()
            for result in self.cluster.tasks.events(job, reading.pieces):
                counted += result.pieces
                parts.append(result.totals)
            _check_each_once("piece", counted, len(reading.pieces))
        return Gathered(self._joined(parts), reading.position, GathererState())

    def _users(self, reading: Reading, moment: Moment, salt: bytes, manifest: Manifest) -> Gathered:
        """Bounds all buckets of users, and adds up their totals."""
        pieces = reading.pieces if reading.size else ()
        waiting = [files.candidates for files in manifest.buckets]
        due = any(file is not None and file.first <= moment.target for file in waiting)
        parts: list[dict[str, Totals]] = []
        if pieces or due:
            results = self._results(reading, moment, salt, manifest)
            parts = [result.totals for result in results]
            files = tuple(result.files for result in results)
        else:
            files = tuple(kept_files(each, self.plan, moment.target) for each in manifest.buckets)
        # Tasks may have written files that nobody needs any more: those of a commit are removed
        # after it, so it must have a number of its own.
        if pieces or due or files != manifest.buckets:
            generation = manifest.generation + 1
            manifest = replace(manifest, generation=generation, buckets=files)
            BucketFolder(Path(manifest.folder)).check_present(manifest.names)
        return Gathered(self._joined(parts), reading.position, manifest.state())

    def _results(
        self, reading: Reading, moment: Moment, salt: bytes, manifest: Manifest
    ) -> list[BucketResult]:
        """One result for each bucket, in their order."""
        buckets, pieces = len(manifest.buckets), reading.pieces if reading.size else ()
        job = self._map_job(moment, salt, buckets)
        reduce = ReduceJob(
            plan=job.plan,
            moment=moment,
            salt=salt,
            versions=job.versions,
            memory=job.memory,
            threads=job.threads,
            folder=Path(manifest.folder),
            generation=manifest.generation + 1,
            buckets=manifest.buckets,
        )
        results = list(self.cluster.tasks.users(job, pieces, reduce, buckets))
        _check_each_once("bucket", (result.bucket for result in results), buckets)
        for result in results:
            _check_each_once("piece", result.pieces, len(pieces))
        return sorted(results, key=lambda result: result.bucket)

    def _map_job(self, moment: Moment, salt: bytes, buckets: int) -> MapJob:
        return MapJob(
            plan=for_tasks(self.plan),
            moment=moment,
            buckets=buckets,
            salt=salt,
            versions=Versions.here(),
            memory=self.cluster.memory,
            threads=self.cluster.threads,
        )

    def _joined(self, parts: list[dict[str, Totals]]) -> dict[str, Totals]:
        return {
            release.name: Totals.joined(
                (part[release.name] for part in parts if release.name in part),
                len(release.question.amounts),
            )
            for release in self.plan.releases
        }

    def _manifest(self, state: GathererState) -> Manifest:
        """The manifest of the state before, with the folder where it is now."""
        manifest = Manifest.of(state)
        if manifest is None:
            raise AmelesError("A stream without files of users cannot be gathered in buckets.")
        return _found(manifest, self.cluster, self.identity)


def _found(manifest: Manifest, cluster: Cluster, identity: UUID) -> Manifest:
    """The manifest with the folder where it is now; refused if its files are not those there."""
    folder = BucketFolder(cluster.of_stream(identity))
    folder.check()
    folder.check_not_ahead(manifest.generation)
    folder.check_present(manifest.names)
    return replace(manifest, folder=str(folder.path))


def check_engine(plan: Plan, state: GathererState, cluster: Cluster | None, identity: UUID) -> None:
    """Refuses to go on with a stream about users in another way than it was launched."""
    if plan.privacy.user is None:
        return
    name, manifest = plan.stream.name, Manifest.of(state)
    why = "what is remembered about its users is in another place and another form"
    if manifest is None and cluster is not None:
        raise StoreRefused(
            f"The stream '{name}' was launched in one process, and must go on there.",
            why=why,
            tip="run it without a cluster (--engine embedded), or launch a new stream",
        )
    if manifest is not None and cluster is None:
        raise StoreRefused(
            f"The stream '{name}' was launched on a cluster, and must go on there.",
            why=why,
            tip=f"run it on a cluster (--engine spark) that has the folder '{manifest.folder}'",
        )
    if manifest is not None and cluster is not None:
        buckets = len(manifest.buckets)
        if cluster.buckets not in (None, buckets):
            raise StoreRefused(
                f"The stream '{name}' has {buckets} buckets of users, not {cluster.buckets}.",
                why="a user would be looked for in the wrong bucket, and count again",
                tip=f"{buckets} buckets, as at its launch",
            )
        _found(manifest, cluster, identity)


def _check_each_once(what: str, numbers: Iterable[int], count: int) -> None:
    """Refuses results in which anything is missing or counted twice."""
    if sorted(numbers) != list(range(count)):
        raise AmelesError(
            f"The tasks did not give back each {what} exactly once.",
            why="events would be lost or counted twice; nothing was released",
            tip="run again; if it happens again, report it: it is a mistake in the program",
        )
