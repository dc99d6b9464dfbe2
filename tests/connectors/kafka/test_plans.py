"""Plans over a real topic: each message counts in its step, whatever happens on the way."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from ameles.connectors.declarations import Declarations
from ameles.connectors.kafka import driver as kafka_driver
from ameles.connectors.source import SourceAway
from ameles.core.exceptions import PlanError, SourceUnreadable
from ameles.engine.distributed.bucket_gatherer import Cluster as Tasks
from ameles.engine.distributed.tasks_here import TasksHere
from ameles.noise import Tape
from ameles.store import open_store
from tests.connectors.kafka.test_avro_values import written
from tests.engine.test_follow import STEP, following, quick
from tests.engine.worlds import COUNT, EVENT, USER, World, day
from tests.kafka_server import Cluster

_names = count()
__all__ = ["quick"]  # a fixture of every test here


class Visits:
    """A plan over a topic."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        releases: str = COUNT,
        *,
        proxied: bool = False,
        partitions: int = 1,
        stream: str = 'format = "jsonl"',
    ) -> None:
        self.name = f"plan-{next(_names)}"
        self.cluster = cluster
        cluster.create(self.name, partitions)
        self.producer = cluster.producer()
        self.partitions = partitions
        self.world = World(folder, releases, stream=stream)
        url = cluster.url(self.name, proxied=proxied)
        self.world.text = self.world.text.replace('"events.csv"', f'"{url}"')

    def visit(self, number: int, times: int = 1, region: str = "north") -> None:
        for n in range(times):
            at = f"{day(number, 10):%Y-%m-%dT%H:%M:%SZ}"
            self.put(json.dumps({"at": at, "region": region}).encode(), n % self.partitions)

    def put(self, value: bytes | None, partition: int = 0) -> None:
        self.producer.produce(self.name, value, partition=partition)
        assert self.producer.flush(60) == 0


def test_a_plan_counts_each_message_in_its_step(kafka: Cluster, tmp_path: Path) -> None:
    visits = Visits(kafka, tmp_path, partitions=2)
    visits.visit(1, 3)
    visits.visit(2)
    visits.world.run(1)
    visits.visit(3, 2)
    visits.visit(1)  # late: it joins the open step
    visits.world.run(3)
    assert visits.world.values() == [3, 5, 7]
    assert visits.world.run(3).new == 0


