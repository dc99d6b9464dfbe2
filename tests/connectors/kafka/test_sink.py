"""A topic as a sink: steps in order, each once, also after crashes."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ameles.connectors.kafka import sink as kafka_sink
from ameles.connectors.kafka.sink import KafkaSink
from ameles.connectors.kafka.topic import KafkaTopic
from ameles.connectors.remote_sink import Undelivered
from ameles.connectors.sinks import open_sink
from ameles.core.exceptions import PlanError, StoreRefused
from ameles.core.release import COLUMNS
from ameles.engine.running import remote_delivery
from ameles.engine.running.sink_places import check_apart
from ameles.plan.plan import read_plan_text
from tests.engine.test_sink_fence import backup, restore
from tests.engine.worlds import COUNT, World, row
from tests.kafka_server import Cluster

_names = count()
LAUNCH = "5b0e1b8e-0000-4000-8000-000000000001"


def release(step: int, key: str = "north", value: float | None = 1.0) -> tuple[Any, ...]:
    record = dict.fromkeys(COLUMNS, "") | {"stream": "flu", "release": "fever", "entry": 1}
    return tuple({**record, "key": key, "step": step, "value": value}[name] for name in COLUMNS)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_delivery, "FIRST", 0.001)


class Topic:
    """A topic of its own, sinks that write to it."""

    def __init__(self, cluster: Cluster, base: Path) -> None:
        self.cluster = cluster
        self.base = base
        self.name = f"releases-{next(_names)}"
        cluster.create(self.name)

    def sink(self, launch: str = LAUNCH, *, proxied: bool = False) -> KafkaSink:
        url = self.cluster.url(self.name, proxied=proxied)
        opened = open_sink("kafka", url, self.base, stream="flu", identity=launch)
        assert isinstance(opened, KafkaSink)
        return opened

    def send(self, sink: KafkaSink, *steps: int, sent: int = 0) -> None:
        rows = [release(step, key) for step in steps for key in ("north", "south")]
        for batch in sink.batches(rows, sent):
            sink.send(batch)

    def read(self) -> list[tuple[Any, Any]]:
        """All committed messages, in order."""
        return self.cluster.read(self.name)

    def steps(self) -> list[int]:
        return [key[3] for key, _ in self.read()]


@pytest.fixture
def topic(kafka: Cluster, tmp_path: Path) -> Topic:
    return Topic(kafka, tmp_path)


def test_a_release_is_a_message_with_a_stable_key(topic: Topic) -> None:
    sink = topic.sink()
    topic.send(sink, 1, 2)
    topic.send(sink, 3, sent=2)
    read = topic.read()
    assert [key for key, _ in read] == [
        [LAUNCH, "fever", key, step] for step in (1, 2, 3) for key in ("north", "south")
    ]
    assert list(read[0][1]) == [*COLUMNS]
    assert read[0][1]["value"] == 1.0


def test_after_a_crash_the_topic_says_what_it_has(topic: Topic) -> None:
    """The process dies after the commit, before the store has recorded the step."""
    topic.send(topic.sink(), 1, 2)
    again = topic.sink()
    assert again.reached() == 2
    topic.send(again, 1, 2, 3)
    assert topic.steps() == [1, 1, 2, 2, 3, 3]


def test_a_step_is_whole_or_not_there(topic: Topic) -> None:
    """A process dies within the transaction: the next one ends it, and sends the step."""
    dying = topic.sink()
    topic.send(dying, 1)
    producer = dying._producer
    producer.begin_transaction()
    producer.produce(topic.name, b"{}", dying._key(release(2)), partition=0)
    producer.flush(60)
    assert topic.sink().reached() == 1
    topic.send(topic.sink(), 2, sent=1)
    assert topic.steps() == [1, 1, 2, 2]


def test_of_two_processes_the_older_is_stopped(topic: Topic) -> None:
    older, newer = topic.sink(), topic.sink()
    topic.send(older, 1)
    topic.send(newer, 2, sent=1)
    with pytest.raises(Undelivered, match="is written by another process") as refused:
        topic.send(older, 2, sent=1)
    assert refused.value.final
    assert topic.steps() == [1, 1, 2, 2]


def test_streams_share_a_topic(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_sink, "_FIRST_LOOK", 3)
    other = topic.sink("another launch")
    topic.send(topic.sink(), 1, 2)
    topic.send(other, 1, 2, 3)
    producer = topic.cluster.producer()
    for key in (None, b"\xff", b"[]", b'["%s"]' % LAUNCH.encode(), b"7", b"[" * 50_000):
        producer.produce(topic.name, b"", key, partition=0)
    assert producer.flush(60) == 0
    assert topic.sink().reached() == 2
    assert topic.sink("a third").reached() == 0
    monkeypatch.setattr(kafka_sink, "LOOK_BACK", 4)
    assert topic.sink().reached() == 0


def test_transactions_of_others_are_waited_for(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind an open one, own messages cannot be seen yet: they could be sent twice."""
    other = topic.cluster.producer(transactional_id=f"other-{topic.name}")
    other.init_transactions()
    other.begin_transaction()
    other.produce(topic.name, b"", b"", partition=0)
    assert other.flush(60) == 0
    monkeypatch.setattr(kafka_sink, "WHOLE", 0.5)
    sink = topic.sink()
    with pytest.raises(Undelivered) as refused:
        topic.send(sink, 1)
    assert "CONCURRENT_TRANSACTIONS" in refused.value.why
    monkeypatch.setattr(kafka_sink, "WHOLE", 1e9)
    ending = topic.sink()
    ending.abort()  # the session ends: it does not wait any longer
    with pytest.raises(Undelivered):
        topic.send(ending, 1)
    other.abort_transaction()
    monkeypatch.setattr(kafka_sink, "WHOLE", 60.0)
    topic.send(sink, 1)
    assert topic.steps() == [1, 1]


