"""Plans whose source is a bucket: in one process and in tasks, with neighbours, late, and gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ameles.connectors.declarations import Declarations
from ameles.connectors.objects.source import ObjectSource
from ameles.connectors.reading import Reading
from ameles.connectors.source import SourceAway
from ameles.core.exceptions import AmelesError, SourceUnreadable
from ameles.engine.distributed.bucket_gatherer import Cluster
from ameles.engine.distributed.tasks_here import TasksHere
from ameles.noise.tape import Tape
from ameles.store import open_store
from tests.engine.test_follow import STEP, following, quick
from tests.engine.worlds import COUNT, EVENT, HEADER, USER, World, row
from tests.s3_server import Bucket, serving

__all__ = ["quick"]  # a fixture of every test here


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    pytest.importorskip("obstore")
    with serving() as bucket:
        yield bucket


def world(bucket: Bucket, folder: Path, releases: str = COUNT, unit: str = EVENT) -> World:
    made = World(folder, releases, unit=unit, stream='connection = "lake.toml"')
    made.text = made.text.replace("events.csv", "s3://lake/visits/*.csv")
    bucket.connection(folder / "lake.toml")
    return made


def put(bucket: Bucket, name: str, *rows: str) -> None:
    bucket.put(f"visits/{name}.csv", "\n".join([HEADER, *rows]))


def test_tasks_publish_what_one_process_publishes(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one tape and with one salt; some objects come late."""
    monkeypatch.setattr("ameles.engine.running.launch.os", SimpleNamespace(urandom=bytes))
    here, there = (world(bucket, tmp_path / name, unit=USER) for name in ("here", "there"))
    tasks = Cluster(tasks=TasksHere(), folder=tmp_path / "users", buckets=3, piece=300)
    tapes = [Tape([place * place % 11 - 5 for place in range(200)]) for _ in range(2)]
    for last in (2, 4):
        for part in range(2):
            rows = [row(last - n % 3, f"u{n % 5}", hour=n % 20) for n in range(part, 30, 2)]
            put(bucket, f"{last}-{part}", *rows)
        here.run(last, noise=tapes[0])
        there.run(last, noise=tapes[1], cluster=tasks)
    assert len(here.releases()) == 8
    assert here.releases() == there.releases()


def test_one_event_or_object_more_changes_its_own_number_alone(
    bucket: Bucket, tmp_path: Path
) -> None:
    """On one tape, neighbours publish the same, except for the cell of the event."""
    told: list[tuple[Any, ...]] = []
    south, future = row(2, region="south"), row(400)
    for name, more in {"with": [south], "without": [], "garbage": ["\xff,,", '"', future]}.items():
        bucket.objects.clear()
        made = world(bucket, tmp_path / name, STEP)
        put(bucket, "a", *[row(1)] * 3)
        put(bucket, "b", row(2), *more, row(2))
        if name == "garbage":
            bucket.put("visits/c.csv", "\n".join([HEADER, '"', "never"]))
        report = made.run(3, noise=Tape([5, -3, 2, 7, -1, 4]))
        shown = [made.values("daily", key) for key in ("north", "south")]
        told.append((*shown, report.new))
    with_one, without, garbage = told
    assert garbage == without
    assert (with_one[0], with_one[2]) == (without[0], without[2])
    pairs = zip(with_one[1], without[1], strict=True)
    assert [a - b for a, b in pairs if a is not None and b is not None] == [0, 1, 0]


def test_a_gap_is_recorded_with_its_reason(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world(bucket, tmp_path)
    put(bucket, "a", row(2))
    with monkeypatch.context() as failing:
        failing.setattr(ObjectSource, "reading", _away)
        with pytest.raises(SourceAway):
            made.run(1)  # it is launched, and nothing is read
    put(bucket, "b", row(1))
    del bucket.objects["visits/a.csv"]
    with pytest.raises(SourceUnreadable, match="were removed before they were read"):
        made.run(2)
    assert made.values() == []
    made.run(2, declarations=Declarations(skip_gap="cleaned up too early"))
    assert made.values() == [1, 1]
    with open_store(str(tmp_path / "s.db")) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        (gap,) = transaction.gaps(stream)
    assert (gap.place, gap.why) == ("the object 'visits/a.csv'", "cleaned up too early")


def _away(*_: object) -> Reading:
    raise SourceAway("The store is away just now.")


def test_a_state_that_may_be_seized_refuses_a_bucket(bucket: Bucket, tmp_path: Path) -> None:
    made = world(bucket, tmp_path, unit=f'{EVENT}\nintrusions = "one"')
    put(bucket, "a", row(1))
    with pytest.raises(AmelesError, match="intrusions"):
        made.run(2)


def test_steps_wait_for_a_store_that_is_away(bucket: Bucket, tmp_path: Path) -> None:
    made = world(bucket, tmp_path, STEP)
    put(bucket, "a", row(1), row(1))
    with following(made) as live:
        live.until(2)
        put(bucket, "b", row(2))
        bucket.away = True
        live.time = live.time + 86_400_000_000
        live.wait(lambda: live.failing)
        assert live.told == [1]
        bucket.away = False
        live.until(3)
    assert made.values("daily") == [2, 1]