def test_tasks_that_read_ranges_publish_what_one_process_publishes(
    kafka: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one tape and with one salt, with a range for each message."""
    monkeypatch.setattr("ameles.engine.running.launch.os", SimpleNamespace(urandom=bytes))
    visits = Visits(kafka, tmp_path / "here", partitions=2)
    here, there = visits.world, World(tmp_path / "there")
    there.text = here.text = here.text.replace(EVENT, USER)
    tasks = Tasks(tasks=TasksHere(), folder=tmp_path / "users", buckets=2, piece=1)
    tapes = [Tape([place * place % 11 - 5 for place in range(200)]) for _ in range(2)]
    for last in (2, 4):
        for n in range(20):
            at = f"{day(last - n % 3, 10):%Y-%m-%dT%H:%M:%SZ}"  # some are late
            who, region = f"u{n % 4}", ("north", "south")[n % 2]
            visits.put(json.dumps({"at": at, "who": who, "region": region}).encode(), n % 2)
        here.run(last, noise=tapes[0])
        there.run(last, noise=tapes[1], cluster=tasks)
    assert len(here.releases()) == 8
    assert here.releases() == there.releases()


def test_records_of_avro(kafka: Cluster, tmp_path: Path) -> None:
    at = {"type": "long", "logicalType": "timestamp-millis"}
    names = {
        "at": at,
        **dict.fromkeys(("who", "region"), "string"),
        "age": "int",
        "fever": "boolean",
    }
    fields = [
        {"name": name, "type": type_} for name, type_ in {**names, "amount": "double"}.items()
    ]
    schema = {"type": "record", "name": "Visit", "fields": fields}
    (tmp_path / "visit.avsc").write_text(json.dumps(schema))
    stream = 'format = "avro"\navro_schema = { 5 = "visit.avsc" }'
    visits = Visits(kafka, tmp_path, stream=stream)
    record = {"who": "ann", "region": "north", "age": 40, "fever": True, "amount": 1.0}
    value = b"\x00\x00\x00\x00\x05" + written(schema, {**record, "at": day(1, 10)})
    for each in (value, value[5:], b'{"region": "north"}', None, value):
        visits.put(each)
    visits.world.run(1)
    assert visits.world.values() == [2]


def test_a_gap_is_recorded_with_its_reason(kafka: Cluster, tmp_path: Path) -> None:
    visits = Visits(kafka, tmp_path)
    visits.visit(1)
    visits.world.run(1)
    visits.visit(2, 2)
    admin = kafka.admin()
    place = kafka_driver.driver().TopicPartition(visits.name, 0, 2)
    (future,) = admin.delete_records([place]).values()
    future.result()
    with pytest.raises(SourceUnreadable, match="removed before"):
        visits.world.run(2)
    assert len(visits.world.values()) == 1
    visits.world.run(2, declarations=Declarations(skip_gap="removed by mistake"))
    assert visits.world.values() == [1, 2]
    with open_store(str(tmp_path / "s.db")) as store, store.reading() as transaction:
        stream = transaction.stream("s")
        assert stream is not None
        (gap,) = transaction.gaps(stream)
    assert gap.place == f"partition 0 of the topic {visits.name!r}"
    assert gap.why == "removed by mistake"


def test_plans_that_may_be_seized_are_refused(kafka: Cluster, tmp_path: Path) -> None:
    visits = Visits(kafka, tmp_path)
    visits.world.text = visits.world.text.replace("epsilon = 1", 'epsilon = 1\nintrusions = "one"')
    with pytest.raises(PlanError, match="keeps"):
        visits.world.run(1)


def test_steps_wait_while_the_connection_is_cut(kafka: Cluster, tmp_path: Path) -> None:
    visits = Visits(kafka, tmp_path, STEP, proxied=True)
    proxy = kafka.brokers[0].proxy
    visits.visit(1, 2)
    with following(visits.world) as live:
        live.until(2)
        visits.visit(2)
        proxy.cut()
        try:
            live.time = live.time + 86_400_000_000
            live.wait(lambda: live.failing)
            assert live.told == [1]
        finally:
            proxy.mend()
        live.until(3)
        assert len(live.failing) == 2
    assert visits.world.values("daily") == [2, 1]


def test_cut_at_many_moments_every_message_counts_once(kafka: Cluster, tmp_path: Path) -> None:
    """The same numbers as without a fault: on every day, the connection ends after some bytes."""
    visits = Visits(kafka, tmp_path, STEP, proxied=True, partitions=2)
    proxy = kafka.brokers[0].proxy
    faults = 0
    for number in range(1, 9):
        visits.visit(number, number)
        proxy.cut_after(250 * number)
        while True:
            try:
                visits.world.run(number)
                break
            except SourceAway:
                faults += 1
                proxy.mend()
        proxy.mend()
    assert faults >= 4
    assert visits.world.values("daily") == [1, 2, 3, 4, 5, 6, 7, 8]


def test_one_message_more_changes_its_own_number_alone(kafka: Cluster, tmp_path: Path) -> None:
    """On one tape, neighbours publish the same, except for the cell of the message."""
    hostile: list[bytes | None] = [
        b"\x00\xff",
        b"x" * 5000,
        b'{"at": "2026-01-02T10:00:00Z"}',
        None,
        b"{" * 900,
    ]
    south = b'{"at": "2026-01-02T11:00:00Z", "region": "south"}'
    told = []
    given: dict[str, list[bytes | None]] = {"with": [south], "without": [], "garbage": hostile}
    for name, more in given.items():
        visits = Visits(kafka, tmp_path / name, STEP)
        visits.visit(1, 3)
        for value in more:
            visits.put(value)
        visits.visit(2, 2)
        report = visits.world.run(3, noise=Tape([5, -3, 2, 7, -1, 4]))
        world = visits.world
        told.append((world.values("daily"), world.values("daily", "south"), report.new))
    with_one, without, garbage = told
    assert garbage == without
    assert with_one[0] == without[0]
    assert with_one[2] == without[2]
    north, south_values = zip(with_one[1], without[1], strict=True), (0, 1, 0)
    assert tuple(a - b for a, b in north if a is not None and b is not None) == south_values
