"""Spark's tasks publish what one process publishes, also if they are killed and tried again."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ameles.connectors.files.identity import ChangedMeanwhile
from ameles.connectors.reading import Reading
from ameles.core.release import Release
from ameles.engine.distributed.bucket_folder import MARK
from ameles.engine.distributed.bucket_gatherer import Cluster
from ameles.engine.distributed.demanded_versions import OtherVersion, Versions
from ameles.engine.distributed.manifest import BucketFiles
from ameles.engine.distributed.map_job import MapJob, for_tasks
from ameles.engine.distributed.reduce_job import ReduceJob
from ameles.engine.gathering.moment import Moment
from ameles.engine.gathering.packed_arrays import unpack
from ameles.noise.tape import Tape
from ameles.plan.source import plan_source
from ameles.spark.context import SparkFailed
from ameles.spark.spark_tasks import SparkTasks
from tests.engine.worlds import COUNT, EVENT, USER, WINDOW, World, row
from tests.spark.failing import CANARY, FailingTasks, Quoting, attempts
from tests.spark.session import SharedSession

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # PySpark's sockets
RELEASES = (
    COUNT
    + '[[release]]\nname = "spent"\nmeasure = "sum"\ncolumn = "amount"\nlower = 0\nupper = 9\n'
    + 'granularity = 1\nover = "step"\nwhere = "age >= 18"\n'
)
DISTINCT = '[[release]]\nname = "people"\nmeasure = "distinct"\nby = { fever = [true, false] }\n'
SALT = b"salt-of-the-test"


@pytest.fixture(autouse=True)
def same_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The salt decides which events of a user are kept; here it is always the same."""
    monkeypatch.setattr("ameles.engine.running.launch.os", SimpleNamespace(urandom=bytes))


def rows(first: int, last: int) -> list[str]:
    """Events of many users over some days; every ninth is broken."""
    return [
        row(day, f"u{i % 7}", ("north", "south", "west")[i % 3], 10 + i, i % 11, i % 2 == 0)
        if i % 9
        else f"never,u{i % 7},{CANARY}"
        for day in range(first, last + 1)
        for i in range(23 + day)
    ]


def tape() -> Tape:
    return Tape([(7 * place * place) % 23 - 11 for place in range(4000)])


def delivered(world: World, **options: Any) -> list[Release]:
    """Two deliveries: the second has events that are late, and events for later."""
    world.write(rows(1, 3))
    noise = tape()
    world.run(2, noise=noise, **options)
    world.append([*rows(2, 2), *rows(4, 8)])
    world.run(8, noise=noise, **options)
    return world.releases()


@pytest.mark.parametrize(
    ("unit", "releases", "late", "buckets"),
    [
        (EVENT, RELEASES, "next", 1),
        (USER, RELEASES + DISTINCT, "drop", 3),
        (WINDOW, RELEASES, "next", 7),
    ],
    ids=["event", "user", "user-window"],
)
def test_spark_publishes_what_one_process_publishes(
    unit: str, releases: str, late: str, buckets: int, tmp_path: Path, session: SharedSession
) -> None:
    stream = f'late = "{late}"\nzone = "Europe/Berlin"'
    worlds = [
        World(tmp_path / name, releases, unit=unit, stream=stream) for name in ("here", "there")
    ]
    tasks = SparkTasks(session.context)
    cluster = Cluster(tasks=tasks, folder=tmp_path / "users", buckets=buckets, piece=1000)
    assert delivered(worlds[0]) == delivered(worlds[1], cluster=cluster)


def test_killed_readers_and_reducers_are_tried_again_and_count_once(
    tmp_path: Path, session: SharedSession
) -> None:
    here, there = (World(tmp_path / name, DISTINCT, unit=USER) for name in ("here", "there"))
    marks = tmp_path / "marks"
    marks.mkdir()
    tasks = FailingTasks(session.context, marks)
    cluster = Cluster(tasks=tasks, folder=tmp_path / "users", buckets=2)
    for world, options in ((here, {}), (there, {"cluster": cluster})):
        world.write(rows(1, 3))
        world.run(2, noise=tape(), **options)
    assert here.releases() == there.releases()
    assert attempts(marks, "read") == 2, "one piece, which was read again"
    assert attempts(marks, "bound") >= 3, "two buckets, and one of them twice"
    [folder] = (tmp_path / "users").iterdir()
    kept = sorted(name.split("-")[1:3] for name in os.listdir(folder) if MARK not in name)
    once = [[f"{bucket:06}", kind] for bucket in range(2) for kind in ("open", "users")]
    assert kept == once, "files of killed attempts are removed"


