"""A topic of a real Kafka with messages, and how far it was read."""

from __future__ import annotations

import json
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from ameles.connectors.declarations import Declarations
from ameles.connectors.kafka import settling as kafka_settling
from ameles.connectors.kafka.source import KafkaSource
from ameles.connectors.kafka.topic import KafkaTopic
from ameles.connectors.sources import open_source
from tests.connectors.reading import rows_of
from tests.kafka_server import Cluster

COLUMNS = {"who": "text id", "amount": "number", "at": "timestamp"}
AT = "2026-01-02T10:00:00Z"
PATIENCE = 600.0  # seconds after which a transaction will never end, on any machine
_names = count()


class Messages:
    """A topic of its own, and how far it was read."""

    def __init__(
        self, cluster: Cluster, base: Path, *, create: bool = True, **settings: Any
    ) -> None:
        self.cluster = cluster
        self.base = base
        self.name = f"visits-{next(_names)}"
        if create:
            cluster.create(self.name, **settings)
        self.producer = cluster.producer()
        self.position: str | None = None

    def add(self, *who: str, partition: int = 0) -> None:
        for each in who:
            self.put(json.dumps({"who": each, "amount": 1, "at": AT}).encode(), partition)

    def put(self, value: bytes | None, partition: int = 0, **more: Any) -> None:
        self.producer.produce(self.name, value, partition=partition, **more)
        assert self.producer.flush(60) == 0

    def transaction(self, *who: str, commit: bool = True) -> None:
        """Messages that count together, or not at all."""
        with_one = self.open_transaction(*who)
        with_one.commit_transaction() if commit else with_one.abort_transaction()
        self.settle()

    def settle(self) -> None:
        """Waits until no transaction is open: brokers answer before they write that one ended."""
        topic = KafkaTopic.at(self.cluster.url(self.name))
        deadline = time.monotonic() + PATIENCE
        while topic.look().partitions[0].end != topic.high(0):
            assert time.monotonic() < deadline

    def open_transaction(self, *who: str) -> Any:
        producer = self.cluster.producer(transactional_id=f"writer-{next(_names)}")
        producer.init_transactions()
        producer.begin_transaction()
        for each in who:
            producer.produce(self.name, json.dumps({"who": each}), partition=0)
        assert producer.flush(60) == 0
        return producer

    def remove(self, before: int, partition: int = 0) -> None:
        """As retention does."""
        admin = self.cluster.admin()
        place = TopicPartition(self.name, partition, before)
        (future,) = admin.delete_records([place]).values()
        future.result()

    def delete(self) -> None:
        admin = self.cluster.admin()
        admin.delete_topics([self.name])[self.name].result()

    def source(self, records: str = "jsonl", **declared: Any) -> KafkaSource:
        opened = open_source(
            self.cluster.url(self.name),
            COLUMNS,
            self.base,
            waiting=True,
            records=records,
            declarations=Declarations(**declared),
        )
        assert isinstance(opened, KafkaSource)
        return opened

    def launch(self) -> Messages:
        self.position = self.source().at_launch()
        return self

    def read(self, **declared: Any) -> list[str]:
        """Who is new."""
        reading = self.source(**declared).reading(self.position)
        new = [row[0] for row in rows_of(reading, COLUMNS)]
        self.position = reading.position
        return new


class MovedClock:
    """The clock of doubts about losses: it moves only when somebody waits."""

    def __init__(self, step: float) -> None:
        self.now = 0.0
        self._step = step  # seconds that a pause takes

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, self._step)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> MovedClock:
    moved = MovedClock(kafka_settling.SETTLE / 3)
    monkeypatch.setattr(kafka_settling, "monotonic", lambda: moved.now)
    monkeypatch.setattr(kafka_settling, "sleep", moved.sleep)
    return moved


@pytest.fixture
def messages(kafka: Cluster, tmp_path: Path) -> Messages:
    return Messages(kafka, tmp_path)
