"""A topic of Kafka: each step is one transaction, in order; after a crash the topic itself says
which step it has.

A release is a message.  Its key is a list in JSON (the launch of the stream, the release, its key,
the step) and never changes; its value has the columns of all sinks.  All messages go to the first
partition, because Kafka keeps order only inside one.

The name of the transactions depends on the launch and on the address, so that of two processes that
send, Kafka stops the older one.  A process that starts looks for the last step of its stream in the
topic, once the transactions before it have ended.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Self

from ameles.connectors.connection_file import read_connection
from ameles.connectors.kafka.answers import KafkaAway
from ameles.connectors.kafka.driver import driver
from ameles.connectors.kafka.offset_range import KafkaRange, MessagesGone
from ameles.connectors.kafka.topic import MISSING, KafkaTopic, let_go
from ameles.connectors.remote_sink import OutgoingBatch, RemoteSink, Undelivered
from ameles.connectors.sink import Row, SinkRequest
from ameles.core.exceptions import PlanError
from ameles.core.release import COLUMNS

PARTITION = 0
WHOLE = 30.0  # seconds for one attempt
SLICE = 1.0  # seconds after which an attempt may be given up
PAUSE = 0.1  # seconds between two looks at a transaction of others
LOOK_BACK = 100_000  # messages among which the last own one is looked for
_FIRST_LOOK = 1_000
_RELEASE, _KEY, _STEP = (COLUMNS.index(name) for name in ("release", "key", "step"))
_FENCED = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
_SLOW = "_TIMED_OUT"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOfMessages(OutgoingBatch):
    """All messages of a step: key and value."""

    records: tuple[tuple[bytes, bytes], ...]


class KafkaSink(RemoteSink):
    """A topic that gets all releases."""

    settings: ClassVar[Mapping[str, Any]] = {"connection": str}

    @classmethod
    def open(cls, request: SinkRequest) -> Self:
        given = request.settings.get("connection")
        connection = None if given is None else request.base / given
        read_connection(connection)
        return cls(request.target, connection, identity=request.identity)

    @classmethod
    def refusal(cls, target: str, settings: Mapping[str, str]) -> PlanError | None:
        try:
            KafkaTopic.at(target)
        except PlanError as refusal:
            return refusal
        return None

    @classmethod
    def describe(cls, target: str) -> str:
        return f"the topic {KafkaTopic.at(target).name!r} of Kafka"

    @classmethod
    def feeds(cls, target: str, source: str) -> bool:
        return KafkaTopic.at(target).overlaps(source)

    def __init__(self, target: str, connection: Path | None, *, identity: str) -> None:
        self.name = f"kafka:{target}"
        self._topic = KafkaTopic.at(target, connection)
        self._identity = identity
        named = hashlib.sha256(f"{identity} {target}".encode()).hexdigest()[:32]
        self._transactions = f"ameles-{named}"
        self._producer: Any = None
        self._given_up = False

    def batches(self, rows: Iterable[Row], sent: int) -> Iterator[OutgoingBatch]:
        for step, group in groupby(rows, key=lambda row: int(row[_STEP])):
            if step > sent:
                records = tuple((self._key(row), _value(row)) for row in group)
                body = b"\n".join(value for _, value in records)
                yield StepOfMessages(
                    id=f"{self._identity}-{step}", body=body, step=step, last=True, records=records
                )

    def send(self, batch: OutgoingBatch) -> None:
        if not isinstance(batch, StepOfMessages):
            raise TypeError("a topic gets steps of messages")
        deadline = time.monotonic() + WHOLE
        try:
            producer = self._ready(deadline)
            if batch.step > self.has:
                self._write(producer, batch, deadline)
                self.has = batch.step
        except (driver().KafkaException, KafkaAway, MessagesGone) as problem:
            self._producer = None  # the next one ends what this one has begun
            if isinstance(problem, KafkaAway):
                let_go(problem)
            raise self._undelivered(_reason(problem)) from None

    def reached(self) -> int:
        try:
            return self._last_step()
        except (KafkaAway, MessagesGone) as problem:
            raise self._undelivered(_reason(problem)) from None

    def abort(self) -> None:
        self._given_up = True

    def _ready(self, deadline: float) -> Any:
        """The producer.  A new one first ends the transactions of those before it, and learns what
        the topic has."""
        if self._producer is None:
            producer = self._topic.producer(self._transactions)
            self._patiently(producer, producer.init_transactions, deadline)
            self.has = self._settled_step(deadline)
            self._producer = producer
        return self._producer

    def _write(self, producer: Any, batch: StepOfMessages, deadline: float) -> None:
        producer.begin_transaction()
        for key, value in batch.records:
            while True:
                try:
                    producer.produce(self._topic.name, value, key, partition=PARTITION)
                    break
                except BufferError:  # many messages wait to be sent
                    self._patient(_SLOW, deadline)
                    producer.poll(PAUSE)
        self._patiently(producer, producer.commit_transaction, deadline)

    def _patiently(self, producer: Any, attempt: Callable[[float], None], deadline: float) -> None:
        """Calls what can be called again, to go on with it."""
        while True:
            try:
                return attempt(SLICE)
            except driver().KafkaException as problem:
                if not problem.args[0].retriable():
                    raise
                self._patient(problem.args[0].name(), deadline)
                producer.poll(PAUSE)  # raises if no server can be reached

    def _patient(self, waits_for: str, deadline: float) -> None:
        if self._given_up or time.monotonic() > deadline:
            raise KafkaAway(waits_for)

    def _settled_step(self, deadline: float) -> int:
        """The last step in the topic, once all that was sent before is committed or given up."""
        if self._topic.id() is None:
            raise KafkaAway(MISSING)
        high = self._topic.high(PARTITION)
        while self._end() < high:
            self._patient("CONCURRENT_TRANSACTIONS", deadline)
            time.sleep(PAUSE)
        return self._last_step()

    def _end(self) -> int:
        """The end of the last transaction in the topic, which may have been deleted meanwhile."""
        now = self._topic.look().partitions.get(PARTITION)
        if now is None:
            raise KafkaAway(MISSING)
        return now.end

    def _last_step(self) -> int:
        """The last step of this stream among the last messages."""
        state = self._topic.look()
        if PARTITION not in state.partitions:
            return 0
        now = state.partitions[PARTITION]
        back, start = _FIRST_LOOK, now.end
        while start > max(now.first, now.end - LOOK_BACK):
            end, start = start, max(now.first, now.end - min(back, LOOK_BACK))
            looked = KafkaRange(
                topic=self._topic, id=state.id, partition=PARTITION, start=start, end=end
            )
            steps = [self._step_of(message.key()) for message in looked.messages()]
            if any(steps):
                return max(steps)
            back *= 10
        return 0

    def _key(self, row: Row) -> bytes:
        named = [self._identity, row[_RELEASE], row[_KEY], row[_STEP]]
        return json.dumps(named, ensure_ascii=False, separators=(",", ":")).encode()

    def _step_of(self, key: bytes | None) -> int:
        """The step of a message of this stream; 0 for others."""
        try:
            match json.loads(key or b"null"):
                case [self._identity, str(), str(), int(step)]:
                    return step
        except (ValueError, RecursionError):  # a key of somebody else, who may nest it deeply
            return 0
        return 0

    def _undelivered(self, name: str) -> Undelivered:
        final = name in _FENCED
        state = "is written by another process" if final else "cannot be written now"
        return Undelivered(
            f"The sink {self.name} {state}.",
            why="Kafka has given its transactions to the process that began later"
            if final
            else f"Kafka says {name}",
            tip="one process for a stream; stop this one, or start it again"
            if final
            else "fix that; the releases are in the store, and are sent again in their order",
            final=final,
        )


def _value(row: Row) -> bytes:
    record = dict(zip(COLUMNS, row, strict=True))
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _reason(problem: Exception) -> str:
    """The name of an error."""
    if isinstance(problem, MessagesGone):
        return "that messages were removed just now"
    return str(problem) if isinstance(problem, KafkaAway) else str(problem.args[0].name())