def test_a_task_that_fails_tells_no_event_to_anybody(
    tmp_path: Path, session: SharedSession
) -> None:
    world = World(tmp_path / "w").write(rows(1, 1))
    marks = tmp_path / "marks"
    marks.mkdir()
    tasks = FailingTasks(session.context, marks, Quoting)
    with pytest.raises(SparkFailed) as failed:
        world.run(2, cluster=Cluster(tasks=tasks, folder=tmp_path))
    assert "ValueError" in str(failed.value)
    assert attempts(marks, "read") == 4, "Spark tried it again"
    assert failed.value.__context__ is failed.value.__cause__ is None
    assert CANARY not in str(failed.value)
    assert "TaskFailed: ValueError" in session.said, "Spark's log has the failure"
    assert CANARY not in session.said


class Jobs:
    """The jobs of a world's first reading."""

    def __init__(self, folder: Path, unit: str = USER, buckets: int = 2) -> None:
        world = World(folder, unit=unit).write(rows(1, 3))
        source: Any = plan_source(world.plan)
        self.world = world
        self.reading: Reading = source.reading(None).cut(500)
        moment, versions = Moment(0, 3, 8), Versions.here()
        folder = folder / "users"
        folder.mkdir(mode=0o700)
        plan, memory = for_tasks(world.plan), 256 << 20
        self.map = MapJob(
            plan=plan, moment=moment, buckets=buckets, salt=SALT, versions=versions, memory=memory
        )
        self.reduce = ReduceJob(
            plan=plan,
            moment=moment,
            salt=SALT,
            versions=versions,
            memory=memory,
            folder=folder,
            generation=1,
            buckets=(BucketFiles(),) * buckets,
        )

    def bounded(self, tasks: SparkTasks) -> list[Any]:
        pieces, buckets = self.reading.pieces, self.map.buckets
        return list(tasks.users(self.map, pieces, self.reduce, buckets))


def test_each_bucket_gets_each_piece_also_with_fewer_reducers_than_buckets(
    tmp_path: Path, session: SharedSession
) -> None:
    jobs = Jobs(tmp_path, buckets=5)
    every = tuple(range(len(jobs.reading.pieces)))
    assert len(every) > 3
    results = jobs.bounded(SparkTasks(session.context))
    assert sorted(result.bucket for result in results) == [0, 1, 2, 3, 4]
    assert {result.pieces for result in results} == {every}


def test_buckets_are_bounded_also_if_nothing_was_read(
    tmp_path: Path, session: SharedSession
) -> None:
    jobs = Jobs(tmp_path)
    jobs.reading = Reading((), "")
    results = jobs.bounded(SparkTasks(session.context))
    assert sorted((result.bucket, result.pieces) for result in results) == [(0, ()), (1, ())]


def test_other_versions_are_refused_by_name(tmp_path: Path, session: SharedSession) -> None:
    jobs, machine = Jobs(tmp_path), os.uname().nodename
    for versions in (Versions("1.0", jobs.map.versions.ameles),):
        jobs.map = replace(jobs.map, versions=versions)
        with pytest.raises(OtherVersion, match=f"'{machine}' has DuckDB .* has 1.0"):
            jobs.bounded(SparkTasks(session.context))
    later = SparkTasks(session.context)
    later._version = "9.9"
    for run in (lambda: jobs.bounded(later), lambda: list(later.events(jobs.map, ()))):
        with pytest.raises(OtherVersion, match=f"'{machine}' has Ameles .* has 9.9"):
            run()
    assert not list(jobs.reduce.folder.iterdir()), "no bucket was bounded"


def test_a_file_that_changes_is_told_as_it_is_in_one_process(
    tmp_path: Path, session: SharedSession
) -> None:
    jobs = Jobs(tmp_path)
    content = jobs.world.file.read_bytes()
    jobs.world.file.write_bytes(content[:-1] + b"x")
    with pytest.raises(ChangedMeanwhile):
        jobs.bounded(SparkTasks(session.context))


def test_spark_keeps_nothing_about_users_that_others_could_read(
    tmp_path: Path, session: SharedSession
) -> None:
    jobs = Jobs(tmp_path)
    keys = [bytes(row)[:16] for row in _keys(jobs)]
    assert len(keys) == 7
    jobs.bounded(SparkTasks(session.context))
    local = Path(session.context.getConf().get("spark.local.dir"))
    assert local.stat().st_mode & 0o777 == 0o700
    written = [path.read_bytes() for path in local.rglob("shuffle_*") if path.is_file()]
    assert any(written), "shuffle files are still there"
    said = session.said
    assert "Ameles reads a source" in said, "the event log is looked at, too"
    for secret in (*keys, SALT):
        assert not any(secret in content for content in written)
        assert secret.hex() not in said
    for event in ("u1,", CANARY, "never,"):
        assert event not in said


def _keys(jobs: Jobs) -> list[bytes]:
    """The keyed hashes of all users, as they pass from one task to another."""
    shards = list(jobs.map.split(enumerate(jobs.reading.pieces)))
    found = {bytes(key) for shard in shards if shard.rows for key in unpack(shard.rows)[0]["key"]}
    assert all(any(key in shard.rows for shard in shards) for key in found)
    return sorted(found)
