"""Attempts that did not commit, tasks that ran twice, and results that are lost or doubled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pytest

from ameles.connectors.reading import Piece
from ameles.core.exceptions import AmelesError
from ameles.engine.distributed import bucket_gatherer, reduce_job
from ameles.engine.distributed.manifest import BucketFiles, Manifest
from ameles.engine.distributed.map_job import MapJob
from ameles.engine.distributed.reduce_job import ReduceJob
from ameles.engine.distributed.results import BucketResult, PieceTotals, Shard
from ameles.engine.distributed.tasks_here import TasksHere
from ameles.engine.distributed.user_runs import find_users
from ameles.engine.gathering.bounding import Bounding
from ameles.engine.gathering.contribution_bounds import SeenUsers
from ameles.engine.gathering.packed_arrays import Arrays, stacked
from ameles.engine.gathering.pending import Pending
from ameles.store import Store, open_store
from ameles.testing.crashes import Crash, CrashingStore
from tests.engine.distributed.clusters import EVENT, STEPS, USER, Site, cluster, replayed, same
from tests.engine.neighbours import Pretender

FEW = ("daily", "ever")
BUCKETS = 2


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """What one process publishes."""
    return Site(tmp_path_factory.mktemp("one"), only=FEW).run_all()


def on_cluster(folder: Path, one: Site, tasks: TasksHere | None = None) -> Site:
    there = cluster(folder, BUCKETS, tasks)
    return Site(folder, cluster=there, tape=replayed(one.tape), only=FEW)


def manifest_of(site: Site) -> Manifest:
    with closing(open_store(str(site.folder / "s.db"))) as store, store.reading() as transaction:
        stored = transaction.pending(transaction.streams()[0])
        assert stored is not None
        manifest = Manifest.of(Pending.from_bytes(stored).state)
        assert manifest is not None
        return manifest


def crashed(site: Site, until: int, *, before: bool) -> None:
    """A run that crashes around the commit of its last step."""

    def crashing(store: Store) -> Store:
        return CrashingStore(store, "s", until, before=before)

    # What a transaction drew that is lost is drawn again, from the same place of the tape.
    with pytest.raises(Crash):
        site.run(until, store=crashing, noise=Pretender() if before else site.tape)


@pytest.mark.parametrize("before", [True, False])
def test_a_crash_around_the_commit_changes_nothing(before: bool, one: Site, tmp_path: Path) -> None:
    """What an attempt wrote that did not commit is never read, and removed after a commit."""
    site = on_cluster(tmp_path, one)
    site.deliver(0)
    site.run(1)
    valid = site.files()
    assert valid == manifest_of(site).names
    site.deliver(1)
    crashed(site, 3, before=before)
    written = site.files() - valid
    assert written
    assert site.files() >= valid  # nothing is removed before a commit
    assert bool(written & manifest_of(site).names) != before
    site.run(3)
    assert site.files() == manifest_of(site).names
    assert bool(written & site.files()) != before
    site.deliver(2)
    site.run(5)
    site.run(6)
    same(one, [site])
    assert site.files() == set()  # at the horizon nothing about users is needed any more


def test_a_whole_stream_in_one_run_leaves_no_file_about_users(one: Site, tmp_path: Path) -> None:
    """Its tasks write files for the very commit after which none is needed."""
    site = on_cluster(tmp_path, one)
    site.deliver(0)
    site.run(8)
    assert site.files() == set()
    assert manifest_of(site).generation == 1  # its mark shows a store that is older


def test_who_was_overtaken_removes_no_file_of_later_commits(one: Site, tmp_path: Path) -> None:
    site = on_cluster(tmp_path, one)
    site.deliver(0)
    site.run(1)
    before = manifest_of(site)
    site.deliver(1)
    site.run(3)
    valid = site.files()
    assert site.cluster is not None
    late = bucket_gatherer.BucketGatherer(site.plan, site.cluster, _identity(site))
    late.committed(before.state())
    assert site.files() == valid == manifest_of(site).names


def _identity(site: Site) -> UUID:
    with closing(open_store(str(site.folder / "s.db"))) as store, store.reading() as transaction:
        return transaction.streams()[0].identity


@dataclass(frozen=True, slots=True)
class Twice(TasksHere):
    """Every task runs twice; of some the first result counts, of others the second."""

    def users(
        self, job: MapJob, pieces: Sequence[Piece], reduce: ReduceJob, buckets: int
    ) -> Iterator[BucketResult]:
        runs = [list(TasksHere.users(self, job, pieces, reduce, buckets)) for _ in range(2)]
        before = {name for files in reduce.buckets for name in files.names}
        first, second = ({n for made in run for n in made.files.names} - before for run in runs)
        assert first.isdisjoint(second)
        yield from (runs[bucket % 2][bucket] for bucket in range(buckets))


def test_tasks_that_run_twice_count_once(one: Site, tmp_path: Path) -> None:
    site = on_cluster(tmp_path, one, Twice()).run_all()
    same(one, [site])
    assert site.files() == set()


@dataclass(frozen=True, slots=True)
class Careless(TasksHere):
    """Changes what is shuffled, or what comes back."""

    shards: Callable[[list[Shard]], Iterable[Shard]] = list
    results: Callable[[list[Any]], Iterable[Any]] = list

    def events(self, job: MapJob, pieces: Sequence[Piece]) -> Iterator[PieceTotals]:
        yield from self.results(list(TasksHere.events(self, job, pieces)))

    def users(
        self, job: MapJob, pieces: Sequence[Piece], reduce: ReduceJob, buckets: int
    ) -> Iterator[BucketResult]:
        shards = list(self.shards(list(job.split(enumerate(pieces)))))
        made = [
            reduce.bound(bucket, [shard for shard in shards if shard.bucket == bucket])
            for bucket in range(buckets)
        ]
        yield from self.results(made)


def first_lost(some: list[Any]) -> list[Any]:
    return some[1:]


def first_doubled(some: list[Any]) -> list[Any]:
    return some[:1] + some


@pytest.mark.parametrize("unit", [EVENT, USER])
@pytest.mark.parametrize("change", [first_lost, first_doubled])
@pytest.mark.parametrize("what", ["shards", "results"])
def test_what_is_lost_or_doubled_on_its_way_is_refused(
    unit: str, change: Callable[[list[Any]], list[Any]], what: str, tmp_path: Path
) -> None:
    tasks = Careless(shards=change) if what == "shards" else Careless(results=change)
    site = Site(tmp_path, unit, cluster=cluster(tmp_path, BUCKETS, tasks), only=("daily",))
    site.deliver(0)
    if (unit, what) == (EVENT, "shards"):  # there are none
        site.run(1)
        return
    with pytest.raises(AmelesError, match=r"each (piece|bucket) exactly once"):
        site.run(1)
    assert site.releases() == []


@dataclass(frozen=True, slots=True)
class Recalling(TasksHere):
    """Gives a job the files that the tasks of the attempt before it wrote, committed or not."""

    written: list[tuple[BucketFiles, ...]] = field(default_factory=list)

    def users(
        self, job: MapJob, pieces: Sequence[Piece], reduce: ReduceJob, buckets: int
    ) -> Iterator[BucketResult]:
        used = replace(reduce, buckets=self.written[-1]) if self.written else reduce
        made = list(TasksHere.users(self, job, pieces, used, buckets))
        self.written.append(tuple(result.files for result in made))
        yield from made


def delivered(site: Site) -> Site:
    """All deliveries, with a crash before the commit of the second."""
    site.deliver(0)
    site.run(1)
    site.deliver(1)
    crashed(site, 3, before=True)
    site.run(3)
    site.deliver(2)
    site.run(5)
    site.run(6)
    return site


def _nobody(*given: Any) -> SeenUsers:
    return replace(find_users(*given), users=[], steps=NONE, marks=NONE)


def _last_doubled(parts: list[Arrays]) -> Arrays:
    """What waits in a file is the last part."""
    return stacked([*parts, parts[-1]] if len(parts) > 1 else parts)


NONE = np.empty(0, dtype=np.int64)
MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], TasksHere]] = {
    "none": lambda patched: TasksHere(),
    "an uncommitted run used": lambda patched: Recalling(),
    "users forgotten": lambda patched: _patched(patched, reduce_job, "find_users", _nobody),
    "a file read twice": lambda patched: _patched(patched, reduce_job, "stacked", _last_doubled),
    "a bucket lost": lambda patched: _patched(
        patched, bucket_gatherer, "_check_each_once", lambda *given: None, first_lost
    ),
}


def _patched(
    patched: pytest.MonkeyPatch, module: Any, name: str, change: Any, results: Any = list
) -> TasksHere:
    patched.setattr(module, name, change)
    return Careless(results=results)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mistakes_in_the_bookkeeping_of_files_would_be_seen(
    mutant: str, one: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = on_cluster(tmp_path, one, MUTANTS[mutant](monkeypatch))
    try:
        same(one, [delivered(site)])
    except (AssertionError, AmelesError, IndexError):
        noticed = True
    else:
        noticed = False
    assert noticed == (mutant != "none")


def kept_secret(site: Site, shards: list[Shard]) -> bool:
    """Whether no id of a user is in what tasks send, or in files."""
    written = [file.read_bytes() for file in site.state.iterdir()]
    assert any(b"open" in file.name.encode() for file in site.state.iterdir())
    assert any(shard.rows for shard in shards)
    return not any(b"user-" in some for some in (*written, *(shard.rows for shard in shards)))


@pytest.mark.parametrize("mutant", [False, True])
def test_no_id_of_a_user_leaves_a_task(
    mutant: bool, one: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = list[Shard]()

    def watched(shards: list[Shard]) -> list[Shard]:
        sent.extend(shards)
        return shards

    if mutant:
        plain = "ameles.engine.gathering.bounding.user_key"
        monkeypatch.setattr(plain, lambda salt, who: f"CAST(rpad({who}, 16, 'x') AS BLOB)")
    site = on_cluster(tmp_path, one, Careless(shards=watched))
    site.deliver(0)
    site.run(1)
    assert kept_secret(site, sent) != mutant


def test_too_little_memory_means_smaller_shares(
    one: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both jobs, for as long as it is too little."""
    failures: dict[str, int] = {}
    for name in ("_fresh", "_allowed"):
        _hungry(monkeypatch, name, failures)
    site = on_cluster(tmp_path, one).run_all()
    assert failures == {"_fresh": 3, "_allowed": 3}
    same(one, [site])


def _hungry(monkeypatch: pytest.MonkeyPatch, name: str, failures: dict[str, int]) -> None:
    """Lets a method of the bounding fail for three times, in the second share too."""
    right, calls = getattr(Bounding, name), list[int]()

    def tried(self: Bounding, *given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) in (1, 3, 5):
            failures[name] = failures.get(name, 0) + 1
            raise duckdb.OutOfMemoryException("out")
        return right(self, *given, **named)

    monkeypatch.setattr(Bounding, name, tried)


def test_each_of_several_open_steps_gets_its_events(tmp_path: Path) -> None:
    """No row comes after the first run: a bucket must know the first step that waits in it."""

    def step_by_step(site: Site) -> Site:
        for delivery in range(3):
            site.deliver(delivery)
        for step in range(1, STEPS + 1):
            site.run(step)
        return site

    one = step_by_step(Site(tmp_path / "one", only=FEW))
    same(one, [step_by_step(on_cluster(tmp_path / "other", one))])