def test_a_topic_that_is_missing_or_away(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = topic.cluster.url("missing")
    sink = KafkaSink(url, None, identity=LAUNCH)
    assert sink.reached() == 0
    with pytest.raises(Undelivered) as refused:
        topic.send(sink, 1)
    assert "UNKNOWN_TOPIC" in refused.value.why
    monkeypatch.setattr(kafka_sink, "WHOLE", 0.5)
    away = KafkaSink("kafka://127.0.0.1:1/releases", None, identity=LAUNCH)
    with pytest.raises(Undelivered, match="cannot be written now"):
        away.reached()
    with pytest.raises(Undelivered, match="cannot be written now") as refused:
        topic.send(away, 1)
    assert not refused.value.final


def test_a_connection_that_is_cut(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not the commit went through, the next attempt neither loses nor doubles."""
    monkeypatch.setattr(kafka_sink, "WHOLE", 2.0)
    proxy = topic.cluster.brokers[0].proxy
    sink, failures = topic.sink(proxied=True), 0
    for step in range(1, 7):
        proxy.cut_after(60 * step)
        while True:
            try:
                topic.send(sink, step, sent=step - 1)
                break
            except Undelivered:
                failures += 1
                proxy.mend()
        proxy.mend()
    assert failures
    assert topic.steps() == [step for step in range(1, 7) for _ in range(2)]


def test_many_releases_are_one_transaction(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    real = KafkaTopic.producer

    def small(self: KafkaTopic, name: str) -> Any:
        monkeypatch.setattr(KafkaTopic, "_given", lambda self: {"queue.buffering.max.messages": 50})
        try:
            return real(self, name)
        finally:
            monkeypatch.setattr(KafkaTopic, "_given", lambda self: {})

    monkeypatch.setattr(KafkaTopic, "producer", small)
    sink = topic.sink()
    (batch,) = sink.batches([release(1, str(key)) for key in range(500)], 0)
    sink.send(batch)
    assert [key[2] for key, _ in topic.read()] == [str(key) for key in range(500)]


SINK = '[[sink]]\nkafka = "{}"\n'


class TestStreams:
    def world(self, topic: Topic, *, proxied: bool = False) -> World:
        url = topic.cluster.url(topic.name, proxied=proxied)
        world = World(topic.base / "w", COUNT, rest=SINK.format(url))
        return world.write(row(number) for number in range(1, 9))

    def test_a_stream_publishes_to_a_topic(self, topic: Topic) -> None:
        world = self.world(topic)
        world.earnest(2)
        world.earnest(3)
        stored = [each.to_dict() for each in world.releases()]
        sent = [value for _, value in topic.read()]
        order = [
            sorted(part, key=lambda each: (each["step"], each["key"])) for part in (stored, sent)
        ]
        assert order[0] == order[1]
        assert topic.steps() == [1, 1, 2, 2, 3, 3]

    def test_a_store_that_is_older_than_the_topic_is_refused(self, topic: Topic) -> None:
        world = self.world(topic)
        world.earnest(1)
        backup(world)
        world.earnest(3)
        restore(world)
        with pytest.raises(StoreRefused, match="has step 3; the store has released 1"):
            world.earnest(2)
        assert len(topic.steps()) == 6

    def test_also_if_that_is_seen_later(
        self, topic: Topic, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = self.world(topic)
        world.earnest(1)
        backup(world)
        world.earnest(3)
        restore(world)
        monkeypatch.setattr(KafkaSink, "reached", lambda self: None)
        with pytest.raises(StoreRefused, match="has step 3; the store has released 2"):
            world.earnest(2)
        assert len(topic.steps()) == 6


def test_plans() -> None:
    def refused(rest: str, source: str = "events.csv") -> str:
        text = World(Path("/nowhere"), rest=rest).text.replace("events.csv", source)
        with pytest.raises(PlanError) as problem:
            check_apart(read_plan_text(text))
        return str(problem.value)

    assert "does not name servers and one topic" in refused(SINK.format("kafka://localhost"))
    secret = refused(SINK.format("kafka://me:word@localhost/a"))
    assert "contains a user or a password" in secret
    assert "word@" not in secret
    assert "cannot be used with kafka" in refused(SINK.format("kafka://a/b") + 'secret = "x"\n')
    twice = SINK.format("kafka://a/b") * 2
    assert "Two sinks have the address" in refused(twice)
    sink = SINK.format("kafka://a:9092,b/releases")
    source = 'kafka://b/releases"\nformat = "jsonl'
    assert "is the source of the plan" in refused(sink, source)
